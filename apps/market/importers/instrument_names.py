"""Symbols of the instruments that files name.

Each vendor decorates the exchange's name: RELIANCE.NS (Yahoo), RELIANCE.NSE and NIFTY-I.NFO (Global
Datafeeds), NSE:SBIN-EQ (Fyers), ^NSEI, NSE_EQ|INE002A01018 (Upstox). A name is converted to the
grammar of symbols and never guessed at; a name without a form in it gets a reason instead.
"""

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Final

from apps.engine.candles import InvalidSymbol, Symbol
from apps.market.importers.bar_columns import FileContract, InstrumentName
from apps.symbols.importers import INDICES, letters

# Returns the symbol on an exchange of an ISIN or of BSE's scrip code, None where no master has it.
FindSymbol = Callable[[str, str], str | None]

# Indices that only BSE computes; every other name without an exchange is taken for NSE's.
_BSE_INDICES: Final = frozenset({"SENSEX", "SENSEX50", "BANKEX"})
_SEGMENTS_OF: Final = {
    "NSE": "NS NSE NFO NSE_IDX NSE_EQ NSE_FO NSE_INDEX NSE_INDICES",
    "BSE": "BO BSE BFO BSE_IDX BSE_EQ BSE_FO BSE_INDEX",
    "MCX": "MCX MCX_FO",
    "NCDEX": "NCX NCDEX",
}
_SEGMENTS: Final = {
    segment: exchange for exchange, names in _SEGMENTS_OF.items() for segment in names.split()
}
# Yahoo's names of indices, without the ^.
_YAHOO_INDICES: Final = {
    "NSEI": "NSE:NIFTY",
    "NSEBANK": "NSE:BANKNIFTY",
    "BSESN": "BSE:SENSEX",
    "INDIAVIX": "NSE:INDIAVIX",
    "CNXIT": "NSE:NIFTYIT",
    "CNXAUTO": "NSE:NIFTYAUTO",
    "CNXPHARMA": "NSE:NIFTYPHARMA",
    "CNXFMCG": "NSE:NIFTYFMCG",
    "CNXMETAL": "NSE:NIFTYMETAL",
    "CNXREALTY": "NSE:NIFTYREALTY",
    "CNXENERGY": "NSE:NIFTYENERGY",
    "CRSLDX": "NSE:NIFTY500",
}
_SERIES: Final = re.compile(r"[- ](?:EQ|BE|BZ|INDEX)$")
_CONTINUOUS: Final = re.compile(r".*(?:-I{1,3}|[0-9]!)$")
_ISIN: Final = re.compile(r"IN[A-Z0-9]{10}")
_SCRIP_CODE: Final = re.compile(r"[1-9][0-9]{5}")
# The characters of names of shares and indices beside letters and digits: M&M, BAJAJ-AUTO, NIFTY
# 50.
_PLAIN: Final = re.compile(r"[A-Z0-9&\- ]+")
_DAY_FIRST: Final = re.compile(
    rf"(?P<root>[A-Z0-9&-]+?)(?P<day>[0-9]{{2}})(?P<month>{'|'.join(Symbol.MONTHS)})(?P<year>[0-9]{{2}})"
    r"(?:(?P<strike>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?P<type>CE|PE)|FUT)?"
)
_NO_CONTRACT: Final = "continuous futures and other names of no one contract"
# Vendors' segments with contracts only, and the exchange with contracts only in files of names.
_OF_CONTRACTS: Final = frozenset({"NFO", "BFO", "MCX", "NCX", "NCDEX"})
_CONTRACTS_ALONE: Final = frozenset({"MCX"})


def no_master(exchange: str, code: str) -> str | None:
    """Find nothing: no master is loaded."""
    return None


def name_instrument(
    raw: str, *, exchange: str | None = None, find: FindSymbol = no_master
) -> InstrumentName | FileContract:
    """Return the instrument with the name `raw` in a file; `exchange` is the file's, if it
    has one.
    """
    name = raw.upper().strip()
    if not name:
        return InstrumentName(raw, None, "rows without a symbol")
    if name.startswith("^"):
        symbol = _YAHOO_INDICES.get(name[1:])
        reason = f"index {name}: its name is not known"
        return InstrumentName(raw, symbol, "" if symbol else reason)
    code, stated, is_contract = _split_exchange(name)
    is_contract |= exchange in _CONTRACTS_ALONE
    exchange = stated or exchange
    if _CONTINUOUS.fullmatch(code):
        return InstrumentName(raw, None, _NO_CONTRACT)
    if is_contract:
        contract = _day_first_contract(raw, code, exchange or "NSE")
        return contract or InstrumentName(raw, None, _NO_CONTRACT)
    if _ISIN.fullmatch(code) or (_SCRIP_CODE.fullmatch(code) and exchange in (None, "BSE")):
        return _by_master(raw, code, exchange, find)
    code = _SERIES.sub("", code)
    if not _PLAIN.fullmatch(code):
        return InstrumentName(raw, None, f"{raw!r} is no name of a form that is known here")
    return symbol_named(raw, symbol_of_code(code, exchange), assumed=exchange is None)


def symbol_of_code(code: str, exchange: str | None = None) -> str:
    """Return the symbol of a share or index: NIFTY 50 is NSE:NIFTY, M&M NSE:MM, SENSEX is BSE's."""
    plain = letters(code)
    plain = INDICES.get(plain, plain)
    return f"{exchange or ('BSE' if plain in _BSE_INDICES else 'NSE')}:{plain}"


def symbol_named(raw: str, symbol: str, *, assumed: bool = False) -> InstrumentName:
    """Return the instrument under a symbol, or with the reason why that is not a symbol."""
    try:
        return InstrumentName(raw, str(Symbol.parse(symbol)), assumed=assumed)
    except InvalidSymbol as error:
        return InstrumentName(raw, None, f"{symbol!r} is no symbol ({error.reason})")


def _day_first_contract(raw: str, name: str, exchange: str) -> FileContract | None:
    """Return the contract of a name like BANKNIFTY26MAY2643000PE: expiry on 26 May 2026."""
    match = _DAY_FIRST.fullmatch(name)
    if match is None:
        return None
    try:
        month = Symbol.MONTHS.index(match["month"]) + 1
        expiry = date(2000 + int(match["year"]), month, int(match["day"]))
    except ValueError:
        return None
    strike = Decimal(match["strike"]) if match["strike"] else None
    return FileContract(raw, exchange, match["root"], expiry, strike, match["type"] or "")


def _split_exchange(name: str) -> tuple[str, str | None, bool]:
    """Return the name without its exchange, before `:` or `|` or after the last point, and whether
    it is in a vendor's segment of contracts.
    """
    first, mark, code = name.partition(":")
    if mark and first in _SEGMENTS:
        return code.strip(), _SEGMENTS[first], False
    first, mark, code = name.partition("|")
    if mark and first in _SEGMENTS:
        return code.strip(), _SEGMENTS[first], first.endswith("_FO")
    code, mark, last = name.rpartition(".")
    if mark and last in _SEGMENTS:
        return code, _SEGMENTS[last], last in _OF_CONTRACTS
    return name, None, False


def _by_master(raw: str, code: str, exchange: str | None, find: FindSymbol) -> InstrumentName:
    is_isin = _ISIN.fullmatch(code) is not None
    symbol = find(exchange or ("NSE" if is_isin else "BSE"), code)
    kind = "ISIN" if is_isin else "scrip code"
    reason = f"{kind} {code}, which no instrument list held here has"
    return InstrumentName(raw, symbol, "" if symbol else reason)
