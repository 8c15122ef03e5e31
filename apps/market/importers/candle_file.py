"""One candle file, whole: recognised, read, checked."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES, Candles
from apps.engine.symbols import EXCHANGES, InvalidSymbol, parse
from apps.market.importers.checks import Report, Rows, judge
from apps.market.importers.layout import Layout, layout_of, number_columns
from apps.market.importers.stamps import seconds_of
from apps.market.importers.tables import Column, Table, read_table
from apps.market.importers.timeframes import contradiction, timeframe_of
from apps.market.rulebook.sessions import sessions_of

_NAMED: Final = re.compile(
    rf"(?:(?P<exchange>{'|'.join(EXCHANGES)})_)?(?P<code>[A-Z0-9]+)_(?:{'|'.join(TIMEFRAMES)})[_.].*"
)
# Indices that only BSE computes; every other name without an exchange is taken for NSE's.
_BSE_INDICES: Final = frozenset({"SENSEX", "SENSEX50", "BANKEX"})
_SERIES: Final = re.compile(r"-(?:EQ|BE)$")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The bars of one file.

    `called` is the instrument's name in the file, None where the file gives none; `told_by` says
    where `symbol` was taken from ("as given", "column Instrument", "file name").
    """

    symbol: str
    timeframe: str
    candles: Candles
    report: Report
    called: str | None
    told_by: str


def read_candle_file(
    path: Path, *, symbol: str | None = None, timeframe: str | None = None, strict: bool = False
) -> Loaded:
    """The bars of a CSV or Parquet file, checked and sorted; BadCandleFile says what is wrong.

    What is not given is told from the file: the symbol by its instrument column or its name
    (`INFY_1m_2024.parquet`, `BSE_SENSEX_1d.csv`), the timeframe by the commonest step. With
    `strict` bars outside the session's hours are refused, otherwise kept and counted.
    """
    table = read_table(path, number_columns)
    layout = layout_of(table)
    called = _instrument(table, layout)
    known, told_by = _symbol(table, layout, given=symbol, called=called)
    times = seconds_of(table, layout)
    step = _timeframe(table, times, given=timeframe)
    candles, report = judge(
        table, _rows(table, layout, times), step, sessions_of(known), strict=strict
    )
    return Loaded(known, step, candles, report, called, told_by)


def _rows(table: Table, layout: Layout, times: NDArray[np.int64]) -> Rows:
    open_, high, low, close = (_numbers(table, position) for position in layout.prices)
    return Rows(times, open_, high, low, close, _volume(table, layout), np.arange(len(table)))


def _numbers(table: Table, position: int) -> NDArray[np.float64]:
    numbers = table.cast(position, pa.float64(), "is no number")
    return np.asarray(numbers.to_numpy(), dtype=np.float64)


def _volume(table: Table, layout: Layout) -> NDArray[np.float64]:
    """Zero where the file has no such column or nothing in all of it, as for an index."""
    if layout.volume is None or _blank(table.columns[layout.volume]):
        return np.zeros(len(table))
    return _numbers(table, layout.volume)


def _blank(column: Column) -> bool:
    """Whether every value is missing, empty or 0."""
    if pa.types.is_string(column.type):
        return not pc.any(pc.not_equal(column, pa.scalar(""))).as_py()
    return not pc.any(pc.not_equal(column, pa.scalar(0))).as_py()


def _instrument(table: Table, layout: Layout) -> str | None:
    """The one instrument the file speaks of."""
    if layout.symbol is None:
        return None
    names = [str(name) for name in table.columns[layout.symbol].unique().to_pylist() if name]
    if len(names) > 1:
        shown = ", ".join(names[:3]) + ("…" if len(names) > 3 else "")
        table.refuse(f"holds {len(names)} instruments ({shown}): one file holds one")
    return names[0] if names else None


def _symbol(
    table: Table, layout: Layout, *, given: str | None, called: str | None
) -> tuple[str, str]:
    """The symbol and what told it; it is well formed."""
    if given is not None:
        return _well_formed(table, given), "as given"
    if called is not None and layout.symbol is not None:
        return _well_formed(table, _told(called)), f"column {table.names[layout.symbol]}"
    named = _NAMED.fullmatch(table.file)
    if named is None:
        table.refuse("neither a column nor the file's name tells the symbol: give it with --symbol")
    exchange = named["exchange"]
    told = f"{exchange}:{named['code']}" if exchange else _told(named["code"])
    return _well_formed(table, told), "file name"


def _told(name: str) -> str:
    """`INFY-EQ` is NSE:INFY, `M&M` is NSE:MM; a name that has an exchange keeps it."""
    if ":" in name:
        return name
    exchange = "BSE" if name in _BSE_INDICES else "NSE"
    code = _SERIES.sub("", name).replace("&", "").replace("-", "")
    return f"{exchange}:{code}"


def _well_formed(table: Table, text: str) -> str:
    try:
        return str(parse(text))
    except InvalidSymbol as error:
        table.refuse(f"{text!r} is no symbol ({error.reason}): give it with --symbol")


def _timeframe(table: Table, times: NDArray[np.int64], *, given: str | None) -> str:
    if given is None:
        told = timeframe_of(times)
        if told is None:
            table.refuse("the steps between its bars tell no timeframe: give it with --timeframe")
        return told
    if given not in TIMEFRAMES:
        table.refuse(f"timeframe {given!r} is none of {', '.join(TIMEFRAMES)}")
    why = contradiction(times, given)
    if why is not None:
        table.refuse(why)
    return given
