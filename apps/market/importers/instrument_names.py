"""Symbols for what files call instruments. Names are carried into the grammar, never guessed at:
what has no form in it says why.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.symbols import MONTHS, InvalidSymbol, parse
from apps.market.importers.bar_columns import InstrumentName
from apps.market.importers.layout import column_index
from apps.market.importers.tables import FileTable
from apps.symbols.naming import INDICES, LATEST_MONTHLY, letters

# Indices that only BSE computes; every other name without an exchange is taken for NSE's.
_BSE_INDICES: Final = frozenset({"SENSEX", "SENSEX50", "BANKEX"})
_BETWEEN: Final = "\x1f"
_SERIES: Final = re.compile(r"-(?:EQ|BE)$")
_STRIKE: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_DAY_FIRST: Final = re.compile(
    rf"(?P<root>[A-Z0-9&-]+?)(?P<day>[0-9]{{2}})(?P<month>{'|'.join(MONTHS)})(?P<year>[0-9]{{2}})"
    r"(?:(?P<strike>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?P<type>CE|PE)|FUT)?"
)
_WITH_WEEKLIES: Final = frozenset({"NSE", "BSE"})


_Month = tuple[str, str, bool, int, int]
"""Exchange, underlying, whether futures, year, month."""


@dataclass(frozen=True, slots=True)
class FileContract:
    """A derivative as a file states it; a future has no strike and no option type."""

    called: str
    exchange: str
    root: str
    expiry: date
    strike: Decimal | None = None
    option_type: str = ""


def group_rows(
    table: FileTable, names: Sequence[str]
) -> tuple[NDArray[np.int32], list[tuple[str, ...]]]:
    """Of each row the number of its instrument, and each instrument's values in these columns
    (names as compared, see layout). A file without one of them is refused.

    Any: the stubs have no calls on columns of an unknown type.
    """
    places = [column_index(table, name) for name in names]
    columns: list[Any] = [pc.cast(table.columns[place], pa.string()) for place in places]
    texts: list[Any] = [pc.fill_null(column, "") for column in columns]
    keys: Any = pc.binary_join_element_wise(*texts, _BETWEEN)
    coded: Any = keys.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().chunk(0)
    of = np.asarray(coded.indices.to_numpy(), dtype=np.int32)
    return of, [tuple(str(key).split(_BETWEEN)) for key in coded.dictionary.to_pylist()]


def share_symbol(exchange: str, name: str) -> str:
    """`M&M` is MM, `BAJAJ-AUTO` is BAJAJAUTO."""
    return f"{exchange}:{letters(name)}"


def symbol_of_name(name: str) -> str:
    """`INFY-EQ` is NSE:INFY, `NIFTY 50` is NSE:NIFTY, SENSEX is BSE's; a name that has an exchange
    keeps it.
    """
    if ":" in name:
        return name
    code = letters(_SERIES.sub("", name))
    code = INDICES.get(code, code)
    return f"{'BSE' if code in _BSE_INDICES else 'NSE'}:{code}"


def instrument_name(called: str, symbol: str) -> InstrumentName:
    """The instrument under a symbol, if it has the form of one."""
    try:
        return InstrumentName(called, str(parse(symbol)))
    except InvalidSymbol as error:
        return InstrumentName(called, None, f"{symbol!r} is no symbol ({error.reason})")


def day_first_contract(called: str, exchange: str) -> FileContract | None:
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
    return FileContract(called, exchange, found["root"], expiry, strike, found["type"] or "")


def strike_of(table: FileTable, text: str) -> Decimal:
    """A price above 0, perhaps grouped by commas; anything else refuses the file."""
    plain = text.replace(",", "")
    if not _STRIKE.fullmatch(plain):
        table.refuse(f"{text!r} is no strike")
    return Decimal(plain)


def contract_names(contracts: Iterable[FileContract]) -> list[InstrumentName]:
    """Each contract under its symbol, in their order, as masters name it (symbols.naming).

    The last expiry of an underlying in a month is the monthly one, which has no day in its name.
    """
    listed = list(contracts)
    last: dict[_Month, date] = {}
    for each in listed:
        month = _month(each)
        last[month] = max(last.get(month, each.expiry), each.expiry)
    return [_named_contract(each, last) for each in listed]


def _named_contract(each: FileContract, last: Mapping[_Month, date]) -> InstrumentName:
    if each.strike is not None and each.strike != each.strike.to_integral_value():
        return InstrumentName(
            each.called, None, "strike with decimals, which symbols have no form for"
        )
    day = f"{each.expiry.day:02}" if _is_weekly(each, last) else ""
    dated = f"{each.expiry.year % 100:02}{MONTHS[each.expiry.month - 1]}{day}"
    tail = "FUT" if each.strike is None else f"{int(each.strike)}{each.option_type}"
    return instrument_name(each.called, f"{share_symbol(each.exchange, each.root)}{dated}{tail}")


def _is_weekly(each: FileContract, last: Mapping[_Month, date]) -> bool:
    """Too early in its month for the monthly one, or before another of it."""
    left = monthrange(each.expiry.year, each.expiry.month)[1] - each.expiry.day
    early = each.exchange in _WITH_WEEKLIES and left > LATEST_MONTHLY
    return early or each.expiry != last[_month(each)]


def _month(each: FileContract) -> _Month:
    return each.exchange, each.root, each.strike is None, each.expiry.year, each.expiry.month


def resolve_collisions(
    found: Sequence[InstrumentName], raw: Sequence[str]
) -> tuple[InstrumentName, ...]:
    """The instruments, but of two names that become one symbol only one keeps it: the name that is
    written as its symbol, else the first.

    `raw` is the name by which each is one: rows of a share in two series are the same share.
    """
    winners: dict[str, str] = {}
    for each, name in zip(found, raw, strict=True):
        if each.symbol is not None and (each.symbol not in winners or _is_code(name, each.symbol)):
            winners[each.symbol] = name
    return tuple(
        each
        if each.symbol is None or winners[each.symbol] == name
        else InstrumentName(each.called, None, f"its symbol is that of {winners[each.symbol]!r}")
        for each, name in zip(found, raw, strict=True)
    )


def _is_code(name: str, symbol: str) -> bool:
    return symbol.endswith(f":{name}")
