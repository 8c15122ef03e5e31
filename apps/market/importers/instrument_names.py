"""Symbols of the instruments that files name. A name is carried into the grammar of symbols, never
guessed at; a name that has no form in it gets a reason instead.
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

from apps.engine.symbols import MONTHS, InvalidSymbol, parse_symbol
from apps.market.importers.bar_columns import InstrumentName
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import column_index
from apps.symbols.importers import INDICES, LATEST_MONTHLY, letters

# Indices that only BSE computes; every other name without an exchange is taken for NSE's.
_BSE_INDICES: Final = frozenset({"SENSEX", "SENSEX50", "BANKEX"})
_SEPARATOR: Final = "\x1f"
_SERIES: Final = re.compile(r"-(?:EQ|BE)$")
_STRIKE: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_DAY_FIRST: Final = re.compile(
    rf"(?P<root>[A-Z0-9&-]+?)(?P<day>[0-9]{{2}})(?P<month>{'|'.join(MONTHS)})(?P<year>[0-9]{{2}})"
    r"(?:(?P<strike>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?P<type>CE|PE)|FUT)?"
)
_WITH_WEEKLIES: Final = frozenset({"NSE", "BSE"})

# Exchange, underlying, whether futures, year, month.
_ContractMonth = tuple[str, str, bool, int, int]


@dataclass(frozen=True, slots=True)
class FileContract:
    """A derivative as a file states it; a future has no strike and no option type."""

    name_in_file: str
    exchange: str
    root: str
    expiry: date
    strike: Decimal | None = None
    option_type: str = ""

    @property
    def month(self) -> _ContractMonth:
        return self.exchange, self.root, self.strike is None, self.expiry.year, self.expiry.month


# Any: the stubs have no calls on columns of an unknown type.
def group_rows(
    table: FileTable, names: Sequence[str]
) -> tuple[NDArray[np.int32], list[tuple[str, ...]]]:
    """Return for each row the number of its instrument, and each instrument's values in these
    columns (normalised names, see `layout`). A file without one of them is refused.
    """
    indices = [column_index(table, name) for name in names]
    columns: list[Any] = [pc.cast(table.columns[index], pa.string()) for index in indices]
    texts: list[Any] = [pc.fill_null(column, "") for column in columns]
    keys: Any = pc.binary_join_element_wise(*texts, _SEPARATOR)
    coded: Any = keys.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().chunk(0)
    by_row = np.asarray(coded.indices.to_numpy(), dtype=np.int32)
    return by_row, [tuple(str(key).split(_SEPARATOR)) for key in coded.dictionary.to_pylist()]


def share_symbol(exchange: str, name: str) -> str:
    """Return the symbol of a share: `M&M` is MM, `BAJAJ-AUTO` is BAJAJAUTO."""
    return f"{exchange}:{letters(name)}"


def symbol_of_name(name: str) -> str:
    """Return the symbol of a plain name: `INFY-EQ` is NSE:INFY, `NIFTY 50` is NSE:NIFTY, SENSEX is
    BSE's; a name with an exchange keeps it.
    """
    if ":" in name:
        return name
    code = letters(_SERIES.sub("", name))
    code = INDICES.get(code, code)
    return f"{'BSE' if code in _BSE_INDICES else 'NSE'}:{code}"


def instrument_name(name_in_file: str, symbol: str) -> InstrumentName:
    """Return the instrument under a symbol, or with the reason why that is not a symbol."""
    try:
        return InstrumentName(name_in_file, str(parse_symbol(symbol)))
    except InvalidSymbol as error:
        reason = f"{symbol!r} is no symbol ({error.reason})"
        return InstrumentName(name_in_file, None, reason)


def day_first_contract(name: str, exchange: str) -> FileContract | None:
    """Return the contract of a name like BANKNIFTY26MAY2643000PE, which expires on 26 May 2026."""
    match = _DAY_FIRST.fullmatch(name)
    if match is None:
        return None
    try:
        month = MONTHS.index(match["month"]) + 1
        expiry = date(2000 + int(match["year"]), month, int(match["day"]))
    except ValueError:
        return None
    strike = Decimal(match["strike"]) if match["strike"] else None
    return FileContract(name, exchange, match["root"], expiry, strike, match["type"] or "")


def strike_of(table: FileTable, text: str) -> Decimal:
    """Return a strike, perhaps grouped by commas; refuse the file for anything else."""
    plain = text.replace(",", "")
    if not _STRIKE.fullmatch(plain):
        table.refuse(f"{text!r} is no strike")
    return Decimal(plain)


def name_contracts(names: Iterable[FileContract | InstrumentName]) -> list[InstrumentName]:
    """Give each contract its symbol, as masters name it (`symbols.naming`); others keep their name.

    The last expiry of an underlying in a month is the monthly one, which has no day in its name.
    """
    listed = list(names)
    last: dict[_ContractMonth, date] = {}
    for name in listed:
        if isinstance(name, FileContract):
            last[name.month] = max(last.get(name.month, name.expiry), name.expiry)
    return [
        _name_contract(name, last) if isinstance(name, FileContract) else name for name in listed
    ]


def _name_contract(contract: FileContract, last: Mapping[_ContractMonth, date]) -> InstrumentName:
    strike, expiry = contract.strike, contract.expiry
    if strike is not None and strike != strike.to_integral_value():
        reason = "strike with decimals, which symbols have no form for"
        return InstrumentName(contract.name_in_file, None, reason)
    day = f"{expiry.day:02}" if _is_weekly(contract, last) else ""
    dated = f"{expiry.year % 100:02}{MONTHS[expiry.month - 1]}{day}"
    tail = "FUT" if strike is None else f"{int(strike)}{contract.option_type}"
    symbol = f"{share_symbol(contract.exchange, contract.root)}{dated}{tail}"
    return instrument_name(contract.name_in_file, symbol)


def _is_weekly(contract: FileContract, last: Mapping[_ContractMonth, date]) -> bool:
    """Return whether a contract is too early in its month for the monthly one, or not the last."""
    expiry = contract.expiry
    days_left = monthrange(expiry.year, expiry.month)[1] - expiry.day
    is_early = contract.exchange in _WITH_WEEKLIES and days_left > LATEST_MONTHLY
    return is_early or expiry != last[contract.month]


def resolve_collisions(
    names: Sequence[InstrumentName], raw: Sequence[str]
) -> tuple[InstrumentName, ...]:
    """Let only one of two names that become one symbol keep it: the name that is written as its
    symbol, else the first.

    `raw` are the names by which instruments are told apart: a share in two series is one share.
    """
    winners: dict[str, str] = {}
    for name, written in zip(names, raw, strict=True):
        is_code = name.symbol is not None and name.symbol.endswith(f":{written}")
        if name.symbol is not None and (name.symbol not in winners or is_code):
            winners[name.symbol] = written
    return tuple(
        name
        if name.symbol is None or winners[name.symbol] == written
        else InstrumentName(
            name.name_in_file, None, f"its symbol is that of {winners[name.symbol]!r}"
        )
        for name, written in zip(names, raw, strict=True)
    )
