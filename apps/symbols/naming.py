"""From a master's rows to symbols, each of one row alone.

A name keeps its letters and digits: M&M is MM, BAJAJ-AUTO is BAJAJAUTO. An index with contracts is
called as its contracts are. The monthly contract is written without a day, the others with one.
Every symbol is read again by the grammar and must come out as what it was made of.
"""

import calendar
import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from apps.engine.symbols import MAX_LENGTH, MONTHS, InvalidSymbol, readings
from apps.symbols.importers import InstrumentRow, RejectedRow, Rejections, RejectReason
from apps.symbols.models import LONGEST_ALIAS, LONGEST_NAME, Segment, Type

ContractMonth = tuple[str, str, bool, int, int]
"""Exchange, underlying, whether futures, year, month: the last expiry is the monthly one."""

_OTHERS: Final = re.compile(r"[^A-Z0-9]+")
# A monthly contract of shares and indices expires on the last of a weekday, or up to three days
# before it where holidays stand in the way.
LATEST_MONTHLY: Final = 6 + 3
INDICES: Final[Mapping[str, str]] = {
    "NIFTY50": "NIFTY", "NIFTYBANK": "BANKNIFTY", "NIFTYFINSERVICE": "FINNIFTY",
    "NIFTYFINANCIALSERVICES": "FINNIFTY", "NIFTYMIDSELECT": "MIDCPNIFTY",
    "NIFTYMIDCAPSELECT": "MIDCPNIFTY", "NIFTYNEXT50": "NIFTYNXT50", "BSESENSEX": "SENSEX",
    "BSEBANKEX": "BANKEX", "SNSX50": "SENSEX50", "BSESENSEX50": "SENSEX50",
}  # fmt: skip


class NamedRow(NamedTuple):
    """A row under its symbol."""

    symbol: str
    code: str
    exchange_name: str
    name: str
    underlying: str
    row: InstrumentRow


@lru_cache(maxsize=20_000)
def letters(raw: str) -> str:
    """What of a name a symbol can hold."""
    return _OTHERS.sub("", raw.upper())


def last_expiries(rows: Iterable[InstrumentRow]) -> dict[ContractMonth, date]:
    """The last expiry of each underlying in each month, as far as these rows go."""
    last: dict[ContractMonth, date] = {}
    for row in rows:
        if row.expiry is not None:
            key = _month(row, row.expiry)
            last[key] = max(last.get(key, row.expiry), row.expiry)
    return last


def name_all(
    rows: Iterable[InstrumentRow], last: Mapping[ContractMonth, date], refusals: Rejections
) -> list[NamedRow]:
    """One row for each symbol; what cannot have one is added to `refusals`.

    Of several series of a share the first in rank stays. Of two names that fall together the one
    that is written as its symbol stays; if neither is, both are refused.
    """
    taken: dict[str, NamedRow] = {}
    contested: set[str] = set()
    for row in rows:
        try:
            named = _name(row, last)
            other = taken.get(named.symbol)
            if named.symbol in contested:
                raise RejectedRow(RejectReason.COLLISION, f"{row.raw} as {named.symbol}")
            if other is not None:
                _settle(named, other, taken, contested, refusals)
            else:
                taken[named.symbol] = named
        except RejectedRow as refused:
            refusals.add(row.line, refused)
    return list(taken.values())


def _name(row: InstrumentRow, last: Mapping[ContractMonth, date]) -> NamedRow:
    """Raises Refused."""
    root, name = _root(row.raw, row.type), " ".join(row.name.split())
    if not root or not f"{row.raw}{name}{row.alias}{row.token}".isprintable():
        raise RejectedRow(RejectReason.NO_SYMBOL, repr(row.raw)[:60])
    if max(len(row.raw), len(row.alias), len(row.token)) > LONGEST_ALIAS:
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{row.raw[:60]} has too long a name")
    if row.expiry is not None:
        return _contract(row, root, _is_weekly(row, row.expiry, last))
    symbol = f"{row.exchange}:{root}"
    _prove(symbol, Type.EQUITY)
    return NamedRow(symbol, root, row.raw, (name or row.raw)[:LONGEST_NAME], "", row)


@lru_cache(maxsize=20_000)
def _root(raw: str, type: Type) -> str:
    """Raises Refused."""
    found = letters(raw)
    if "NSETEST" in found or "BSETEST" in found:
        raise RejectedRow(RejectReason.TEST, raw)
    return INDICES.get(found, found) if type != Type.EQUITY else found


def _contract(row: InstrumentRow, root: str, weekly: bool) -> NamedRow:
    """Raises Refused."""
    assert row.expiry is not None, "readers give every contract its expiry"
    dated, told = _dated(row.exchange, root, row.expiry, weekly)
    ending, words = "FUT", "FUT"
    if row.strike is not None:
        strike = _whole(row.strike)
        if not strike:
            raise RejectedRow(RejectReason.DECIMAL_STRIKE, f"{row.alias}, strike {row.strike:f}")
        ending, words = f"{strike}{row.option_type}", f"{strike} {row.option_type}"
    code, symbol = f"{root}{dated}{ending}", f"{row.exchange}:{root}{dated}{ending}"
    if len(symbol) > MAX_LENGTH:
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{symbol} is too long")
    return NamedRow(symbol, code, f"{row.raw}{dated}{ending}", f"{root} {told} {words}", root, row)


@lru_cache(maxsize=20_000)
def _dated(exchange: str, root: str, expiry: date, weekly: bool) -> tuple[str, str]:
    """The part of a code before FUT or the strike, and the day in words; raises Refused.

    What the grammar makes of a contract hangs on this part alone: strikes begin with no zero.
    """
    month = MONTHS[expiry.month - 1]
    dated = f"{expiry:%y}{month}{expiry:%d}" if weekly else f"{expiry:%y}{month}"
    _prove(f"{exchange}:{root}{dated}FUT", Type.FUTURES)
    return dated, f"{expiry.day} {month.title()} {expiry.year}"


@lru_cache(maxsize=20_000)
def _whole(strike: Decimal) -> str:
    """ "" for one that has decimals, or is not above zero."""
    is_whole = strike == strike.to_integral_value() and strike > 0
    return f"{strike:.0f}" if is_whole else ""


def _is_weekly(row: InstrumentRow, expiry: date, last: Mapping[ContractMonth, date]) -> bool:
    """As the master marks it; else a monthly option expires with the future, where there is one."""
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


def _prove(symbol: str, wanted: Type) -> None:
    """The grammar reads it as what it is to be; raises Refused."""
    try:
        found = readings(symbol)
    except InvalidSymbol as error:
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{symbol}: {error.reason}") from None
    if all(one.type != wanted for one in found):
        raise RejectedRow(RejectReason.NO_SYMBOL, f"{symbol} would read as another type")


def _settle(
    named: NamedRow,
    other: NamedRow,
    taken: dict[str, NamedRow],
    contested: set[str],
    refusals: Rejections,
) -> None:
    """Two rows, one symbol. Raises Refused if the later row is the one to go."""
    reason, later_stays, both_go = _verdict(named, other)
    if both_go:
        contested.add(named.symbol)
        del taken[named.symbol]
    elif later_stays:
        taken[named.symbol] = named
    if both_go or later_stays:
        refusals.add(other.row.line, RejectedRow(reason, _pair(other, named)))
    if both_go or not later_stays:
        raise RejectedRow(reason, _pair(named, other))


def _verdict(named: NamedRow, other: NamedRow) -> tuple[RejectReason, bool, bool]:
    """Why one of them goes, whether it is the other, whether both do."""
    if named.row.type == other.row.type and named.exchange_name == other.exchange_name:
        same = named.row.rank == other.row.rank
        reason = RejectReason.REPEATED if same else RejectReason.OTHER_SERIES
        return reason, named.row.rank < other.row.rank, False
    strength, other_strength = _strength(named), _strength(other)
    return RejectReason.COLLISION, strength < other_strength, strength == other_strength


def _strength(named: NamedRow) -> tuple[bool, bool]:
    """Smaller is stronger: shares before indices, names written as their symbol before others."""
    return named.row.type != Type.EQUITY, named.row.raw != named.code


def _pair(loser: NamedRow, winner: NamedRow) -> str:
    other = f"{winner.row.type} {winner.exchange_name}"
    return f"{loser.row.type} {loser.exchange_name} as {loser.symbol}, like {other}"
