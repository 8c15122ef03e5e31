"""Reading history: stored bars, or else bars resampled from a finer timeframe.

The source is chosen for each session day (engine rule 17): the wanted timeframe if the day has
stored bars in it, else the coarsest finer one with bars. Weeks are stored, else made from days.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
from django.db.models import Count, Max, Min, Q, Sum

from apps.core.times import day_number, moment, wire_time
from apps.engine.candles import (
    DAY,
    TIMEFRAME_SECONDS,
    TIMEFRAMES,
    WARMUP_BARS,
    Candles,
    Sessions,
    block_id,
    block_start,
    buckets,
    in_session,
    ist_day,
    start_of_block,
)
from apps.market.candles.adjustment import UNADJUSTED, Adjustment
from apps.market.candles.bar_counts import lower_bounds
from apps.market.candles.bar_history import (
    BarHistory,
    adjusted_history_of,
    history_of,
    last_generated,
    ratio_change_of,
    recent_histories,
)
from apps.market.candles.buffer import SeriesKey, sources_of
from apps.market.candles.chunks import concat
from apps.market.candles.samples import LAST_GENERATED, GeneratedBars, sample_notice
from apps.market.candles.slices import read_again
from apps.market.models import BufferedCandle, CandleChunk, CorporateAction

# Seconds after its end that a bar, or a row of bars, is waited for (engine rule 16).
GRACE_PERIOD: Final = 20

_ALWAYS: Final = 2**62


@dataclass(frozen=True, slots=True)
class AdjustedCandles:
    """Bars, the corporate actions that adjusted any of their prices, and the actions of unknown
    effect.

    `generated_until` is the start of the last generated bar.
    """

    candles: Candles
    actions: tuple[CorporateAction, ...] = ()
    unpriced: tuple[CorporateAction, ...] = ()
    generated_until: int | None = None


@read_again
def read_bars(
    symbol: str,
    timeframe: str,
    *,
    start: int,
    end: int,
    warmup: bool = False,
    until: int = 0,
    adjustment: Adjustment = UNADJUSTED,
) -> Candles:
    """Return the bars with start <= time < end (epoch seconds), as traded or adjusted.

    A resampled bar that ends by `until` is complete, even if its last source bars are missing. With
    `warmup` the result begins with the bars for indicators at `start` (engine rule 11): from the
    beginning of the period of `start`, and before that period enough for WARMUP_BARS in session.
    """
    history = history_of(symbol, timeframe, until=until, adjustment=adjustment)
    return _read(history, timeframe, start, end, warmup=warmup)


def read_closed(symbol: str, timeframe: str, *, start: int, clock: int) -> Candles:
    """Return the result of `read_all_closed` for one series."""
    return read_all_closed({(symbol, timeframe): start}, clock=clock)[symbol, timeframe]


@read_again
def read_all_closed(since: Mapping[SeriesKey, int], *, clock: int) -> Mapping[SeriesKey, Candles]:
    """Return the closed bars at `clock` of each series from a moment on, as a trader sees them
    (engine rule 16), in a few statements for any number of series.

    A bar ends at its nominal end. A resampled bar is complete when its sources reach its end, or
    GRACE_PERIOD seconds later. `clock` is the market's time (`clock.market_time`): during a replay
    the store has later bars that must stay hidden.
    """
    if not since:
        return {}
    histories = recent_histories(since, until=clock - GRACE_PERIOD)
    closed: dict[SeriesKey, Candles] = {}
    for (symbol, timeframe), start in since.items():
        history = histories[symbol, timeframe]
        bars = _read(history, timeframe, start, clock, warmup=False)
        ends = buckets(bars.time, TIMEFRAME_SECONDS[timeframe], history.sessions)[1]
        count = int(np.searchsorted(ends, clock, side="right"))
        closed[symbol, timeframe] = bars.slice(0, count)
    return closed


@read_again
def read_adjusted(
    symbol: str,
    timeframe: str,
    *,
    start: int,
    end: int,
    warmup: bool = True,
    calendar: Sessions | None = None,
) -> AdjustedCandles:
    """Return the result of `read_bars` with all prices adjusted to the last day before `end`.

    `calendar` is the symbol's, if the caller has it. Later corporate actions, and actions of later
    days that are loaded later, do not change the result.
    """
    history, actions = adjusted_history_of(symbol, timeframe, until=end, calendar=calendar)
    return _described(history, _read(history, timeframe, start, end, warmup=warmup), actions)


def _read(history: BarHistory, timeframe: str, start: int, end: int, *, warmup: bool) -> Candles:
    first = start_of_block(start, timeframe)
    periods = [period for period in history.periods if first <= period < end]
    if not warmup:
        return history.bars(periods).between(start, end)
    early = _periods_before(history, first, WARMUP_BARS)
    bars = history.bars([*early, *periods]).between(-_ALWAYS, end)
    begin = min(early, default=first)
    while True:
        time = bars.between(-_ALWAYS, first).time
        inside = np.flatnonzero(in_session(time, timeframe, history.sessions))
        if len(inside) >= WARMUP_BARS:
            return bars.slice(int(inside[-WARMUP_BARS]), len(bars))
        older = _newest(history, begin, WARMUP_BARS - len(inside))
        if not len(older):
            return bars
        bars, begin = concat([older, bars]), int(older.time[0])


def _periods_before(history: BarHistory, stop: int, limit: int) -> list[int]:
    """Return the newest periods before `stop` with `limit` bars, until a count is unknown."""
    periods: list[int] = []
    for period in reversed(history.periods):
        if period < stop and limit > 0:
            bars = history.count_of(period)
            if bars is None:
                break
            periods.append(period)
            limit -= bars
    return periods


def _newest(history: BarHistory, stop: int, limit: int) -> Candles:
    pieces: list[Candles] = []
    for period in reversed(history.periods):
        if period < stop and limit > 0:
            bars = history.bars([period]).between(-_ALWAYS, stop)
            pieces.append(bars.slice(max(0, len(bars) - limit), len(bars)))
            limit -= len(pieces[-1])
    return concat(pieces)


def _described(
    history: BarHistory, candles: Candles, actions: Iterable[CorporateAction] = ()
) -> AdjustedCandles:
    first = int(ist_day(candles.time[:1])[0]) if len(candles) else _ALWAYS
    within = [action for action in actions if day_number(action.ex_date) > first]
    unpriced = [action for action in within if ratio_change_of(action) is None]
    applied = (action for action in within if action not in unpriced)
    generated_until = last_generated(history, candles)
    return AdjustedCandles(candles, tuple(applied), tuple(unpriced), generated_until)


@read_again
def count_bars(symbol: str, timeframe: str, *, start: int, end: int) -> tuple[int, int]:
    """Count the bars that `read_bars` with `warmup` returns before `start`, and those up
    to `end`.
    """
    before = len(read_bars(symbol, timeframe, start=start, end=start, warmup=True))
    history = history_of(symbol, timeframe)
    within, unknown = 0, []
    for period in history.periods:
        stop = _period_after(period, timeframe)
        bars = history.count_of(period) if start <= period and stop <= end else None
        if bars is not None:
            within += bars
        elif period < end and stop > start:
            unknown.append(period)
    return before, within + len(history.bars(unknown).between(start, end))


def insufficient_history(
    symbols: Collection[str], timeframe: str, *, start: int, end: int, within: int, total: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each symbol with too little history, in the given order, and its `count`: fewer than
    `within` bars from `start` to `end`, or fewer than `total` with those before.

    One query for all symbols finds those that clearly have enough; only the others are counted.
    """
    bounds = lower_bounds(symbols, timeframe, start=start, end=end)
    for symbol in symbols:
        bound = bounds[symbol]
        if bound.within >= within and bound.before + bound.within >= total:
            continue
        before, inside = count_bars(symbol, timeframe, start=start, end=end)
        if inside < within or before + inside < total:
            yield symbol, (before, inside)


def count_days(symbols: Iterable[str], timeframe: str, *, start: int, end: int, most: int) -> int:
    """Count the dates from `start` to `end` with a bar of any symbol, up to `most`.

    Symbols are read only until that many dates are known.
    """
    bars_a_day = -(-DAY // TIMEFRAMES[timeframe])
    days: set[int] = set()
    for symbol in symbols:
        if len(days) >= most:
            break
        page = read_page(symbol, timeframe, start=start, end=end, limit=most * bars_a_day)
        days.update(page.candles.days.tolist())
    return min(len(days), most)


@read_again
def read_page(
    symbol: str,
    timeframe: str,
    *,
    start: int | None,
    end: int | None,
    limit: int,
    adjusted: bool = False,
) -> AdjustedCandles:
    """Return the first `limit` bars from `start` on or, without `start`, the last `limit`, before
    `end`.

    If `adjusted`, all prices are adjusted to the newest stored day, so that pages fit together.
    """
    history, actions = history_of(symbol, timeframe), list[CorporateAction]()
    if adjusted:
        history, actions = adjusted_history_of(symbol, timeframe, until=_ALWAYS)
    return _described(history, _page(history, timeframe, start, end, limit), actions)


def read_whole(
    symbol: str, timeframe: str, *, start: int | None, end: int | None, adjusted: bool
) -> Iterator[AdjustedCandles]:
    """Yield the bars of a range by the periods in which they are stored, adjusted as those of
    `read_page`.
    """
    history = history_of(symbol, timeframe)
    if adjusted:
        history, _ = adjusted_history_of(symbol, timeframe, until=_ALWAYS)
    first, stop = -_ALWAYS if start is None else start, _ALWAYS if end is None else end
    for period in history.periods:
        if period < stop and _period_after(period, timeframe) > first:
            bars = history.bars([period]).between(first, stop)
            if len(bars):
                yield _described(history, bars)


def _page(
    history: BarHistory, timeframe: str, start: int | None, end: int | None, limit: int
) -> Candles:
    stop = _ALWAYS if end is None else end
    if start is None:
        return _newest(history, stop, limit)
    pieces: list[Candles] = []
    for period in history.periods:
        if period < stop and _period_after(period, timeframe) > start and limit > 0:
            bars = history.bars([period]).between(start, stop).slice(0, limit)
            pieces.append(bars)
            limit -= len(bars)
    return concat(pieces)


def stored_timeframes(symbol: str) -> Sequence[Mapping[str, object]]:
    """Return the stored timeframes with `timeframe`, `first`, `last` (start of a bar), `bars`.

    `synthetic: True` and `generated_until` (start of a bar) are present only for generated bars,
    `adjusted: True` only for prices that their source adjusted.
    """
    return stored_timeframes_of([symbol])[symbol]


def stored_timeframes_of(
    symbols: Collection[str],
) -> Mapping[str, Sequence[Mapping[str, object]]]:
    """Return the result of `stored_timeframes` keyed by symbol, in two statements for any number of
    symbols.
    """
    spans: dict[SeriesKey, _Span] = {}
    chunks = CandleChunk.objects.filter(symbol__in=symbols).order_by()
    last_generated = Max(LAST_GENERATED, filter=Q(synthetic=True))
    for symbol, *totals in chunks.values_list("symbol", "timeframe", "adjusted").annotate(
        Min("first_time"), Max("last_time"), Sum("bars"), last_generated=last_generated
    ):
        spans[symbol, totals[0]] = _Span(*totals)
    buffered = BufferedCandle.objects.filter(symbol__in=symbols).order_by()
    for symbol, timeframe, first, last, bars in buffered.values_list(
        "symbol", "timeframe"
    ).annotate(Min("time"), Max("time"), Count("pk")):
        span = _Span(timeframe, False, moment(first), moment(last), bars)
        chunked = spans.get((symbol, timeframe))
        spans[symbol, timeframe] = span if chunked is None else chunked.with_buffered(span)
    rows: dict[str, list[_Span]] = {symbol: [] for symbol in symbols}
    for (symbol, _), span in spans.items():
        rows[symbol].append(span)
    return {
        symbol: [row.to_wire() for row in sorted(held, key=lambda row: TIMEFRAMES[row.timeframe])]
        for symbol, held in rows.items()
    }


@dataclass(frozen=True, slots=True)
class _Span:
    """The stored bars of one timeframe; a symbol has one kind of prices in it."""

    timeframe: str
    adjusted: bool
    first: datetime
    last: datetime
    bars: int
    generated_until: datetime | None = None

    def with_buffered(self, other: "_Span") -> "_Span":
        first, last = min(self.first, other.first), max(self.last, other.last)
        return replace(self, first=first, last=last, bars=self.bars + other.bars)

    def to_wire(self) -> Mapping[str, object]:
        row: dict[str, object] = {
            "timeframe": self.timeframe,
            "first": wire_time(self.first),
            "last": wire_time(self.last),
            "bars": self.bars,
        }
        if self.generated_until is not None:
            row |= {"synthetic": True, "generated_until": wire_time(self.generated_until)}
        return row | ({"adjusted": True} if self.adjusted else {})


@read_again
def sample_notice_of(symbols: Iterable[str], timeframe: str | None) -> str:
    """Return the notice on the bars that serve this timeframe now, empty if none is generated.

    Real bars of another timeframe may serve it instead of generated ones.
    """
    if timeframe not in TIMEFRAMES:
        return ""
    chunks = CandleChunk.objects.filter(symbol__in=list(symbols), synthetic=True)
    generated = []
    for symbol in chunks.order_by("symbol").values_list("symbol", flat=True).distinct():
        history = history_of(symbol, timeframe)
        until = max((part.last_moment for part in history.generated), default=None)
        if until is not None and len(newest := _newest(history, _ALWAYS, 1)):
            last = int(newest.time[0])
            generated.append(GeneratedBars(symbol, moment(min(until, last)), last <= until))
    return sample_notice(generated)


def _period_after(start: int, timeframe: str) -> int:
    period = int(block_id(np.array([start], dtype=np.int64), timeframe)[0])
    return block_start(period + 1, timeframe)


def are_candles_stored() -> bool:
    """Return whether candle chunks of any symbol are stored."""
    return CandleChunk.objects.exists()


def has_adjusted_sources(symbol: str, timeframe: str, *, since: datetime) -> bool:
    """Return whether any chunk for this timeframe, with bars since then, has prices adjusted by its
    source.
    """
    chunks = CandleChunk.objects.filter(symbol=symbol, adjusted=True, last_time__gte=since)
    return chunks.filter(timeframe__in=sources_of(timeframe)).exists()
