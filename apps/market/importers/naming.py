"""Symbols for what files call instruments. Names are carried into the grammar, never guessed at:
what has no form in it says why.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.symbols import MONTHS, InvalidSymbol, parse
from apps.market.importers.rows import Named
from apps.market.importers.tables import Table

# Indices that only BSE computes; every other name without an exchange is taken for NSE's.
_BSE_INDICES: Final = frozenset({"SENSEX", "SENSEX50", "BANKEX"})
_BETWEEN: Final = "\x1f"
_SERIES: Final = re.compile(r"-(?:EQ|BE)$")
_OUTSIDE_GRAMMAR: Final = re.compile("[^A-Z0-9]")
_DAY_FIRST: Final = re.compile(
    rf"(?P<root>[A-Z0-9&-]+?)(?P<day>[0-9]{{2}})(?P<month>{'|'.join(MONTHS)})(?P<year>[0-9]{{2}})"
    r"(?:(?P<strike>[0-9.]+)(?P<type>CE|PE)|FUT)?"
)
_MONTHLY_ALONE: Final = frozenset({"MCX", "NCDEX"})
"""Exchanges whose contracts never have two expiries in a month."""


@dataclass(frozen=True, slots=True)
class Contract:
    """A derivative as a file states it; a future has no strike and no option type."""

    called: str
    exchange: str
    root: str
    expiry: date
    strike: Decimal | None = None
    option_type: str = ""


def groups(table: Table, places: Sequence[int]) -> tuple[NDArray[np.int32], list[tuple[str, ...]]]:
    """Of each row the number of its instrument, and each instrument's values in these columns.

    Any: the stubs have no calls on columns of an unknown type.
    """
    columns: list[Any] = [pc.cast(table.columns[place], pa.string()) for place in places]
    texts: list[Any] = [pc.fill_null(column, "") for column in columns]
    keys: Any = pc.binary_join_element_wise(*texts, _BETWEEN)
    coded: Any = keys.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().chunk(0)
    of = np.asarray(coded.indices.to_numpy(), dtype=np.int32)
    return of, [tuple(str(key).split(_BETWEEN)) for key in coded.dictionary.to_pylist()]


def share(exchange: str, name: str) -> str:
    """`M&M` is MM, `BAJAJ-AUTO` is BAJAJAUTO."""
    return f"{exchange}:{_OUTSIDE_GRAMMAR.sub('', name)}"


def plain_name(name: str) -> str:
    """`INFY-EQ` is NSE:INFY, SENSEX is BSE's; a name that has an exchange keeps it."""
    if ":" in name:
        return name
    exchange = "BSE" if name in _BSE_INDICES else "NSE"
    return share(exchange, _SERIES.sub("", name))


def named(called: str, symbol: str) -> Named:
    """The instrument under a symbol, if it has the form of one."""
    try:
        return Named(called, str(parse(symbol)))
    except InvalidSymbol as error:
        return Named(called, None, f"{symbol!r} is no symbol ({error.reason})")


def day_first_contract(called: str, exchange: str) -> Contract | None:
    """The contract of a name such as BANKNIFTY26MAY2643000PE, which expires on 26 May 2026."""
    found = _DAY_FIRST.fullmatch(called)
    if found is None:
        return None
    try:
        month = MONTHS.index(found["month"]) + 1
        expiry = date(2000 + int(found["year"]), month, int(found["day"]))
    except ValueError:
        return None
    strike = Decimal(found["strike"]) if found["strike"] else None
    return Contract(called, exchange, found["root"], expiry, strike, found["type"] or "")


def named_contracts(contracts: Iterable[Contract]) -> list[Named]:
    """Each contract under its symbol, in their order.

    The last expiry of an underlying in a month is the monthly one, which has no day in its name
    (as exchanges write it). Where a file has but one expiry of an underlying, it is taken for the
    last of its month if a week later is another month.
    """
    listed = list(contracts)
    expiries: dict[tuple[str, str], set[date]] = defaultdict(set)
    for each in listed:
        expiries[each.exchange, each.root].add(each.expiry)
    return [_named_contract(each, expiries) for each in listed]


def _named_contract(each: Contract, expiries: Mapping[tuple[str, str], set[date]]) -> Named:
    if each.strike is not None and each.strike != each.strike.to_integral_value():
        return Named(each.called, None, "strike with decimals, which symbols have no form for")
    monthly = _is_monthly(each, expiries[each.exchange, each.root])
    day = "" if monthly else f"{each.expiry.day:02}"
    dated = f"{each.expiry.year % 100:02}{MONTHS[each.expiry.month - 1]}{day}"
    tail = "FUT" if each.strike is None else f"{int(each.strike)}{each.option_type}"
    return named(each.called, f"{share(each.exchange, each.root)}{dated}{tail}")


def _is_monthly(each: Contract, expiries: set[date]) -> bool:
    if each.exchange in _MONTHLY_ALONE:
        return True
    if len(expiries) == 1:
        return (each.expiry + timedelta(weeks=1)).month != each.expiry.month
    of_month = (day for day in expiries if (day.year, day.month) == _month(each.expiry))
    return each.expiry == max(of_month)


def _month(day: date) -> tuple[int, int]:
    return day.year, day.month


def apart(found: Sequence[Named], raw: Sequence[str]) -> tuple[Named, ...]:
    """The instruments, but of two names that become one symbol only the first keeps it.

    `raw` is the name by which each is one: rows of a share in two series are the same share.
    """
    first: dict[str, str] = {}
    return tuple(
        each
        if each.symbol is None or first.setdefault(each.symbol, name) == name
        else Named(each.called, None, f"its symbol is that of {first[each.symbol]!r}")
        for each, name in zip(found, raw, strict=True)
    )
