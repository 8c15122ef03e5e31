"""Counts of stored bars from the catalogue of chunks, without reading a bar: lower bounds, and an
estimate.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.core.times import midnight
from apps.engine.candles import (
    TIMEFRAME_SECONDS,
    TIMEFRAMES,
    WARMUP_BARS,
    day_start,
    start_of_block,
)
from apps.market.candles.buffer import sources_of
from apps.market.candles.chunks import days_from_bits
from apps.market.models import CandleChunk

_MINUTE: Final = 60
# Most bars at the end that resampling leaves out because their period is not finished.
_UNFINISHED: Final = 2


@dataclass(frozen=True, slots=True)
class BarCountBound:
    """Lower bounds of the result of `reading.count_bars`: bars `before` a range and `within` it."""

    before: int = 0
    within: int = 0


@dataclass(frozen=True, slots=True)
class _CatalogueRow:
    """A chunk of the catalogue; `first` and `last` are the starts of its outer bars."""

    timeframe: str
    start: int
    first: int
    last: int
    bars: int
    days: bytes


def lower_bounds(
    symbols: Collection[str], timeframe: str, *, start: int, end: int
) -> Mapping[str, BarCountBound]:
    """Return the bounds keyed by symbol, in one query.

    Chunks of days cannot count weeks, so the bounds of weeks are 0.
    """
    if timeframe == "1w":
        return dict.fromkeys(symbols, BarCountBound())
    rows = _catalogue(symbols, timeframe, end)
    return {symbol: _bound(rows[symbol], timeframe, start, end) for symbol in symbols}


def estimate_bars(symbols: Collection[str], timeframe: str, *, start: int, end: int) -> int:
    """Estimate the bars of all symbols in a range and in the warm-up before it, in one query.

    A chunk that is partly in the range counts by its days; weeks count 0.
    """
    if timeframe == "1w":
        return 0
    rows = _catalogue(symbols, timeframe, end)
    return sum(_estimate(rows[symbol], timeframe, start, end) for symbol in symbols)


def _catalogue(
    symbols: Collection[str], timeframe: str, end: int
) -> Mapping[str, list[_CatalogueRow]]:
    chunks = CandleChunk.objects.filter(
        symbol__in=list(symbols), timeframe__in=sources_of(timeframe)
    ).order_by()
    rows: dict[str, list[_CatalogueRow]] = defaultdict(list)
    for symbol, source, day, first, last, bars, days in chunks.values_list(
        "symbol", "timeframe", "period_start", "first_time", "last_time", "bars", "days"
    ):
        times = midnight(day), int(first.timestamp()), int(last.timestamp())
        if times[1] < end:
            rows[symbol].append(_CatalogueRow(source, *times, bars, bytes(days)))
    return rows


def _estimate(rows: Sequence[_CatalogueRow], timeframe: str, start: int, end: int) -> int:
    """Estimate the bars read by engine rule 11: those from the block of the start on, and a number
    of bars before it.
    """
    begins, before, within = start_of_block(start, timeframe), 0, 0.0
    for row in _coarsest(rows, timeframe):
        bars, share = _estimated_bars(row, timeframe), 1.0
        if row.last < begins:
            before += bars
        else:
            if row.last >= end:
                share = _days_within(row, begins, end) / _day_count(row)
            within += bars * share
    return min(before, WARMUP_BARS) + round(within)


def _estimated_bars(row: _CatalogueRow, timeframe: str) -> int:
    """Return the approximate number of bars from a chunk."""
    return max(
        _day_count(row), row.bars * TIMEFRAMES[row.timeframe] // TIMEFRAME_SECONDS[timeframe]
    )


def _coarsest(rows: Sequence[_CatalogueRow], timeframe: str) -> list[_CatalogueRow]:
    """Return the rows of the coarsest timeframe, which serves all of its days."""
    source = max((row.timeframe for row in rows), key=TIMEFRAMES.__getitem__, default=timeframe)
    return [row for row in rows if row.timeframe == source]


def _bound(rows: Sequence[_CatalogueRow], timeframe: str, start: int, end: int) -> BarCountBound:
    coarsest = _coarsest(rows, timeframe)
    before = _count(coarsest, timeframe, 0, start)
    return BarCountBound(min(before, WARMUP_BARS), _count(coarsest, timeframe, start, end))


def _count(rows: Sequence[_CatalogueRow], timeframe: str, start: int, end: int) -> int:
    """Count all bars of a chunk that is completely in the range, and one a day of any other."""
    bars = sum(
        _bars(row, timeframe)
        if start <= row.first and row.last < end
        else _days_within(row, start, end)
        for row in rows
    )
    is_resampled = any(row.timeframe != timeframe for row in rows)
    return max(bars - _UNFINISHED, 0) if is_resampled else bars


def _bars(row: _CatalogueRow, timeframe: str) -> int:
    """Return the number of bars from a chunk: at least one a day, and as many as its
    minutes fill.
    """
    if row.timeframe == timeframe:
        return row.bars
    return max(_day_count(row), row.bars * _MINUTE // TIMEFRAME_SECONDS[timeframe])


def _day_count(row: _CatalogueRow) -> int:
    return int.from_bytes(row.days, "big").bit_count()


def _days_within(row: _CatalogueRow, start: int, end: int) -> int:
    """Count the days with a bar that are completely in the range."""
    days = days_from_bits(row.days, row.start)
    return int(((day_start(days) >= start) & (day_start(days + 1) <= end)).sum())
