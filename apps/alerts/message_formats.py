"""The forms in which other programs write their alerts.

A message is read as a whole, or refused with the field that is wrong. The time that its sender
wrote is kept as text, whatever it is.
"""

import codecs
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NoReturn

from apps.alerts.models import MAX_ALERT_NAME, MAX_SENT_AT, AlertFormat
from apps.core.errors import WITHHELD, Fault, InvalidInput
from apps.core.requests import MAX_NUMBER, read_json
from apps.engine.candles import InvalidSymbol, Symbol
from apps.symbols.importers import letters

MAX_STOCKS: Final = 1_000
# A field of nearly this name is meant to name the symbol.
_OF_A_SYMBOL: Final = ("symbol", "ticker", "exchange")
_CLOSE: Final = 0.8
# Senders write times in milliseconds, and ids that fill 64 bits.
_LARGEST: Final = 1e30
# TradingView adds them to an exchange whose prices come late.
_DELAYED: Final = re.compile(r"_DLY?$")
# Exchanges write M&M and BAJAJ-AUTO, TradingView M_M and BAJAJ_AUTO: here MM and BAJAJAUTO.
_CODE: Final = re.compile(r"[A-Z0-9&_-]+")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,20})?")
# NIFTYX2025 and NIFTY251125C26000.
_TRADINGVIEW_CONTRACT: Final = re.compile(r"[A-Z0-9]+([FGHJKMNQUVXZ]20[0-9]{2}|[0-9]{6}[CP][0-9]+)")


@dataclass(frozen=True, slots=True)
class IncomingAlert:
    """An alert of a message. Without a symbol it is about every symbol; `price` is in rupees."""

    name: str
    symbol: str = ""
    price: float | None = None
    sent_at: str = ""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message that was read. Copies of it share its id, if it has one."""

    alerts: tuple[IncomingAlert, ...]
    id: str = ""


def read_message(format: str, body: bytes) -> IncomingMessage:
    """Read a body as a hook of this format gets it. Raises InvalidInput."""
    return _READERS[AlertFormat(format)](body.removeprefix(codecs.BOM_UTF8))


def _read_plain(body: bytes) -> IncomingMessage:
    document = _document(body)
    symbol = _text(document, "symbol")
    return _message(document, _checked("symbol", symbol) if symbol else "")


def _read_tradingview(body: bytes) -> IncomingMessage:
    """Read JSON, or a line of text with the alert's name and perhaps its symbol."""
    if body.lstrip().startswith(b"{"):
        document = _document(body)
        for field in ("name", "id", "symbol", "ticker", "exchange", "price"):
            _check_filled(field, document.get(field))
        return _message(document, _symbol_of_chart(document))
    name, symbol = _line(body), ""
    _check_filled("name", name)
    last = name.split()[-1:]
    if last and ":" in last[0]:
        name, symbol = name.removesuffix(last[0]).rstrip(), _tradingview_symbol("symbol", last[0])
    return IncomingMessage((IncomingAlert(_checked_name("name", name), symbol),))


def _read_chartink(body: bytes) -> IncomingMessage:
    """Read an alert of a scan: one alert for each of its stocks."""
    document = _document(body)
    name_field = "alert_name" if document.get("alert_name") else "scan_name"
    name = _checked_name(name_field, _text(document, name_field))
    codes = _listed(document, "stocks")
    if len(codes) > MAX_STOCKS:
        _refuse("stocks", f"names more than {MAX_STOCKS} stocks")
    if not codes:
        _refuse("stocks", "names no stock")
    prices = _listed(document, "trigger_prices") or [""] * len(codes)
    if len(prices) != len(codes):
        _refuse("trigger_prices", f"has {len(prices)} prices for {len(codes)} stocks")
    sent_at = _sent_at(document.get("triggered_at"))
    alerts: dict[str, IncomingAlert] = {}
    for code, price in zip(codes, prices, strict=True):
        symbol = _stock("stocks", code)
        alert = IncomingAlert(name, symbol, _price("trigger_prices", price), sent_at)
        alerts.setdefault(symbol, alert)
    return IncomingMessage(tuple(alerts.values()))


_READERS: Final[Mapping[AlertFormat, Callable[[bytes], IncomingMessage]]] = {
    AlertFormat.JSON: _read_plain,
    AlertFormat.TRADINGVIEW: _read_tradingview,
    AlertFormat.CHARTINK: _read_chartink,
}


def _message(document: Mapping[str, object], symbol: str) -> IncomingMessage:
    if not symbol:
        _check_for_every_symbol(document)
    alert = IncomingAlert(
        _checked_name("name", _text(document, "name")),
        symbol,
        _price("price", document.get("price")),
        _sent_at(document.get("time")),
    )
    return IncomingMessage((alert,), _id(document.get("id")))


def _check_for_every_symbol(document: Mapping[str, object]) -> None:
    """Refuse a message without a symbol whose sender seems to have meant one."""
    for field, value in document.items():
        if value is None:
            continue
        if value == "" and field in _OF_A_SYMBOL:
            _refuse(field, "is empty: leave it out where the alert is about every symbol")
        if get_close_matches(field.lower(), _OF_A_SYMBOL, n=1, cutoff=_CLOSE):
            _refuse(field, "is not read here: write symbol, such as NSE:RELIANCE")


def _document(body: bytes) -> Mapping[str, object]:
    document = read_json(body, largest=_LARGEST)
    if not isinstance(document, dict):
        _refuse("", "The body must be a JSON object.")
    return document


def _line(body: bytes) -> str:
    try:
        return body.decode("utf-8").strip()
    except UnicodeDecodeError:
        _refuse("", "The body is not UTF-8.")


def _text(document: Mapping[str, object], field: str) -> str:
    """Return a text without blanks around it; empty if it is missing."""
    value = document.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        _refuse(field, "must be a string", value)
    return value.strip()


def _listed(document: Mapping[str, object], field: str) -> list[str]:
    """Return the items of a list with commas, without blanks around them."""
    text = _text(document, field)
    return [item.strip() for item in text.split(",")] if text else []


def _check_filled(field: str, value: object) -> None:
    if isinstance(value, str) and "{{" in value:
        _refuse(field, "has a placeholder that TradingView has not filled in", value)


def _checked_name(field: str, name: str) -> str:
    if not name:
        _refuse(field, "is missing, and an alert needs a name")
    if len(name) > MAX_ALERT_NAME:
        _refuse(field, f"must have at most {MAX_ALERT_NAME} characters", name)
    if any(unicodedata.category(character) in ("Cc", "Cf") for character in name):
        _refuse(field, "must be one line without control or invisible characters")
    return name


def _id(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        _refuse("id", "must be a string or a number", value)
    return str(value).strip()


def _price(field: str, value: object) -> float | None:
    """Return a price, written as a number or as text. TradingView writes NaN where it has none."""
    text = value.strip() if isinstance(value, str) else value
    if text is None or text in ("", "NaN"):
        return None
    if isinstance(text, str) and _DECIMAL.fullmatch(text):
        return float(text)
    if isinstance(text, bool) or not isinstance(text, int | float) or abs(text) > MAX_NUMBER:
        _refuse(field, "must be a price, such as 2450.5", value)
    return float(text)


def _sent_at(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text[:MAX_SENT_AT]


def _symbol_of_chart(document: Mapping[str, object]) -> str:
    """Return the symbol of `symbol` or `ticker`, with its exchange there or in `exchange`."""
    field = "symbol" if document.get("symbol") else "ticker"
    code, exchange = _text(document, field), _text(document, "exchange")
    if not code and exchange:
        _refuse(field, "is missing beside the exchange")
    if not code:
        return ""
    if ":" not in code and not exchange:
        _refuse("exchange", f"is missing beside the {field}", code)
    return _tradingview_symbol(field, code if ":" in code else f"{exchange}:{code}")


def _tradingview_symbol(field: str, text: str) -> str:
    exchange, _, code = text.partition(":")
    if code.endswith("!"):
        _refuse(
            field,
            "is a chain of contracts: name one contract, such as NSE:NIFTY24JANFUT, or no symbol",
            text,
        )
    if _TRADINGVIEW_CONTRACT.fullmatch(code):
        _refuse(
            field,
            "names a contract in TradingView's form: write NSE:NIFTY24JANFUT or"
            " NSE:NIFTY24JAN21500CE",
            text,
        )
    return _with_signs(field, _DELAYED.sub("", exchange), code, "a symbol, such as NSE:RELIANCE")


def _stock(field: str, code: str) -> str:
    """Return the symbol of a code of NSE."""
    if code.isdigit():
        _refuse(field, "has a number of BSE: only stocks of NSE can be read", code)
    return _with_signs(field, "NSE", code, "a code of NSE, such as RELIANCE")


def _with_signs(field: str, exchange: str, code: str, expected: str) -> str:
    """Return the symbol of a code that may have signs between its letters."""
    if not _CODE.fullmatch(code):
        _refuse(field, f"is not {expected}", code)
    return _checked(field, f"{exchange}:{letters(code)}")


def _checked(field: str, symbol: str) -> str:
    try:
        return str(Symbol.parse(symbol))
    except InvalidSymbol as error:
        _refuse(field, error.reason, symbol)


def _refuse(field: str, message: str, value: object = WITHHELD) -> NoReturn:
    raise InvalidInput(Fault(field, message, value))
