"""The history of one symbol in one timeframe, assembled from stored chunks."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, Protocol

import numpy as np
from django.db.models import Max
from numpy.typing import NDArray

from apps.core.times import day_number
from apps.engine.candles import (
    DAY,
    IST,
    TIMEFRAMES,
    Candles,
    Sessions,
    block_id,
    block_start,
    day_start,
    ist_day,
    resample,
)
from apps.market.candles import buffer
from apps.market.candles.adjustment import UNADJUSTED, Adjustment, RatioChange
from apps.market.candles.buffer import SeriesKey
from apps.market.candles.chunks import concat, decode, overlay
from apps.market.candles.slices import (
    ChunkSlice,
    Days,
    read_again,
    read_data,
    slices_of,
    slices_since,
)
from apps.market.models import CandleChunk, CorporateAction
from apps.market.rulebook.calendars import calendar_of, calendars_of

_WEEK: Final = TIMEFRAMES["1w"]


class GeneratedDays(NamedTuple):
    """Bars that start on these days and not after the moment `until` are generated."""

    days: Days
    until: int

    @classmethod
    def up_to(cls, until: int, days: Days) -> "GeneratedDays":
        """Return the days on which a bar can start by then."""
        return cls(days[days <= (until + IST) // DAY], until)

    @property
    def last_moment(self) -> int:
        """The last moment at which a generated bar may start."""
        return min(self.until, (int(self.days[-1]) + 1) * DAY - IST - 1)


class BarHistory(Protocol):
    """Bars by period of engine rule 11; the first moment of a period names it (epoch seconds)."""

    @property
    def sessions(self) -> Sessions:
        """The calendar for reading the history."""

    @property
    def periods(self) -> Sequence[int]:
        """The periods that may have bars, oldest first."""

    def bars(self, periods: Collection[int]) -> Candles:
        """Read the bars that start in any of these periods, in one query."""

    def count_of(self, period: int) -> int | None:
        """Return the number of bars of a period, None if only reading it can tell."""

    @property
    def generated(self) -> Sequence[GeneratedDays]:
        """The days with generated bars."""


def history_of(
    symbol: str, timeframe: str, *, until: int = 0, adjustment: Adjustment = UNADJUSTED
) -> BarHistory:
    """Return the history as stored now, with prices as traded or adjusted.

    A longer bar that ends by `until` (epoch seconds) is complete, even if its last source bars are
    missing.
    """
    plan = _read_plan(symbol, timeframe, until)
    return _build(adjustment, calendar_of(symbol), timeframe, plan)


@read_again
def read_stored(symbol: str, timeframe: str, *, start: int, end: int) -> Candles:
    """Return the stored bars of exactly this timeframe, on one day in `start` to `end`, as
    traded.
    """
    day = ist_day(np.array([start]))[0]
    slices = [piece for piece in slices_of(symbol, [timeframe], 0) if day in piece.days]
    return _decode(slices, read_data(slices)).between(start, end)


def adjusted_history_of(
    symbol: str, timeframe: str, *, until: int, calendar: Sessions | None = None
) -> tuple[BarHistory, list[CorporateAction]]:
    """Return the history adjusted to the last day before `until` (epoch seconds), or to the last
    stored day, and all corporate actions up to that day, including those of unknown effect.
    """
    plan = _read_plan(symbol, timeframe, 0)
    actions = list(CorporateAction.objects.filter(symbol=symbol)) if _any_as_traded(plan) else []
    newest = _newest_day(symbol, until) if actions else 0
    known = [action for action in actions if day_number(action.ex_date) <= newest]
    adjustment = Adjustment.to(newest, filter(None, map(ratio_change_of, known)))
    return _build(adjustment, calendar or calendar_of(symbol), timeframe, plan), known


def last_generated(history: BarHistory, bars: Candles) -> int | None:
    """Return the start of the last of these bars that is generated, None without one."""
    starts = [
        bars.time[(bars.time <= until) & np.isin(ist_day(bars.time), days)]
        for days, until in history.generated
    ]
    return max((int(times[-1]) for times in starts if len(times)), default=None)


def recent_histories(
    since: Mapping[SeriesKey, int], *, until: int
) -> Mapping[SeriesKey, BarHistory]:
    """Return the history of each series from a moment (epoch seconds) on, as `history_of` does, by
    five statements for any number of series.

    A bar contains nothing from before its start, so earlier bars are not read. Only their presence
    on the same day matters, because it decides the timeframe that serves the day.
    """
    slices = slices_since(_sources(since), until)
    calendars = calendars_of({symbol for symbol, _ in since})
    data = read_data(chunk for chunks in slices.values() for chunk in chunks)
    return {
        (symbol, timeframe): _build(
            UNADJUSTED, calendars[symbol], timeframe, _plan(timeframe, slices[symbol]), data
        )
        for symbol, timeframe in since
    }


def _sources(since: Mapping[SeriesKey, int]) -> Mapping[SeriesKey, int]:
    """Return the earliest needed moment of every source of the wanted series."""
    earliest: dict[SeriesKey, int] = {}
    for (symbol, timeframe), start in since.items():
        for source in buffer.sources_of(timeframe):
            earliest[symbol, source] = min(start, earliest.get((symbol, source), start))
    return earliest


def ratio_change_of(action: CorporateAction) -> RatioChange | None:
    """Return the effect of a corporate action on prices and volumes; None if it is unknown.

    Rights are worth the difference to the theoretical ex-rights price, the open that the exchanges
    expect: (close x old shares + issue price x new shares) / all shares.
    """
    day = day_number(action.ex_date)
    ratio = Fraction(action.shares_after, action.shares_before)
    if action.kind in (CorporateAction.Kind.SPLIT, CorporateAction.Kind.BONUS):
        return RatioChange(day, ratio)
    if action.price_factor is not None:
        return RatioChange(day, price_factor=Fraction(action.price_factor))
    close = _close_before(action.symbol, day) if action.issue_price is not None else None
    if close is None or action.issue_price is None:
        return None
    new_shares = ratio - 1
    expected = (close + Fraction(action.issue_price) * new_shares) / ratio
    return RatioChange(day, price_factor=min(expected / close, Fraction(1)))


@read_again
def _close_before(symbol: str, day: int) -> Fraction | None:
    """Return the last close before a day as traded, None without a stored bar."""
    history = history_of(symbol, "1d")
    moment = day * DAY - IST
    for period in reversed([period for period in history.periods if period < moment]):
        bars = history.bars([period]).between(-(2**62), moment)
        if len(bars):
            return Fraction(float(bars.close[-1]))
    return None


# Slices by timeframe, then by period. Weeks have two timeframes: the stored weeks, and the days
# that make the other weeks.
_Plan = Mapping[str, dict[int, list[ChunkSlice]]]


def _read_plan(symbol: str, timeframe: str, until: int) -> _Plan:
    return _plan(timeframe, slices_of(symbol, buffer.sources_of(timeframe), until))


def _plan(timeframe: str, stored: Sequence[ChunkSlice]) -> _Plan:
    if timeframe != "1w":
        return {timeframe: _serve_days(timeframe, stored)}
    weeks = [chunk for chunk in stored if chunk.timeframe == "1w"]
    return {"1w": _by_period("1w", weeks), "1d": _serve_days("1d", stored)}


def _serve_days(timeframe: str, stored: Iterable[ChunkSlice]) -> dict[int, list[ChunkSlice]]:
    """Choose the stored chunk that serves each day: the coarsest timeframe first."""
    by_source: dict[str, list[ChunkSlice]] = defaultdict(list)
    for chunk in stored:
        by_source[chunk.timeframe].append(chunk)
    served = np.empty(0, dtype=np.int32)
    chosen: list[ChunkSlice] = []
    sources = [name for name in buffer.sources_of(timeframe) if name in by_source]
    for source in reversed(sources):
        fresh = [
            chunk.serving(chunk.days[~np.isin(chunk.days, served)]) for chunk in by_source[source]
        ]
        chosen += [chunk for chunk in fresh if len(chunk.days)]
        served = np.concatenate([served, *(chunk.days for chunk in fresh)])
    return _by_period(timeframe, chosen)


def _by_period(timeframe: str, slices: Iterable[ChunkSlice]) -> dict[int, list[ChunkSlice]]:
    """Group slices by period of the wanted timeframe; each slice of a finer timeframe lies in one
    period.
    """
    periods: dict[int, list[ChunkSlice]] = defaultdict(list)
    for chunk in slices:
        period = int(block_id(day_start(chunk.days[:1]), timeframe)[0])
        periods[block_start(period, timeframe)].append(chunk)
    return periods


def _any_as_traded(plan: _Plan) -> bool:
    return any(
        not chunk.adjusted
        for periods in plan.values()
        for chunks in periods.values()
        for chunk in chunks
    )


def _newest_day(symbol: str, until: int) -> int:
    """Return the last day before `until`, or the last stored day: the same for all timeframes of a
    symbol, so that their prices have the same adjustment.
    """
    stored = CandleChunk.objects.filter(symbol=symbol).aggregate(last=Max("last_time"))["last"]
    in_chunks = int(stored.timestamp()) if stored is not None else 0
    last = min(until - 1, max(in_chunks, buffer.last_start(symbol) or 0))
    return int(ist_day(np.array([last], dtype=np.int64))[0])


def _build(
    adjustment: Adjustment,
    sessions: Sessions,
    timeframe: str,
    plan: _Plan,
    data: Mapping[int, bytes] | None = None,
) -> BarHistory:
    """Build the history; `data` are the chunks' bytes, if already read."""
    bars = {name: _SessionBars(name, sessions, plan[name], adjustment, data) for name in plan}
    return bars[timeframe] if timeframe != "1w" else _WeekBars(bars["1w"], bars["1d"])


class _SessionBars:
    """Bars of a day or less, each day from the one stored timeframe that serves it; or the stored
    weeks.
    """

    def __init__(
        self,
        timeframe: str,
        sessions: Sessions,
        slices: dict[int, list[ChunkSlice]],
        adjustment: Adjustment,
        data: Mapping[int, bytes] | None,
    ) -> None:
        self.timeframe = timeframe
        self._sessions = sessions
        self._slices = slices
        self._adjustment = adjustment
        self._data = data

    @property
    def sessions(self) -> Sessions:
        return self._sessions

    @property
    def periods(self) -> Sequence[int]:
        return sorted(self._slices)

    def bars(self, periods: Collection[int]) -> Candles:
        slices = [chunk for period in periods for chunk in self._slices.get(period, [])]
        data = read_data(slices) if self._data is None else self._data
        by_source: dict[str, list[ChunkSlice]] = defaultdict(list)
        for chunk in slices:
            if chunk.pk is not None or len(chunk.buffered):
                by_source[chunk.timeframe].append(chunk)
        return concat(self._resample(source, data, chunks) for source, chunks in by_source.items())

    def _resample(
        self, source: str, data: Mapping[int, bytes], slices: Sequence[ChunkSlice]
    ) -> Candles:
        """Resample the bars of one stored timeframe, on the days that it serves."""
        ordered = sorted(slices, key=lambda chunk: int(chunk.days[0]))
        bars = _decode(ordered, data)
        if not all(chunk.whole for chunk in ordered):
            served = np.concatenate([chunk.days for chunk in ordered])
            bars = bars.select(np.isin(ist_day(bars.time), served))
        until = ordered[0].known_until
        bars = resample(bars, source, self.timeframe, self._sessions, until=until)
        if ordered[0].adjusted:
            return bars
        if self.timeframe == "1w":  # a stored week across a corporate action is made from days
            bars = bars.select(~self._adjustment.crossed_by_week(bars))
        return self._adjustment.apply(bars)

    def count_of(self, period: int) -> int | None:
        slices = self._slices.get(period, [])
        if all(chunk.whole and chunk.timeframe == self.timeframe for chunk in slices):
            return sum(chunk.bars for chunk in slices)
        return None

    @property
    def generated(self) -> Sequence[GeneratedDays]:
        parts = (
            GeneratedDays.up_to(chunk.generated_until, chunk.days)
            for chunks in self._slices.values()
            for chunk in chunks
            if chunk.generated_until is not None
        )
        return [part for part in parts if len(part.days)]

    def days(self) -> Days:
        """Return every day with bars, in order."""
        served = [chunk.days for chunks in self._slices.values() for chunk in chunks]
        return np.sort(np.concatenate(served)) if served else np.empty(0, dtype=np.int32)


class _WeekBars:
    """Stored weeks, and the other weeks made from their days."""

    def __init__(self, stored: _SessionBars, days: _SessionBars) -> None:
        self._stored = stored
        self._days = days

    @property
    def sessions(self) -> Sessions:
        return self._days.sessions

    @property
    def periods(self) -> Sequence[int]:
        mondays = np.unique(_mondays(self._days.days()))
        from_days = np.unique(block_id(mondays, "1w")).tolist()
        return sorted(
            {block_start(period, "1w") for period in from_days} | set(self._stored.periods)
        )

    def bars(self, periods: Collection[int]) -> Candles:
        stored = self._stored.bars(periods)
        weeks = self._from_days(block_id(np.array(list(periods), dtype=np.int64), "1w"))
        return concat([stored, weeks.select(~np.isin(weeks.time, stored.time))])

    def count_of(self, period: int) -> int | None:
        return None

    @property
    def generated(self) -> Sequence[GeneratedDays]:
        weeks = [
            GeneratedDays(ist_day(_mondays(part.days)), part.until) for part in self._days.generated
        ]
        return [*self._stored.generated, *weeks]

    def _from_days(self, wanted: NDArray[np.int64]) -> Candles:
        """Make the weeks with a Monday in these periods; their last days may be later."""
        stored = np.array(self._days.periods, dtype=np.int64)
        # The Mondays of a period's first days may lie in the period before.
        touched = np.isin(block_id(stored, "1w"), wanted) | np.isin(
            block_id(stored - _WEEK, "1w"), wanted
        )
        days = self._days.bars(stored[touched].tolist())
        in_periods = np.isin(block_id(_mondays(ist_day(days.time)), "1w"), wanted)
        return resample(
            days.select(in_periods), "1d", "1w", self._days.sessions, until=self._known_until()
        )

    def _known_until(self) -> int:
        """Return the next session after the last day: a week without another session is
        complete.
        """
        days = self._days.days()
        if not len(days):
            return 0
        coming = days[-1] + np.arange(1, 8, dtype=np.int32)
        open_days = coming[self._days.sessions.is_session(coming)]
        return int(day_start(open_days[:1] if len(open_days) else coming[:1])[0])


def _decode(slices: Sequence[ChunkSlice], data: Mapping[int, bytes]) -> Candles:
    """Return the bars of slices in order.

    A bar that compaction has just moved is both in a chunk and in the buffer, and appears once.
    """
    keys = [chunk.pk for chunk in slices if chunk.pk is not None]
    stored = decode(*(data[key] for key in keys))
    buffered = [chunk.buffered for chunk in slices if len(chunk.buffered)]
    return overlay([stored, *buffered]) if buffered else stored


def _mondays(days: Days) -> NDArray[np.int64]:
    """Return 00:00 in Asia/Kolkata of the Monday on or before each day."""
    return day_start(days - (days + 3) % 7)  # 1970-01-01 was a Thursday
