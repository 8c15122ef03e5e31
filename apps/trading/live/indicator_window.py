"""Indicator windows: the bars that indicators at a row of a stream are computed over (engine rule
11).

These are stored bars before the stream's segment began, and the bars of its rows since then, of the
traded symbols and of those that conditions read beside them.
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
    SeriesKey,
    concat,
    has_adjusted_sources,
    ratio_changes,
    read_bars,
)
from apps.trading.models import BarRow, BarStream
from apps.trading.runs.bar_rows import (
    candle_ends,
    has_in_rows,
    unpack_bars,
    unpack_read,
    visible_bars,
)

# Rows read for a window at first; all are read if a symbol was missing in many of these.
_ROWS_FIRST: Final = 3 * WARMUP_BARS


class UsedRows(NamedTuple):
    """Rows as they were used: `time` i8[n], `bars` f8[n, symbols, 5], and the candles of each read
    symbol.
    """

    time: NDArray[np.int64]
    bars: NDArray[np.float64]
    read: tuple[Candles, ...]

    def of(self, symbol: int) -> Candles:
        """Return the candles of a traded symbol or, by the indices after those, of a read one."""
        traded: int = self.bars.shape[1]
        if symbol >= traded:
            return self.read[symbol - traded]
        with_bar = ~np.isnan(self.bars[:, symbol, 0])
        columns = self.bars[with_bar, symbol].T
        return Candles.unchecked(self.time[with_bar], columns)


# Reads candles of the days before the window's, by a symbol's index and a longer timeframe.
ReadLonger = Callable[[int, str], Candles]


class WindowSeries(NamedTuple):
    """The candles of a symbol in a window, up to those of its last row."""

    symbol: str
    timeframe: str
    calendar: Sessions
    candles: Candles

    def extended(self, candles: Candles, start: int) -> "WindowSeries":
        """Return the series with later candles, from its block on that has the moment `start`."""
        parts = self.candles, candles
        whole = Candles.unchecked(
            np.concatenate([part.time for part in parts]),
            (np.concatenate([getattr(part, name) for part in parts]) for name in Candles.NUMBERS),
        )
        return self._replace(candles=_trimmed(whole, start_of_block(start, self.timeframe)))


class IndicatorWindow:
    """The bars of a stream's symbols up to its last row, adjusted to the window's day.

    `series` are those of the traded symbols, then those of the read ones. Bars since `today` make
    the last candles of longer timeframes; `stored` reads the earlier ones.
    """

    def __init__(
        self, timeframe: str, series: Sequence[WindowSeries], *, today: int, stored: ReadLonger
    ) -> None:
        self._timeframe, self._series, self._today = timeframe, list(series), today
        self._read_longer = stored
        self._stored: dict[tuple[int, str], Candles] = {}

    def add(self, row: BarSnapshot) -> None:
        """Add the next row, which becomes the last one."""
        start = start_of_block(row.time, self._timeframe)
        for s in filter(row.has, range(len(row.bars))):
            self._series[s] = self._series[s].extended(_bar(row.time, row.bars[s]), start)
        for s, candles in enumerate(row.read, start=len(row.bars)):
            if len(candles):
                self._series[s] = self._series[s].extended(candles, start)

    def bars(self, symbol: int) -> Candles:
        """Return the bars for rule 11, ending with the last row's."""
        return self._series[symbol].candles

    def aligned(
        self, symbol: int, sources: Sequence[CandleSource], calendar: Sessions, *, closes: int
    ) -> Mapping[CandleSource, AlignedCandles]:
        """Return the candles of longer timeframes and of other symbols that are complete at
        `closes`, aligned to the symbol's bars.
        """
        bars, own, aligned = self.bars(symbol), self._timeframe, {}
        names = [series.symbol for series in self._series]
        for source in sources:
            if source.symbol:
                other, name = names.index(source.symbol), source.timeframe or own
                other_calendar = self._series[other].calendar
                aligned[source] = AlignedCandles.of_other(
                    bars,
                    own,
                    self._in_timeframe(other, name, other_calendar, closes),
                    name,
                    sessions=calendar,
                    other_sessions=other_calendar,
                )
            else:
                longer = self._in_timeframe(symbol, source.timeframe, calendar, closes)
                aligned[source] = AlignedCandles.of(bars, own, longer, source.timeframe, calendar)
        return aligned

    def _in_timeframe(self, symbol: int, name: str, calendar: Sessions, closes: int) -> Candles:
        """Return the candles of a symbol in its own timeframe or a longer one."""
        series = self._series[symbol]
        if name == series.timeframe:
            return series.candles
        today = series.candles.between(self._today, closes)
        resampled = resample(today, series.timeframe, name, calendar, until=closes)
        return concat([self._stored_of(symbol, name), resampled])

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

    The segment begins at `segment_start`; `calendars` are those of the traded symbols, then those
    of the read ones.
    """
    series = [*((symbol, stream.timeframe) for symbol in stream.symbols), *stream.read_series]
    terms = _terms([symbol for symbol, _ in series], day_in_india(before))
    reader = _Reader(stream, series, calendars, segment_start, before, terms)
    used = reader.used_before()
    return IndicatorWindow(
        stream.timeframe,
        [
            WindowSeries(symbol, timeframe, calendars[index], reader.candles(index, used))
            for index, (symbol, timeframe) in enumerate(series)
        ],
        today=_first_moment(before, weekly=False),
        stored=reader.longer,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the stored data of a stream before a moment, each symbol adjusted by its `terms`.

    `series` are the symbols and timeframes of the window.
    """

    stream: BarStream
    series: Sequence[SeriesKey]
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
        enough = len(used.time) < most or all(
            np.searchsorted(used.of(symbol).time, self._block_of(symbol)) >= WARMUP_BARS
            for symbol, (_, timeframe) in enumerate(self.series)
            if has_in_rows(self.stream.timeframe, timeframe)
        )
        return used if enough else self._read_rows(before)

    def _block_of(self, symbol: int) -> int:
        """Return the start of the chunk of a symbol's own timeframe (rule 11)."""
        return start_of_block(self.chunk_start, self.series[symbol][1])

    def candles(self, symbol: int, used: UsedRows) -> Candles:
        timeframe, begins = self.series[symbol][1], self._block_of(symbol)
        if not has_in_rows(self.stream.timeframe, timeframe):
            return self.longer(symbol, timeframe)
        start = self.segment_start
        stored = self._read(symbol, timeframe, start=min(start, begins), end=start)
        if symbol >= len(self.stream.symbols):
            over = candle_ends(stored, timeframe, self.calendars[symbol]) <= start
            stored = stored.select(over)
        terms = UNADJUSTED if self._may_be_adjusted(symbol) else self.terms[symbol]
        bars = concat([stored, terms.apply(used.of(symbol))])
        return _trimmed(self._visible(symbol, timeframe, bars), begins)

    def _may_be_adjusted(self, symbol: int) -> bool:
        """Return whether the source of the rows' bars may have adjusted their prices already."""
        if not len(self.terms[symbol].days):
            return False
        return has_adjusted_sources(*self.series[symbol], since=moment(self.segment_start))

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
            self.series[symbol][0],
            timeframe,
            start=start,
            end=end,
            warmup=True,
            until=end,
            adjustment=self.terms[symbol],
        )

    def _read_rows(self, rows: QuerySet[BarRow], most: int | None = None) -> UsedRows:
        """Read the newest of the rows."""
        columns = rows.order_by("-time").values_list("time", "bars", "read_candles")
        newest = list(columns[:most])[::-1]
        count = len(self.stream.symbols)
        bars = unpack_bars(b"".join(data for _, data, _ in newest), len(newest) * count)
        return UsedRows(
            np.array([time for time, *_ in newest], np.int64),
            bars.reshape(len(newest), count, len(Candles.NUMBERS)),
            unpack_read((read for *_, read in newest), len(self.stream.read_symbols)),
        )


def _terms(symbols: Sequence[str], day: date) -> list[Adjustment]:
    """Return the adjustment of each symbol by its splits and bonuses up to the day."""
    changes = ratio_changes(symbols, until=day)
    return [Adjustment.to(day_number(day), changes.get(symbol, ())) for symbol in symbols]


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


def _bar(time: int, numbers: NDArray[np.float64]) -> Candles:
    return Candles.unchecked(np.array([time]), numbers[:, np.newaxis])
