"""How many bars are held at least, told by the catalogue of blocks without reading one."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.engine.candles import TIMEFRAMES, WARMUP_BARS, day_start
from apps.market import candle_chunks
from apps.market.dates import midnight
from apps.market.models import CandleChunk

_MINUTE: Final = 60
_UNFINISHED: Final = 2
"""Most bars that making longer ones leaves out at the end: those the data have not finished."""


@dataclass(frozen=True, slots=True)
class BarCountBound:
    """Lower bounds of what `store.count` says: bars `before` a range and `within` it."""

    before: int = 0
    within: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    """One block of the catalogue; `first` and `last` are the starts of its outer bars."""

    timeframe: str
    start: int
    first: int
    last: int
    bars: int
    days: bytes


def lower_bounds(
    symbols: Collection[str], timeframe: str, *, start: int, end: int
) -> Mapping[str, BarCountBound]:
    """By symbol, in one query. Nothing is promised of weeks, which blocks of days do not count."""
    if timeframe == "1w":
        return dict.fromkeys(symbols, BarCountBound())
    rows = _catalogue(symbols, timeframe, end)
    return {symbol: _bound(rows[symbol], timeframe, start, end) for symbol in symbols}


def _catalogue(symbols: Collection[str], timeframe: str, end: int) -> Mapping[str, list[_Row]]:
    sources = [name for name, seconds in TIMEFRAMES.items() if seconds <= TIMEFRAMES[timeframe]]
    held = CandleChunk.objects.filter(symbol__in=list(symbols), timeframe__in=sources).order_by()
    found: dict[str, list[_Row]] = defaultdict(list)
    for symbol, source, day, first, last, bars, days in held.values_list(
        "symbol", "timeframe", "period_start", "first_time", "last_time", "bars", "days"
    ):
        moments = midnight(day), int(first.timestamp()), int(last.timestamp())
        if moments[1] < end:
            found[symbol].append(_Row(source, *moments, bars, bytes(days)))
    return found


def _bound(rows: Sequence[_Row], timeframe: str, start: int, end: int) -> BarCountBound:
    """Only the coarsest timeframe is looked at: whatever day it has, it serves."""
    source = max((row.timeframe for row in rows), key=TIMEFRAMES.__getitem__, default=timeframe)
    coarsest = [row for row in rows if row.timeframe == source]
    before, within = (_held(coarsest, timeframe, *ends) for ends in ((0, start), (start, end)))
    return BarCountBound(min(before, WARMUP_BARS), within)


def _held(rows: Sequence[_Row], timeframe: str, start: int, end: int) -> int:
    """Of a block that lies whole between the moments all bars, of another one for each day."""
    held = sum(
        _bars(row, timeframe)
        if start <= row.first and row.last < end
        else _days_within(row, start, end)
        for row in rows
    )
    is_made = any(row.timeframe != timeframe for row in rows)
    return max(held - _UNFINISHED, 0) if is_made else held


def _bars(row: _Row, timeframe: str) -> int:
    """Made into longer ones, at least one a day, and at least as many as so many minutes fill."""
    if row.timeframe == timeframe:
        return row.bars
    days = int.from_bytes(row.days, "big").bit_count()
    return max(days, row.bars * _MINUTE // TIMEFRAMES[timeframe])


def _days_within(row: _Row, start: int, end: int) -> int:
    """Days with a bar that lie whole in the range."""
    days = candle_chunks.days_from_bits(row.days, row.start)
    begins = day_start(days)
    return int(((begins >= start) & (day_start(days + 1) <= end)).sum())
