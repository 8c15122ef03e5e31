"""The formats that need more than column names: marks in the header identify each, and the format
supplies the facts missing from the header.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.core.times import midnight
from apps.market.candles.price_kinds import PriceKind
from apps.market.importers.bar_columns import (
    BarColumns,
    FileContract,
    FileInstruments,
    Flags,
    InstrumentName,
)
from apps.market.importers.bar_times import StampSide
from apps.market.importers.instrument_names import FindSymbol, symbol_named, symbol_of_code
from apps.market.importers.instruments import (
    NameInstruments,
    by_name,
    contract_of,
    contracts_on,
    group_rows,
    in_series,
    name_contracts,
    named_on,
    resolve_collisions,
)
from apps.market.importers.tables.column_names import PRICES, FileLayout, column_index, names_of
from apps.market.importers.tables.file_table import Column, FileTable
from apps.market.importers.tables.headers import LEAN_MINUTE
from apps.market.importers.tables.times import seconds_of


def _unchanged(table: FileTable, rows: BarColumns) -> BarColumns:
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A format.

    A file has it if its header has all `marks` (normalised names, see `columns`) and `matches`, if
    given, accepts it. Times are in Asia/Kolkata unless they carry a zone; with `stamps` None the
    session's hours show which side of a bar they mark. `prices` is the kind of prices, adjusted for
    splits and bonuses up to the day of the file or as traded, None if unknown.
    """

    name: str
    marks: frozenset[str] = frozenset()
    matches: Callable[[FileTable], bool] | None = None
    instruments: NameInstruments = by_name
    seconds: Callable[[FileTable, FileLayout], NDArray[np.int64]] = seconds_of
    amend: Callable[[FileTable, BarColumns], BarColumns] = _unchanged
    timeframe: str | None = None
    stamps: StampSide | None = None
    prices: PriceKind | None = None

    def has(self, table: FileTable, names: Collection[str]) -> bool:
        return self.marks <= set(names) and (self.matches is None or self.matches(table))


def format_of(table: FileTable) -> FileFormat:
    """Return the first format that a file has; the last format fits any file."""
    names = names_of(table.names)
    return next(file_format for file_format in _FORMATS if file_format.has(table, names))


# UDiFF, the bhavcopy of all exchanges since July 2024. NSE counts the volume of derivatives in
# contracts, and NewBrdLotQty converts it to units; BSE counts units. On its last day BSE states an
# option's close as the index level, so its last price is used.

_UDIFF_KEY: Final = ("src", "fininstrmtp", "sctysrs", "tckrsymb", "xprydt", "strkpric", "optntp")
_EXCHANGES: Final = {"NSE": "NSE", "BSE": "BSE", "MCX": "MCX", "MCXCCL": "MCX", "NCDEX": "NCDEX"}
_FUTURES: Final = frozenset({"IDF", "STF", "COF"})
_OPTIONS: Final = frozenset({"IDO", "STO", "COO", "FUO"})


def _by_kind(table: FileTable, layout: FileLayout, find: FindSymbol) -> FileInstruments:
    by_row, keys = group_rows(table, _UDIFF_KEY)
    names = name_contracts(_of_kind(table, key) for key in keys)
    raw = ["|".join(key[3:]) for key in keys]
    return FileInstruments(by_row, resolve_collisions(names, raw), "column TckrSymb")


def _of_kind(table: FileTable, key: tuple[str, ...]) -> InstrumentName | FileContract:
    source, kind, series, name, *_ = key
    exchange = _EXCHANGES.get(source)
    if exchange is None:
        return InstrumentName(name, None, f"exchange {source!r}")
    if kind in _FUTURES or kind in _OPTIONS:
        return contract_of(table, exchange, key[3:])
    if kind != "STK":
        return InstrumentName(name, None, f"instruments of type {kind!r}")
    return in_series(symbol_named(name, symbol_of_code(name, exchange)), exchange, series)


def _in_units(table: FileTable, rows: BarColumns) -> BarColumns:
    """Return the rows with volume in units, and with closes that are prices of the option."""
    derivative = pc.is_in(_text(table, "fininstrmtp"), pa.array(sorted(_FUTURES | _OPTIONS)))
    of_nse = np.asarray(derivative) & _is(table, "src", "NSE")
    volume, close = rows.volume, rows.close
    if of_nse.any():
        lots = table.cast(column_index(table, "newbrdlotqty"), pa.float64(), "is no lot size")
        volume = np.where(of_nse, volume * lots.to_numpy(), volume)
    last_day = _expiring_options_of_bse(table)
    if last_day.any():
        prices = table.cast(column_index(table, "lastpric"), pa.float64(), "is no price")
        close = np.where(last_day, prices.to_numpy(), close)
    return replace(rows, volume=volume, close=close)


def _expiring_options_of_bse(table: FileTable) -> Flags:
    option = pc.is_in(_text(table, "fininstrmtp"), pa.array(sorted(_OPTIONS)))
    last_day = pc.equal(_text(table, "xprydt"), _text(table, "traddt"))
    flags: Flags = np.asarray(option) & np.asarray(last_day) & _is(table, "src", "BSE")
    return flags


def _is(table: FileTable, name: str, value: str) -> Flags:
    return np.asarray(pc.equal(_text(table, name), pa.scalar(value)))


def _text(table: FileTable, name: str) -> Column:
    return table.columns[column_index(table, name)]


# BSE's old bhavcopy of shares has no name that is unique but the scrip code, and its date only in
# the file's name (EQ060521.CSV, or a date such as 2021-05-06).

_DATES: Final = (
    re.compile(r"EQ(?P<day>[0-9]{2})(?P<month>[0-9]{2})(?P<year>[0-9]{2})[._].*", re.IGNORECASE),
    re.compile(r".*?(?P<year>20[0-9]{2})-?(?P<month>[0-9]{2})-?(?P<day>[0-9]{2}).*"),
)


def _by_scrip_code(table: FileTable, layout: FileLayout, find: FindSymbol) -> FileInstruments:
    by_row, keys = group_rows(table, ["sccode", "scgroup"])
    names = (
        in_series(symbol_named(code, find("BSE", code) or f"BSE:{code}"), "BSE", group)
        for code, group in keys
    )
    return FileInstruments(by_row, tuple(names), "column SC_CODE")


def _day_of_name(table: FileTable, layout: FileLayout) -> NDArray[np.int64]:
    """Return the date in the file's name, for each row."""
    matches = (form.fullmatch(table.name) for form in _DATES)
    match = next(filter(None, matches), None)
    if match is None:
        table.refuse("has no column of dates, and its name has no date such as EQ060521.CSV")
    return np.full(len(table), _midnight(table, match), dtype=np.int64)


def _midnight(table: FileTable, match: re.Match[str]) -> int:
    try:
        year = int(match["year"]) % 100 + 2000
        return midnight(date(year, int(match["month"]), int(match["day"])))
    except ValueError:
        table.refuse("has no column of dates, and the date in its name is none")


# QuantConnect's Lean. Prices of shares are whole numbers of a ten-thousandth of a rupee, those of
# indices are rupees: an instrument with a fractional price has rupees.

_LEAN_SCALE: Final = 10_000.0
_LEAN_DAY: Final = re.compile(r"[0-9]{8} [0-9]{2}:[0-9]{2}")


def _is_lean_of_days(table: FileTable) -> bool:
    """Return whether this is code.csv in code.zip, without a header, with stamps of its form."""
    folder = table.shown.split("/")[0].lower()
    return (
        not table.has_header
        and table.name.lower() == folder.removesuffix(".zip") + ".csv"
        and _LEAN_DAY.fullmatch(str(table.columns[0][0].as_py())) is not None
    )


def _is_lean_minute(table: FileTable) -> bool:
    return LEAN_MINUTE.match(table.name) is not None


def _by_lean_name(table: FileTable, layout: FileLayout, find: FindSymbol) -> FileInstruments:
    minute = LEAN_MINUTE.match(table.name)
    code = minute["code"] if minute else table.name.removesuffix(".csv")
    name = symbol_named(code, symbol_of_code(code), assumed=True)
    return FileInstruments(np.zeros(len(table), np.int32), (name,), "file name")


def _since_midnight(table: FileTable, layout: FileLayout) -> NDArray[np.int64]:
    """Return the day, from a column or the file's name, and the milliseconds since midnight."""
    column = column_index(table, "mssincemidnight")
    milliseconds = table.cast(column, pa.int64(), "is no number of milliseconds")
    seconds: NDArray[np.int64] = milliseconds.to_numpy() // 1000
    minute = LEAN_MINUTE.match(table.name)
    if minute is None:
        return seconds_of(table, layout) + seconds
    match = re.fullmatch(r"(?P<year>....)(?P<month>..)(?P<day>..)", minute["day"])
    return seconds + (_midnight(table, match) if match else 0)


def _in_rupees(table: FileTable, rows: BarColumns) -> BarColumns:
    prices = [getattr(rows, name) for name in PRICES]
    broken = np.any([column != np.rint(column) for column in prices], axis=0)
    are_rupees = np.isin(rows.instrument, np.unique(rows.instrument[broken]))
    divisor = np.where(are_rupees, 1.0, _LEAN_SCALE)
    open_, high, low, close = (column / divisor for column in prices)
    return replace(rows, open=open_, high=high, low=low, close=close)


def _bhavcopy(name: str, marks: str, instruments: NameInstruments) -> FileFormat:
    """Return the format of an exchange's own file of days, whose prices are as traded."""
    return FileFormat(
        name=name,
        marks=frozenset(marks.split()),
        instruments=instruments,
        timeframe="1d",
        prices=PriceKind.RAW,
    )


_NSE: Final = named_on("NSE")
_OF_NSE: Final = contracts_on("NSE", "symbol expirydt strikepr optiontyp")
_OF_MCX: Final = contracts_on("MCX", "symbol expirydate strikeprice optiontype")
_YFINANCE: Final = FileFormat(name="yfinance", marks=frozenset(PRICES), prices=PriceKind.ADJUSTED)
_LEAN: Final = FileFormat(name="Lean", instruments=_by_lean_name, amend=_in_rupees)
_LEAN_MINUTES: Final = replace(_LEAN, seconds=_since_midnight, stamps=StampSide.START)
_FORMATS: Final = (
    replace(
        _bhavcopy("UDiFF bhavcopy", "traddt fininstrmtp tckrsymb opnpric clspric", _by_kind),
        amend=_in_units,
    ),
    _bhavcopy("NSE cash bhavcopy", "symbol series tottrdqty timestamp", _NSE),
    _bhavcopy("NSE full bhavcopy", "symbol series date1 ttltrdqnty", _NSE),
    _bhavcopy("NSE F&O bhavcopy", "symbol expirydt strikepr optiontyp contracts", _OF_NSE),
    _bhavcopy("NSE index file", "indexname indexdate closingindexvalue", _NSE),
    replace(
        _bhavcopy("BSE cash bhavcopy", "sccode scname scgroup noofshrs", _by_scrip_code),
        seconds=_day_of_name,
    ),
    _bhavcopy("MCX bhavcopy", "symbol expirydate optiontype strikeprice volumelots", _OF_MCX),
    FileFormat(
        name="MCX contracts by the minute",
        marks=frozenset({"file", "timestamp", "symbol", "strike", "optiontype"}),
        instruments=named_on("MCX"),
    ),
    FileFormat(
        name="Global Datafeeds",
        marks=frozenset({"ticker", "date", "time", "open", "openinterest"}),
        stamps=StampSide.END,
    ),
    replace(_YFINANCE, marks=_YFINANCE.marks | {"adjclose"}),
    replace(_YFINANCE, marks=_YFINANCE.marks | {"dividends", "stocksplits"}),
    replace(_YFINANCE, matches=lambda table: table.from_yfinance),
    replace(
        _LEAN_MINUTES,
        marks=frozenset({"symbol", "date", "entry", "mssincemidnight"}),
        instruments=by_name,
    ),
    replace(_LEAN_MINUTES, matches=_is_lean_minute),
    replace(_LEAN, matches=_is_lean_of_days),
    FileFormat(name="columns"),
)
