"""What indicators at a row of a stream are computed over (engine rule 11): bars of the store before
the stream's stretch began, and from there on those that its rows used. Candles of longer timeframes
are those that are stored of earlier days, and of the day itself what its bars make.

A window serves the rows of one day. It is kept in memory from row to row, or made anew from what is
stored: both are the same to the last bit, unless something was loaded of earlier days meanwhile.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from apps.core.times import moment
from apps.engine.candles import (
    DAY,
    IST,
    WARMUP_BARS,
    Candles,
    frozen,
    resample,
    start_of_block,
)
from apps.engine.indicators.longer import Longer, longer_of
from apps.engine.sessions import Sessions
from apps.market import intraday_buffer, store
from apps.market.adjustment import UNADJUSTED, Adjustment
from apps.market.candle_chunks import join
from apps.market.dates import day_in_india, day_number
from apps.market.history import ratio_change_of
from apps.market.models import CandleChunk, CorporateAction
from apps.trading.bar_rows import PRICES, BarSnapshot, unpacked, visible_bars
from apps.trading.models import BarRow, BarStream

_ROWS_FIRST: Final = 3 * WARMUP_BARS
"""Rows read for a window; more, if a symbol was missing in many of them."""


class Used(NamedTuple):
    """Rows as they were used: `time` i8[n], `bars` f8[n, symbols, 5]."""

    time: NDArray[np.int64]
    bars: NDArray[np.float64]

    def of(self, symbol: int) -> Candles:
        there = ~np.isnan(self.bars[:, symbol, 0])
        columns = self.bars[there, symbol].T
        return Candles(frozen(self.time[there]), *(frozen(column) for column in columns))


Source = Callable[[int, str], Candles]
"""By a symbol's index and a longer timeframe: candles of the days before the window's."""


class IndicatorWindow:
    """The bars of a stream's symbols up to its last row, of each in order and in the terms of the
    window's day. Those from the moment `today` on make the last candles of longer timeframes.
    """

    def __init__(
        self, timeframe: str, tapes: Sequence[Candles], *, today: int, stored: Source
    ) -> None:
        self._timeframe, self._tapes, self._today = timeframe, list(tapes), today
        self._source = stored
        self._stored: dict[tuple[int, str], Candles] = {}

    def add(self, row: BarSnapshot) -> None:
        """The next row; from here on it is the last one."""
        begins = start_of_block(row.time, self._timeframe)
        for s in filter(row.has, range(len(self._tapes))):
            self._tapes[s] = _trimmed(_extended(self._tapes[s], row.time, row.bars[s]), begins)

    def bars(self, symbol: int) -> Candles:
        """Those that rule 11 reads, the last row's at the end."""
        return self._tapes[symbol]

    def longer(
        self, symbol: int, names: Sequence[str], calendar: Sessions, *, closes: int
    ) -> Mapping[str, Longer]:
        """Candles of longer timeframes that are finished by the moment `closes`, as they are seen
        at the symbol's bars.
        """
        bars, found = self._tapes[symbol], {}
        today = bars.between(self._today, closes)
        for name in names:
            made = resample(today, self._timeframe, name, calendar, until=closes)
            whole = join([self._stored_of(symbol, name), made])
            found[name] = longer_of(bars, self._timeframe, whole, name, calendar)
        return found

    def _stored_of(self, symbol: int, name: str) -> Candles:
        if (symbol, name) not in self._stored:
            self._stored[symbol, name] = self._source(symbol, name)
        return self._stored[symbol, name]


def build_indicator_window(
    stream: BarStream, calendars: Sequence[Sessions], *, began: int, before: int
) -> IndicatorWindow:
    """As the rows before the moment `before` have left it, from what is stored, for the rows of
    that day. The stretch begins at `began`; `calendars` are those of the symbols.
    """
    reader = _Reader(stream, calendars, began, before, _terms(stream, day_in_india(before)))
    used = reader.used_before()
    return IndicatorWindow(
        stream.timeframe,
        [reader.tape(symbol, used) for symbol in range(len(stream.symbols))],
        today=_first_moment(before, weekly=False),
        stored=reader.longer,
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """What is stored of a stream before a moment, of each symbol in its `terms`."""

    stream: BarStream
    calendars: Sequence[Sessions]
    began: int
    before: int
    terms: Sequence[Adjustment]

    @property
    def begins(self) -> int:
        """The first moment of the block to come."""
        return start_of_block(self.before, self.stream.timeframe)

    def used_before(self) -> Used:
        """Rows of the stretch: enough for every symbol's bars before the block, and those of the
        block.
        """
        before = self.stream.rows.filter(time__gte=self.began, time__lt=self.before)
        inside = before.filter(time__gte=self.begins).count()
        most = inside + _ROWS_FIRST
        used = self._unpacked(before, most)
        earlier = used.bars[: len(used.time) - inside, :, 0]
        enough = (~np.isnan(earlier)).sum(axis=0) >= WARMUP_BARS
        return used if len(used.time) < most or enough.all() else self._unpacked(before)

    def tape(self, symbol: int, used: Used) -> Candles:
        stored = self._read(symbol, self.stream.timeframe, start=self.began, end=self.began)
        terms = UNADJUSTED if self._came_adjusted(symbol) else self.terms[symbol]
        bars = join([stored, terms.apply(used.of(symbol))])
        return _trimmed(self._visible(symbol, self.stream.timeframe, bars), self.begins)

    def _came_adjusted(self, symbol: int) -> bool:
        """Whether rows may have had prices that their source had adjusted, as is stored of the bars
        that theirs are made from.
        """
        if not len(self.terms[symbol].days):
            return False
        blocks = CandleChunk.objects.filter(symbol=self.stream.symbols[symbol], adjusted=True)
        sources = intraday_buffer.sources_of(self.stream.timeframe)
        return blocks.filter(timeframe__in=sources, last_time__gte=moment(self.began)).exists()

    def longer(self, symbol: int, name: str) -> Candles:
        """Up to the day, or week, of the moment: those that are stored, and of what has none those
        that shorter ones make (rule 17), also from other bars than the rows had.
        """
        end = _first_moment(self.before, weekly=name == "1w")
        first = min(start_of_block(self.begins, name), end)
        return self._visible(symbol, name, self._read(symbol, name, start=first, end=end))

    def _visible(self, symbol: int, timeframe: str, bars: Candles) -> Candles:
        return visible_bars(self.stream, bars, timeframe, self.calendars[symbol])

    def _read(self, symbol: int, timeframe: str, *, start: int, end: int) -> Candles:
        """With what rule 11 reads before it, as one sees it who trades at `end`."""
        return store.read(
            self.stream.symbols[symbol],
            timeframe,
            start=start,
            end=end,
            warmup=True,
            until=end,
            adjustment=self.terms[symbol],
        )

    def _unpacked(self, rows: QuerySet[BarRow], most: int | None = None) -> Used:
        """The newest of them."""
        newest = list(rows.order_by("-time").values_list("time", "bars")[:most])[::-1]
        count = len(self.stream.symbols)
        bars = unpacked(b"".join(data for _, data in newest), len(newest) * count)
        shaped = bars.reshape(len(newest), count, len(PRICES))
        return Used(np.array([time for time, _ in newest], np.int64), shaped)


def _terms(stream: BarStream, day: date) -> list[Adjustment]:
    """Of each symbol by its splits and bonuses up to the day."""
    changes = defaultdict(list)
    for action in CorporateAction.objects.filter(symbol__in=stream.symbols, ex_date__lte=day):
        changes[action.symbol].append(ratio_change_of(action))
    return [Adjustment.to(day_number(day), changes[symbol]) for symbol in stream.symbols]


def _trimmed(bars: Candles, begins: int) -> Candles:
    """The block that begins then, and WARMUP_BARS before it."""
    first = int(np.searchsorted(bars.time, begins)) - WARMUP_BARS
    return bars.slice(first, len(bars)) if first > 0 else bars


def _first_moment(time: int, *, weekly: bool) -> int:
    """Midnight in Asia/Kolkata of the day, or of its Monday."""
    day = (time + IST) // DAY
    if weekly:
        day -= (day + 3) % 7  # 1970-01-01 was a Thursday
    return day * DAY - IST


def _extended(bars: Candles, time: int, bar: NDArray[np.float64]) -> Candles:
    columns = zip(PRICES, bar.tolist(), strict=True)
    return Candles(
        frozen(np.append(bars.time, time)),
        *(frozen(np.append(getattr(bars, name), value)) for name, value in columns),
    )
