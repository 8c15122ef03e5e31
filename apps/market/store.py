"""Reading history: stored bars where there are any, else bars resampled from a finer timeframe.

Which it is is decided for each session day (engine rule 17): the wanted timeframe if the day has
stored bars in it, else the coarsest finer one that has. Weeks are stored, else made from days.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
from django.db.models import Max, Min, Sum

from apps.core.times import wire_time
from apps.engine.candles import (
    DAY,
    TIMEFRAMES,
    WARMUP_BARS,
    Candles,
    block_id,
    block_start,
    buckets,
    ist_day,
    ist_days,
    start_of_block,
)
from apps.engine.sessions import in_session
from apps.market import intraday_buffer
from apps.market.adjustment import UNADJUSTED, Adjustment
from apps.market.bar_counts import lower_bounds
from apps.market.candle_chunks import EMPTY, join
from apps.market.history import History, adjusted_history_of, history_of, recent_histories
from apps.market.intraday_buffer import SeriesKey
from apps.market.models import CandleChunk, CorporateAction
from apps.market.rulebook.dates import day_number

GRACE_PERIOD: Final = 20
"""Seconds after its end that a bar, or a row of bars, is waited for (engine rule 16)."""

_ALWAYS: Final = 2**62


@dataclass(frozen=True, slots=True)
class AdjustedCandles:
    """Bars, and the splits and bonuses that the prices of any of them are adjusted for."""

    candles: Candles
    actions: tuple[CorporateAction, ...] = ()


def read(
    symbol: str,
    timeframe: str,
    *,
    start: int,
    end: int,
    warmup: bool = False,
    until: int = 0,
    terms: Adjustment = UNADJUSTED,
) -> Candles:
    """Bars with start <= time < end (epoch seconds), as traded or in these terms; none where
    nothing is held. Those that end by `until` are finished, whatever the last bars are that they
    are made of.

    With `warmup` also the bars that indicators at `start` are computed over (engine rule 11): those
    from the beginning of the block that holds `start`, and before that block as many as hold
    WARMUP_BARS in session.
    """
    history = history_of(symbol, timeframe, until=until, terms=terms)
    return _read(history, timeframe, start, end, warmup=warmup)


def read_closed(symbol: str, timeframe: str, *, start: int, clock: int) -> Candles:
    """`read_all_closed` of one symbol."""
    return read_all_closed({(symbol, timeframe): start}, clock=clock)[symbol, timeframe]


def read_all_closed(since: Mapping[SeriesKey, int], *, clock: int) -> Mapping[SeriesKey, Candles]:
    """Of each series (symbol, timeframe) the bars from a moment on that are over at `clock`, as one
    sees them who trades (engine rule 16); however many there are, it takes a few statements.

    A bar is over at its nominal end. One that is made of shorter ones is there when they reach its
    end, or PATIENCE seconds after it. `clock` is the market's time (`clock.market_time`): while
    history is replayed, more is held than may be seen.
    """
    if not since:
        return {}
    histories = recent_histories(since, until=clock - GRACE_PERIOD)
    return {
        series: _over(histories[series], series[1], start, clock) for series, start in since.items()
    }


def _over(history: History, timeframe: str, start: int, clock: int) -> Candles:
    bars = _read(history, timeframe, start, clock, warmup=False)
    ends = buckets(bars.time, TIMEFRAMES[timeframe], history.sessions)[1]
    return bars.slice(0, int(np.searchsorted(ends, clock, side="right")))


def read_adjusted(
    symbol: str, timeframe: str, *, start: int, end: int, warmup: bool = True
) -> AdjustedCandles:
    """As `read`, all prices in the terms of the last day before `end`.

    What happens to the share later, or is loaded later, does not change them.
    """
    history, actions = adjusted_history_of(symbol, timeframe, until=end)
    return _priced(_read(history, timeframe, start, end, warmup=warmup), actions)


def _priced(candles: Candles, actions: Iterable[CorporateAction]) -> AdjustedCandles:
    first = int(ist_day(candles.time[:1])[0]) if len(candles) else _ALWAYS
    return AdjustedCandles(
        candles, tuple(each for each in actions if day_number(each.ex_date) > first)
    )


def _read(history: History, timeframe: str, start: int, end: int, *, warmup: bool) -> Candles:
    first = start_of_block(start, timeframe)
    wanted = [block for block in history.blocks if first <= block < end]
    if not warmup:
        return history.bars(wanted).between(start, end)
    early = _holding(history, first, WARMUP_BARS)
    bars = history.bars([*early, *wanted]).between(-_ALWAYS, end)
    begin = min(early, default=first)
    while True:
        time = bars.between(-_ALWAYS, first).time
        inside = np.flatnonzero(in_session(time, timeframe, history.sessions))
        if len(inside) >= WARMUP_BARS:
            return bars.slice(int(inside[-WARMUP_BARS]), len(bars))
        older = _newest(history, -_ALWAYS, begin, WARMUP_BARS - len(inside))
        if not len(older):
            return bars
        bars, begin = join([older, bars]), int(older.time[0])


def count(symbol: str, timeframe: str, *, start: int, end: int) -> tuple[int, int]:
    """How many bars `read` with `warmup` gives before `start`, and from `start` to `end`."""
    before = len(read(symbol, timeframe, start=start, end=start, warmup=True))
    history = history_of(symbol, timeframe)
    within, unknown = 0, []
    for block in history.blocks:
        stop = _block_after(block, timeframe)
        known = history.count_of(block) if start <= block and stop <= end else None
        if known is not None:
            within += known
        elif block < end and stop > start:
            unknown.append(block)
    return before, within + len(history.bars(unknown).between(start, end))


def insufficient_history(
    symbols: Collection[str], timeframe: str, *, start: int, end: int, within: int, total: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each symbol, in the given order, that has too little history, and its `count`.

    Too little is fewer than `within` bars from `start` to `end`, or fewer than `total` with those
    before. One query for all symbols tells those that clearly have enough; only the others are
    counted.
    """
    least = lower_bounds(symbols, timeframe, start=start, end=end)
    for symbol in symbols:
        bound = least[symbol]
        if bound.within >= within and bound.before + bound.within >= total:
            continue
        before, inside = count(symbol, timeframe, start=start, end=end)
        if inside < within or before + inside < total:
            yield symbol, (before, inside)


def count_days(symbols: Iterable[str], timeframe: str, *, start: int, end: int, most: int) -> int:
    """On how many dates from `start` to `end` any symbol has a bar; beyond `most` none is counted.

    A symbol is read only until as many dates are known.
    """
    a_day = -(-DAY // TIMEFRAMES[timeframe])
    days: set[int] = set()
    for symbol in symbols:
        if len(days) >= most:
            break
        bars = read_page(symbol, timeframe, start=start, end=end, limit=most * a_day).candles
        days.update(ist_days(bars.time).tolist())
    return min(len(days), most)


def read_page(
    symbol: str,
    timeframe: str,
    *,
    start: int | None,
    end: int | None,
    limit: int,
    adjusted: bool = False,
) -> AdjustedCandles:
    """The first `limit` bars from `start` on, or without `start` the last `limit`, before `end`.

    If `adjusted`, all prices are in the terms of the newest day that is held, so that pages fit
    together.
    """
    if not adjusted:
        return AdjustedCandles(_page(history_of(symbol, timeframe), timeframe, start, end, limit))
    history, actions = adjusted_history_of(symbol, timeframe, until=_ALWAYS)
    return _priced(_page(history, timeframe, start, end, limit), actions)


def _page(
    history: History, timeframe: str, start: int | None, end: int | None, limit: int
) -> Candles:
    stop = _ALWAYS if end is None else end
    if start is None:
        return _newest(history, -_ALWAYS, stop, limit)
    kept: list[Candles] = []
    for block in history.blocks:
        if block < stop and _block_after(block, timeframe) > start and limit > 0:
            kept.append(history.bars([block]).between(start, stop))
            kept[-1] = kept[-1].slice(0, limit)
            limit -= len(kept[-1])
    return join(kept)


def stored_timeframes(symbol: str) -> Sequence[Mapping[str, object]]:
    """What is stored, by timeframe: `timeframe`, `first`, `last` (start of a bar), `bars`.

    `synthetic: True` stands only on bars that were generated, `adjusted: True` only on prices that
    their source had adjusted.
    """
    came_in = dict(intraday_buffer.read(symbol, list(TIMEFRAMES)))
    stored = CandleChunk.objects.filter(symbol=symbol).order_by()
    found = stored.values_list("timeframe", "synthetic", "adjusted").annotate(
        Min("first_time"), Max("last_time"), Sum("bars")
    )
    spans = [_Span(*row).with_live(came_in.pop(row[0], EMPTY)) for row in found]
    spans += [_Span.of_live(timeframe, bars) for timeframe, bars in came_in.items()]
    return [span.row() for span in sorted(spans, key=lambda span: TIMEFRAMES[span.timeframe])]


@dataclass(frozen=True, slots=True)
class _Span:
    """What is held of one timeframe; a symbol has one kind of bars in it."""

    timeframe: str
    synthetic: bool
    adjusted: bool
    first: datetime
    last: datetime
    bars: int

    @classmethod
    def of_live(cls, timeframe: str, bars: Candles) -> "_Span":
        first, last = (datetime.fromtimestamp(time, tz=UTC) for time in bars.time[[0, -1]].tolist())
        return cls(
            timeframe, synthetic=False, adjusted=False, first=first, last=last, bars=len(bars)
        )

    def with_live(self, bars: Candles) -> "_Span":
        if not len(bars):
            return self
        other = _Span.of_live(self.timeframe, bars)
        first, last = min(self.first, other.first), max(self.last, other.last)
        return replace(self, first=first, last=last, bars=self.bars + other.bars)

    def row(self) -> Mapping[str, object]:
        row: dict[str, object] = {
            "timeframe": self.timeframe,
            "first": wire_time(self.first),
            "last": wire_time(self.last),
            "bars": self.bars,
        }
        marks = {"synthetic": self.synthetic, "adjusted": self.adjusted}
        return row | {name: True for name, holds in marks.items() if holds}


def synthetic_symbols(symbols: Iterable[str]) -> list[str]:
    """Those of the symbols whose bars are a generated sample, in order of name."""
    found = CandleChunk.objects.filter(symbol__in=list(symbols), synthetic=True)
    return list(found.order_by("symbol").values_list("symbol", flat=True).distinct())


def _holding(history: History, stop: int, limit: int) -> list[int]:
    """The newest blocks before `stop` that hold `limit` bars, as far as their number is known."""
    found: list[int] = []
    for block in reversed(history.blocks):
        if block < stop and limit > 0:
            held = history.count_of(block)
            if held is None:
                break
            found.append(block)
            limit -= held
    return found


def _newest(history: History, start: int, stop: int, limit: int) -> Candles:
    kept: list[Candles] = []
    for block in reversed(history.blocks):
        if block < stop and limit > 0:
            bars = history.bars([block]).between(start, stop)
            kept.append(bars.slice(max(0, len(bars) - limit), len(bars)))
            limit -= len(kept[-1])
    return join(kept)


def _block_after(start: int, timeframe: str) -> int:
    return block_start(_block_id(start, timeframe) + 1, timeframe)


def _block_id(time: int, timeframe: str) -> int:
    return int(block_id(np.array([time], dtype=np.int64), timeframe)[0])
