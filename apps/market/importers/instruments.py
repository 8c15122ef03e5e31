"""The instrument of each row of a file: from a column of names, from the columns of a contract, or
from the file's own name.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES, Symbol
from apps.market.importers.bar_columns import FileContract, FileInstruments, InstrumentName
from apps.market.importers.instrument_names import (
    FindSymbol,
    name_instrument,
    symbol_named,
    symbol_of_code,
)
from apps.market.importers.tables.column_names import FileLayout, column_index, normalise
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.times import expiry_day
from apps.symbols.importers import LATEST_MONTHLY, RejectedRow, rank_of

# Names the instruments of a file.
NameInstruments = Callable[[FileTable, FileLayout, FindSymbol], FileInstruments]

_SEPARATOR: Final = "\x1f"
_STRIKE: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_WITH_WEEKLIES: Final = frozenset({"NSE", "BSE"})
_DECIMAL_STRIKE: Final = "strike with decimals, which symbols have no form for"
_LENGTHS: Final = "|".join([*TIMEFRAMES, *map(str, (1, 5, 15, 30, 60, 240)), "1D", "1W", "D", "W"])
# INFY_1m_2024.parquet, BSE_SENSEX_1d.csv; TradingView's "NSE_RELIANCE, 5.csv"; Yahoo's SBIN.NS.csv;
# the exchange's Quote-Equity-SBIN-EQ-01-01-2024-to-31-01-2024.csv.
_FILE_NAMES: Final = (
    re.compile(
        rf"(?:(?P<exchange>{'|'.join(Symbol.EXCHANGES)})_)?(?P<code>[A-Z0-9]+)"
        rf"(?:_|, )(?:{_LENGTHS})[_.].*"
    ),
    re.compile(r"(?P<code>[A-Z0-9&-]+)\.(?P<suffix>NS|BO)\..*"),
    re.compile(r"Quote-Equity-(?P<code>[A-Z0-9&-]+?)-[A-Z0-9]{2}-.*"),
)

# Exchange, underlying, whether futures, year, month.
_ContractMonth = tuple[str, str, bool, int, int]


def by_name(table: FileTable, layout: FileLayout, find: FindSymbol) -> FileInstruments:
    """Name the instruments from their column, with the series beside it; else from the name above
    the rows; else from the file's name.
    """
    if layout.symbol is not None:
        return named_on(None)(table, layout, find)
    if table.name_in_file is not None:
        return _of_one(table, _by_ticker(table.name_in_file, find), "above its rows")
    return _of_one(table, _by_file_name(table), "file name")


def named_on(exchange: str | None) -> NameInstruments:
    """Return the reader of a column of names, of one exchange if the file has only one."""

    def named(table: FileTable, layout: FileLayout, find: FindSymbol) -> FileInstruments:
        if layout.symbol is None:
            return _of_one(table, _by_file_name(table), "file name")
        symbol = table.names[layout.symbol]
        columns = [symbol] if layout.series is None else [symbol, table.names[layout.series]]
        by_row, keys = group_rows(table, [normalise(column) for column in columns])
        if not any(key[0] for key in keys):
            return _of_one(table, _by_file_name(table), "file name")
        if table.from_yfinance:
            names = [_by_ticker(key[0], find) for key in keys]
        else:
            names = name_contracts(
                _share_of(key, name_instrument(key[0], exchange=exchange, find=find))
                for key in keys
            )
        raw = [key[0] for key in keys]
        return FileInstruments(by_row, resolve_collisions(names, raw), f"column {symbol}")

    return named


def _by_ticker(ticker: str, find: FindSymbol) -> InstrumentName:
    """Return the instrument of a Yahoo ticker, which may name shares of any country."""
    [name] = name_contracts([name_instrument(ticker, find=find)])
    if not name.assumed:
        return name
    return InstrumentName(ticker, None, f"its ticker {ticker} is none of NSE (.NS) or BSE (.BO)")


def _share_of(
    key: Sequence[str], name: InstrumentName | FileContract
) -> InstrumentName | FileContract:
    """Return the name, without a symbol if its series is not of shares."""
    if len(key) == 1 or isinstance(name, FileContract) or name.symbol is None:
        return name
    return in_series(name, name.symbol.split(":")[0], key[1])


def in_series(name: InstrumentName, exchange: str, series: str) -> InstrumentName:
    """Return the name of a share in one of its series; other instruments have no symbol."""
    try:
        rank_of(exchange, series=series)
    except RejectedRow:
        return InstrumentName(name.name_in_file, None, "series that are no shares")
    return name


def _of_one(table: FileTable, name: InstrumentName, source: str) -> FileInstruments:
    return FileInstruments(np.zeros(len(table), np.int32), (name,), source)


def _by_file_name(table: FileTable) -> InstrumentName:
    matches = (form.fullmatch(table.name) for form in _FILE_NAMES)
    match = next(filter(None, matches), None)
    if match is None:
        return InstrumentName("", None, "neither a column nor the file's name tells the symbol")
    named = match.groupdict()
    suffixes = {"NS": "NSE", "BO": "BSE"}
    exchange = named.get("exchange") or suffixes.get(named.get("suffix") or "")
    return symbol_named("", symbol_of_code(match["code"], exchange), assumed=exchange is None)


def contracts_on(exchange: str, columns: str) -> NameInstruments:
    """Return the reader of contracts of one exchange, stated by four columns: underlying, expiry,
    strike and type of option.
    """

    def named(table: FileTable, layout: FileLayout, find: FindSymbol) -> FileInstruments:
        by_row, keys = group_rows(table, columns.split())
        names = name_contracts(contract_of(table, exchange, values) for values in keys)
        raw = [name.name_in_file for name in names]
        return FileInstruments(by_row, resolve_collisions(names, raw), "its contract")

    return named


def contract_of(table: FileTable, exchange: str, values: Sequence[str]) -> FileContract:
    """Return the contract with a root, an expiry, a strike and an option type; futures have no
    strike and type.
    """
    root, expiry, strike, option_type = values
    name_in_file, day = " ".join(filter(None, values)), expiry_day(table, expiry)
    if option_type not in ("CE", "PE"):
        return FileContract(name_in_file, exchange, root, day)
    plain = strike.replace(",", "")
    if not _STRIKE.fullmatch(plain):
        table.refuse(f"{strike!r} is no strike")
    return FileContract(name_in_file, exchange, root, day, Decimal(plain), option_type)


# Any: the stubs have no calls on columns of an unknown type.
def group_rows(
    table: FileTable, names: Sequence[str]
) -> tuple[NDArray[np.int32], list[tuple[str, ...]]]:
    """Return the instrument number of each row, and each instrument's values in these columns
    (normalised names). A file that lacks one of the columns is refused.
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


def name_contracts(names: Iterable[FileContract | InstrumentName]) -> list[InstrumentName]:
    """Give each contract its symbol, named as in masters (`symbols.naming`); other instruments keep
    their name.

    The last expiry of an underlying in a month is the monthly one, and its name has no day.
    """
    listed = list(names)
    last: dict[_ContractMonth, date] = {}
    for name in listed:
        if isinstance(name, FileContract):
            month = _month_of(name)
            last[month] = max(last.get(month, name.expiry), name.expiry)
    return [
        _name_contract(name, last) if isinstance(name, FileContract) else name for name in listed
    ]


def _month_of(contract: FileContract) -> _ContractMonth:
    expiry, is_future = contract.expiry, contract.strike is None
    return contract.exchange, contract.root, is_future, expiry.year, expiry.month


def _name_contract(contract: FileContract, last: Mapping[_ContractMonth, date]) -> InstrumentName:
    strike, expiry = contract.strike, contract.expiry
    if strike is not None and strike != strike.to_integral_value():
        return InstrumentName(contract.name_in_file, None, _DECIMAL_STRIKE)
    day = f"{expiry.day:02}" if _is_weekly(contract, last) else ""
    dated = f"{expiry.year % 100:02}{Symbol.MONTHS[expiry.month - 1]}{day}"
    tail = "FUT" if strike is None else f"{int(strike)}{contract.option_type}"
    root = symbol_of_code(contract.root, contract.exchange)
    return symbol_named(contract.name_in_file, f"{root}{dated}{tail}")


def _is_weekly(contract: FileContract, last: Mapping[_ContractMonth, date]) -> bool:
    """Return whether a contract is too early in its month for the monthly one, or not the last."""
    expiry = contract.expiry
    days_left = monthrange(expiry.year, expiry.month)[1] - expiry.day
    is_early = contract.exchange in _WITH_WEEKLIES and days_left > LATEST_MONTHLY
    return is_early or expiry != last[_month_of(contract)]


def resolve_collisions(
    names: Sequence[InstrumentName], raw: Sequence[str]
) -> tuple[InstrumentName, ...]:
    """Let only one of two names with the same symbol keep it: the name that equals its symbol, else
    the first.

    `raw` are the names that distinguish instruments: a share in two series is one share.
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
