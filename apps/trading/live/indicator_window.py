"""Indicator windows: the bars that indicators at a row of a stream are computed over (engine rule
11).

These are stored bars before the stream's segment began, and the bars of its rows since then.
Candles of longer timeframes are the stored ones of earlier days, and those made of the day's own
bars.

A window serves the rows of one day. It is kept in memory from row to row, or rebuilt from stored
data. Both are equal to the last bit, unless bars of earlier days were loaded meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from apps.core.times import day_in_india, day_number, moment
from apps.engine.candles import DAY, IST, WARMUP_BARS, Candles, Sessions, resample, start_of_block
from apps.engine.language import AlignedCandles, CandleSource
from apps.engine.live import BarSnapshot
from apps.market.candles import (
    UNADJUSTED,
    Adjustment,
    concat,
    has_adjusted_sources,
    ratio_changes,
    read_bars,
)
from apps.trading.models import BarRow, BarStream
from apps.trading.runs.bar_rows import unpack_bars, visible_bars

# Rows read for a window at first; all are read if a symbol was missing in many of these.
_ROWS_FIRST: Final = 3 * WARMUP_BARS


class UsedRows(NamedTuple):
    """Rows as they were used: `time` i8[n], `bars` f8[n, symbols, 5]."""

    time: NDArray[np.int64]
    bars: NDArray[np.float64]

    def of(self, symbol: int) -> Candles:
        with_bar = ~np.isnan(self.bars[:, symbol, 0])
        columns = self.bars[with_bar, symbol].T
        return Candles.unchecked(self.time[with_bar], columns)


# Reads candles of the days before the window's, by a symbol's index and a longer timeframe.
ReadLonger = Callable[[int, str], Candles]


class IndicatorWindow:
    """The bars of a stream's symbols up to its last row, adjusted to the window's day.

    Bars since `today` make the last candles of longer timeframes; `stored` reads the earlier ones.
    """

    def __init__(
        self, timeframe: str, series: Sequence[Candles], *, today: int, stored: ReadLonger
    ) -> None:
        self._timeframe, self._series, self._today = timeframe, list(series), today
        self._read_longer = stored
        self._stored: dict[tuple[int, str], Candles] = {}

    def add(self, row: BarSnapshot) -> None:
        """Add the next row, which becomes the last one."""
        start = start_of_block(row.time, self._timeframe)
        for s in filter(row.has, range(len(self._series))):
            self._series[s] = _trimmed(_extended(self._series[s], row.time, row.bars[s]), start)

    def bars(self, symbol: int) -> Candles:
        """Return the bars for rule 11, ending with the last row's."""
        return self._series[symbol]

    def longer(
        self, symbol: int, names: Sequence[str], calendar: Sessions, *, closes: int
    ) -> Mapping[CandleSource, AlignedCandles]:
        """Return the candles of longer timeframes that are complete at `closes`, aligned to the
        symbol's bars.
        """
        bars, aligned = self._series[symbol], {}
        today = bars.between(self._today, closes)
        for name in names:
            resampled = resample(today, self._timeframe, name, calendar, until=closes)
            whole = concat([self._stored_of(symbol, name), resampled])
            source = CandleSource(timeframe=name)
            aligned[source] = AlignedCandles.of(bars, self._timeframe, whole, name, calendar)
        return aligned

    def days(self, symbol: int) -> Candles:
        """Return the daily candles of earlier days."""
        return self._stored_of(symbol, "1d")

    def _stored_of(self, symbol: int, name: str) -> Candles:
        if (symbol, name) not in self._stored:
            self._stored[symbol, name] = self._read_longer(symbol, name)
        return self._stored[symbol, name]


def build_indicator_window(
    stream: BarStream, calendars: Sequence[Sessions], *, segment_start: int, before: int
) -> IndicatorWindow:
    """Build the window for the day of the moment `before`, after the rows before it.

    The segment begins at `segment_start`; `calendars` are those of the symbols.
    """
    reader = _Reader(stream, calendars, segment_start, before, _terms(stream, day_in_india(before)))
    used = reader.used_before()
    return IndicatorWindow(
        stream.timeframe,
        [reader.series(symbol, used) for symbol in range(len(stream.symbols))],
        today=_first_moment(before, weekly=False),
        stored=reader.longer,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the stored data of a stream before a moment, each symbol adjusted by its `terms`."""

    stream: BarStream
    calendars: Sequence[Sessions]
    segment_start: int
    before: int
    terms: Sequence[Adjustment]

    @property
    def chunk_start(self) -> int:
        """The start of the chunk that contains the moment: the chunk is read from its start."""
        return start_of_block(self.before, self.stream.timeframe)

    def used_before(self) -> UsedRows:
        """Read the segment's rows in the chunk, and a sufficient number before it for
        every symbol.
        """
        before = self.stream.rows.filter(time__gte=self.segment_start, time__lt=self.before)
        in_chunk = before.filter(time__gte=self.chunk_start).count()
        most = in_chunk + _ROWS_FIRST
        used = self._read_rows(before, most)
        earlier = used.bars[: len(used.time) - in_chunk, :, 0]
        enough = (~np.isnan(earlier)).sum(axis=0) >= WARMUP_BARS
        return used if len(used.time) < most or enough.all() else self._read_rows(before)

    def series(self, symbol: int, used: UsedRows) -> Candles:
        start, timeframe = self.segment_start, self.stream.timeframe
        stored = self._read(symbol, timeframe, start=start, end=start)
        terms = UNADJUSTED if self._may_be_adjusted(symbol) else self.terms[symbol]
        bars = concat([stored, terms.apply(used.of(symbol))])
        return _trimmed(self._visible(symbol, timeframe, bars), self.chunk_start)

    def _may_be_adjusted(self, symbol: int) -> bool:
        """Return whether the source of the rows' bars may have adjusted their prices already."""
        if not len(self.terms[symbol].days):
            return False
        return has_adjusted_sources(
            self.stream.symbols[symbol], self.stream.timeframe, since=moment(self.segment_start)
        )

    def longer(self, symbol: int, name: str) -> Candles:
        """Read longer candles up to the day, or week, of the moment.

        If none are stored, they are made of shorter ones (rule 17), even of bars that were in no
        row.
        """
        end = _first_moment(self.before, weekly=name == "1w")
        first = min(start_of_block(self.chunk_start, name), end)
        return self._visible(symbol, name, self._read(symbol, name, start=first, end=end))

    def _visible(self, symbol: int, timeframe: str, bars: Candles) -> Candles:
        return visible_bars(self.stream, bars, timeframe, self.calendars[symbol])

    def _read(self, symbol: int, timeframe: str, *, start: int, end: int) -> Candles:
        """Read candles with their warm-up (rule 11), as they were known at `end`."""
        return read_bars(
            self.stream.symbols[symbol],
            timeframe,
            start=start,
            end=end,
            warmup=True,
            until=end,
            adjustment=self.terms[symbol],
        )

    def _read_rows(self, rows: QuerySet[BarRow], most: int | None = None) -> UsedRows:
        """Read the newest of the rows."""
        newest = list(rows.order_by("-time").values_list("time", "bars")[:most])[::-1]
        count = len(self.stream.symbols)
        bars = unpack_bars(b"".join(data for _, data in newest), len(newest) * count)
        shaped = bars.reshape(len(newest), count, len(Candles.NUMBERS))
        return UsedRows(np.array([time for time, _ in newest], np.int64), shaped)


def _terms(stream: BarStream, day: date) -> list[Adjustment]:
    """Return the adjustment of each symbol by its splits and bonuses up to the day."""
    changes = ratio_changes(stream.symbols, until=day)
    return [Adjustment.to(day_number(day), changes.get(symbol, ())) for symbol in stream.symbols]


def _trimmed(bars: Candles, start: int) -> Candles:
    """Return the bars from the start of a chunk on, and WARMUP_BARS before it."""
    first = int(np.searchsorted(bars.time, start)) - WARMUP_BARS
    return bars.slice(first, len(bars)) if first > 0 else bars


def _first_moment(time: int, *, weekly: bool) -> int:
    """Return midnight in Asia/Kolkata of the day, or of its Monday."""
    day = (time + IST) // DAY
    if weekly:
        day -= (day + 3) % 7  # 1970-01-01 was a Thursday
    return day * DAY - IST


def _extended(bars: Candles, time: int, bar: NDArray[np.float64]) -> Candles:
    columns = zip(Candles.NUMBERS, bar.tolist(), strict=True)
    return Candles.unchecked(
        np.append(bars.time, time),
        (np.append(getattr(bars, name), value) for name, value in columns),
    )
