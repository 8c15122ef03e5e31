"""Symbols for the rows of a master, one row for each symbol.

A name keeps its letters and digits: M&M is MM, BAJAJ-AUTO is BAJAJAUTO. An index with contracts
gets the name that its contracts use. A monthly contract is written without a day, the others with a
day. Every symbol is parsed again, and must yield its source values.
"""

import calendar
import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from apps.engine.candles import InvalidSymbol, Symbol
from apps.symbols.importers.master import Rejections
from apps.symbols.importers.rows import InstrumentRow, RejectedRow, RejectReason
from apps.symbols.models import LONGEST_ALIAS, LONGEST_NAME, Segment, Type

# Exchange, underlying, whether futures, year, month: the last expiry is the monthly one.
ContractMonth = tuple[str, str, bool, int, int]

_NOT_ALPHANUMERIC: Final = re.compile(r"[^A-Z0-9]+")
# A monthly contract of shares and indices expires on the last of a weekday, or up to three days
# before it where holidays stand in the way.
LATEST_MONTHLY: Final = 6 + 3
INDICES: Final[Mapping[str, str]] = {
    "NIFTY50": "NIFTY",
    "NIFTYBANK": "BANKNIFTY",
    "NIFTYFINSERVICE": "FINNIFTY",
    "NIFTYFINANCIALSERVICES": "FINNIFTY",
    "NIFTYMIDSELECT": "MIDCPNIFTY",
    "NIFTYMIDCAPSELECT": "MIDCPNIFTY",
    "NIFTYNEXT50": "NIFTYNXT50",
    "BSESENSEX": "SENSEX",
    "BSEBANKEX": "BANKEX",
    "SNSX50": "SENSEX50",
    "BSESENSEX50": "SENSEX50",
}


class NamedRow(NamedTuple):
    """A row with its symbol."""

    symbol: str
    code: str
    exchange_name: str
    name: str
    underlying: str
    row: InstrumentRow


@lru_cache(maxsize=20_000)
def letters(raw: str) -> str:
    """Return the letters and digits of a name, the characters that a symbol may hold."""
    return _NOT_ALPHANUMERIC.sub("", raw.upper())


def last_expiries(rows: Iterable[InstrumentRow]) -> dict[ContractMonth, date]:
    """Return the last expiry among these rows, keyed by underlying and month."""
    last: dict[ContractMonth, date] = {}
    for row in rows:
        if row.expiry is not None:
            key = _month(row, row.expiry)
            last[key] = max(last.get(key, row.expiry), row.expiry)
    return last


def name_all(
    rows: Iterable[InstrumentRow], last: Mapping[ContractMonth, date], rejections: Rejections
) -> list[NamedRow]:
    """Return one row for each symbol; a row without a possible symbol is added to `rejections`.

    Of several series of a share the first in rank is kept. If two names have one symbol, the name
    that equals the symbol is kept; if neither does, both are rejected.
    """
    by_symbol: dict[str, NamedRow] = {}
    contested: set[str] = set()
    for row in rows:
        try:
            named = _name(row, last)
            other = by_symbol.get(named.symbol)
            if named.symbol in contested:
                raise RejectedRow(RejectReason.COLLISION, f"{row.raw} as {named.symbol}")
            if other is not None:
                _settle(named, other, by_symbol, contested, rejections)
            else:
                by_symbol[named.symbol] = named
        except RejectedRow as refused:
            rejections.add(row.line, refused)
    return list(by_symbol.values())


def _name(row: InstrumentRow, last: Mapping[ContractMonth, date]) -> NamedRow:
    """Return the row with its symbol. Raises RejectedRow."""
    root, name = _root(row.raw, row.type), " ".join(row.name.split())
    if not root or not f"{row.raw}{name}{row.alias}{row.token}".isprintable():
        raise RejectedRow(RejectReason.NO_SYMBOL, repr(row.raw)[:60])
    if max(len(row.raw), len(row.alias), len(row.token)) > LONGEST_ALIAS:
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{row.raw[:60]} has too long a name")
    if row.expiry is not None:
        return _contract(row, root, _is_weekly(row, row.expiry, last))
    symbol = f"{row.exchange}:{root}"
    _check_parsing(symbol, Type.EQUITY)
    return NamedRow(symbol, root, row.raw, (name or row.raw)[:LONGEST_NAME], "", row)


@lru_cache(maxsize=20_000)
def _root(raw: str, type: Type) -> str:
    """Return the code of a name. Raises RejectedRow."""
    code = letters(raw)
    if "NSETEST" in code or "BSETEST" in code:
        raise RejectedRow(RejectReason.TEST, raw)
    return INDICES.get(code, code) if type != Type.EQUITY else code


def _contract(row: InstrumentRow, root: str, weekly: bool) -> NamedRow:
    """Return a contract with its symbol. Raises RejectedRow."""
    assert row.expiry is not None, "readers give every contract its expiry"
    dated, day = _dated(row.exchange, root, row.expiry, weekly)
    ending, words = "FUT", "FUT"
    if row.strike is not None:
        strike = _whole(row.strike)
        if not strike:
            raise RejectedRow(RejectReason.DECIMAL_STRIKE, f"{row.alias}, strike {row.strike:f}")
        ending, words = f"{strike}{row.option_type}", f"{strike} {row.option_type}"
    code, symbol = f"{root}{dated}{ending}", f"{row.exchange}:{root}{dated}{ending}"
    if len(symbol) > Symbol.MAX_LENGTH:
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{symbol} is too long")
    return NamedRow(symbol, code, f"{row.raw}{dated}{ending}", f"{root} {day} {words}", root, row)


@lru_cache(maxsize=20_000)
def _dated(exchange: str, root: str, expiry: date, weekly: bool) -> tuple[str, str]:
    """Return the part of a code before FUT or the strike, and the day in words.

    Raises RejectedRow. Parsing of a contract depends only on this part, because a strike never
    begins with a zero.
    """
    month = Symbol.MONTHS[expiry.month - 1]
    dated = f"{expiry:%y}{month}{expiry:%d}" if weekly else f"{expiry:%y}{month}"
    _check_parsing(f"{exchange}:{root}{dated}FUT", Type.FUTURES)
    return dated, f"{expiry.day} {month.title()} {expiry.year}"


@lru_cache(maxsize=20_000)
def _whole(strike: Decimal) -> str:
    """Return the strike in digits; "" if it has decimals or is not above zero."""
    is_whole = strike == strike.to_integral_value() and strike > 0
    return f"{strike:.0f}" if is_whole else ""


def _is_weekly(row: InstrumentRow, expiry: date, last: Mapping[ContractMonth, date]) -> bool:
    """Return whether a contract is weekly: by the master's mark, else by the month's future, which
    expires with the monthly option, else by the last expiry.
    """
    if row.weekly is not None:
        return row.weekly
    if row.segment != Segment.DERIVATIVES:
        return expiry != last[_month(row, expiry)]
    if future := last.get(_month(row, expiry, futures=True)):
        return expiry != future
    left = calendar.monthrange(expiry.year, expiry.month)[1] - expiry.day
    return left > LATEST_MONTHLY or expiry != last[_month(row, expiry)]


def _month(row: InstrumentRow, expiry: date, *, futures: bool | None = None) -> ContractMonth:
    kind = row.strike is None if futures is None else futures
    return (row.exchange, letters(row.raw), kind, expiry.year, expiry.month)


def _check_parsing(symbol: str, expected: Type) -> None:
    """Check that a symbol is parsed as the wanted type. Raises RejectedRow."""
    try:
        parsed = Symbol.readings(symbol)
    except InvalidSymbol as error:
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{symbol}: {error.reason}") from None
    if all(reading.type != expected for reading in parsed):
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{symbol} would read as another type")


def _settle(
    named: NamedRow,
    other: NamedRow,
    by_symbol: dict[str, NamedRow],
    contested: set[str],
    rejections: Rejections,
) -> None:
    """Decide between two rows of one symbol. Raises RejectedRow if the later row is rejected."""
    reason, later_stays, both_go = _decide(named, other)
    if both_go:
        contested.add(named.symbol)
        del by_symbol[named.symbol]
    elif later_stays:
        by_symbol[named.symbol] = named
    if both_go or later_stays:
        rejections.add(other.row.line, RejectedRow(reason, _pair(other, named)))
    if both_go or not later_stays:
        raise RejectedRow(reason, _pair(named, other))


def _decide(named: NamedRow, other: NamedRow) -> tuple[RejectReason, bool, bool]:
    """Return the reason of the rejection, whether the later row stays, and whether both are
    rejected.
    """
    if named.row.type == other.row.type and named.exchange_name == other.exchange_name:
        same = named.row.rank == other.row.rank
        reason = RejectReason.REPEATED if same else RejectReason.OTHER_SERIES
        return reason, named.row.rank < other.row.rank, False
    precedence, other_precedence = _precedence(named), _precedence(other)
    return RejectReason.COLLISION, precedence < other_precedence, precedence == other_precedence


def _precedence(named: NamedRow) -> tuple[bool, bool]:
    """Return a sort key: shares before indices, names written as their symbol before others."""
    return named.row.type != Type.EQUITY, named.row.raw != named.code


def _pair(loser: NamedRow, winner: NamedRow) -> str:
    other = f"{winner.row.type} {winner.exchange_name}"
    return f"{loser.row.type} {loser.exchange_name} as {loser.symbol}, like {other}"
