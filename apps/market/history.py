"""The history of one symbol in one timeframe, put together block by block from what is stored."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, Protocol

import numpy as np
from django.db.models import Max
from numpy.typing import NDArray

from apps.engine.candles import (
    TIMEFRAMES,
    Candles,
    block_id,
    block_start,
    day_start,
    ist_day,
    resample,
)
from apps.engine.sessions import Sessions
from apps.market import adjustment, intraday_buffer
from apps.market.adjustment import Adjustment, RatioChange
from apps.market.calendars import calendar_of, calendars_of
from apps.market.candle_chunks import decode, join, overlay
from apps.market.chunk_slices import ChunkSlice, Days, read_data, slices_of, slices_since
from apps.market.intraday_buffer import SeriesKey
from apps.market.models import CandleChunk, CorporateAction
from apps.market.rulebook.dates import day_number

_WEEK: Final = TIMEFRAMES["1w"]


class History(Protocol):
    """Blocks of rule 11, each named by its first moment (epoch seconds), oldest first."""

    @property
    def sessions(self) -> Sessions:
        """The calendar that it is read by."""

    @property
    def blocks(self) -> Sequence[int]:
        """The blocks that may have bars."""

    def bars(self, wanted: Collection[int]) -> Candles:
        """The bars that start in any of these blocks, read in one query."""

    def count_of(self, block: int) -> int | None:
        """How many bars a block has, None where only reading it can tell."""


def history_of(
    symbol: str, timeframe: str, *, until: int = 0, terms: Adjustment = adjustment.UNADJUSTED
) -> History:
    """The history as stored now, with its prices as they were traded, or in these terms.

    A longer bar that ends by `until` (epoch seconds) is finished, whatever its last bars are.
    """
    return _with(terms, calendar_of(symbol), timeframe, _parts(symbol, timeframe, until))


def adjusted_history_of(
    symbol: str, timeframe: str, *, until: int
) -> tuple[History, list[CorporateAction]]:
    """The history in the terms of the last day before `until` (epoch seconds), or of the last that
    is held, and the splits and bonuses up to that day.
    """
    parts = _parts(symbol, timeframe, 0)
    actions = list(CorporateAction.objects.filter(symbol=symbol)) if _any_as_traded(parts) else []
    newest = _newest_day(symbol, until) if actions else 0
    known = [action for action in actions if day_number(action.ex_date) <= newest]
    terms = Adjustment.to(newest, map(ratio_change_of, known))
    return _with(terms, calendar_of(symbol), timeframe, parts), known


def recent_histories(since: Mapping[SeriesKey, int], *, until: int) -> Mapping[SeriesKey, History]:
    """Of each series what its bars from a moment (epoch seconds) on are made of, as `history_of`
    has it, for any number of series by five statements.

    A bar holds nothing from before its start, so earlier bars are not read; but whether there are
    any that day, which decides by what timeframe the day is served.
    """
    held, calendars = slices_since(_sources(since), until), calendars_of({one for one, _ in since})
    data = read_data(part for parts in held.values() for part in parts)
    found: dict[SeriesKey, History] = {}
    for symbol, timeframe in since:
        parts = _parts_of(timeframe, held[symbol])
        found[symbol, timeframe] = _with(
            adjustment.UNADJUSTED, calendars[symbol], timeframe, parts, data
        )
    return found


def _sources(since: Mapping[SeriesKey, int]) -> Mapping[SeriesKey, int]:
    """Of all that the series are made from, the earliest moment that is needed."""
    found: dict[SeriesKey, int] = {}
    for (symbol, timeframe), start in since.items():
        for source in intraday_buffer.sources_of(timeframe):
            found[symbol, source] = min(start, found.get((symbol, source), start))
    return found


def ratio_change_of(action: CorporateAction) -> RatioChange:
    ratio = Fraction(action.shares_after, action.shares_before)
    return RatioChange(day_number(action.ex_date), ratio)


_Parts = Mapping[str, dict[int, list[ChunkSlice]]]
"""By timeframe (of weeks two: themselves, and the days that others are made from)."""


def _parts(symbol: str, timeframe: str, until: int) -> _Parts:
    return _parts_of(timeframe, slices_of(symbol, intraday_buffer.sources_of(timeframe), until))


def _parts_of(timeframe: str, stored: Sequence[ChunkSlice]) -> _Parts:
    if timeframe != "1w":
        return {timeframe: _planned(timeframe, stored)}
    weeks = [part for part in stored if part.timeframe == "1w"]
    return {"1w": _grouped("1w", weeks), "1d": _planned("1d", stored)}


def _with(
    terms: Adjustment,
    sessions: Sessions,
    timeframe: str,
    parts: _Parts,
    data: Mapping[int, bytes] | None = None,
) -> History:
    """`data` are the blocks' bytes, if they were read."""
    bars = {name: _SessionBars(name, sessions, parts[name], terms, data) for name in parts}
    return bars[timeframe] if timeframe != "1w" else _Weeks(bars["1w"], bars["1d"])


def _any_as_traded(parts: _Parts) -> bool:
    each = (part for planned in parts.values() for group in planned.values() for part in group)
    return any(not part.adjusted for part in each)


def _newest_day(symbol: str, until: int) -> int:
    """The last day before `until`, or of all that is held: one for all timeframes of a symbol, so
    that their prices are of one kind.
    """
    held = CandleChunk.objects.filter(symbol=symbol).aggregate(last=Max("last_time"))["last"]
    in_blocks = int(held.timestamp()) if held is not None else 0
    last = min(until - 1, max(in_blocks, intraday_buffer.last_start(symbol) or 0))
    return int(ist_day(np.array([last], dtype=np.int64))[0])


class _SessionBars:
    """Bars of a day or less, each day from the one stored timeframe that serves it; or the weeks
    that are stored.
    """

    def __init__(
        self,
        timeframe: str,
        sessions: Sessions,
        parts: dict[int, list[ChunkSlice]],
        terms: Adjustment,
        data: Mapping[int, bytes] | None,
    ) -> None:
        self.timeframe = timeframe
        self._sessions = sessions
        self._parts = parts
        self._terms = terms
        self._data = data

    @property
    def sessions(self) -> Sessions:
        return self._sessions

    @property
    def blocks(self) -> Sequence[int]:
        return sorted(self._parts)

    def bars(self, wanted: Collection[int]) -> Candles:
        parts = [part for block in wanted for part in self._parts.get(block, [])]
        data = self._data
        if data is None:
            data = read_data(parts)
        by_source: dict[str, list[ChunkSlice]] = defaultdict(list)
        for part in parts:
            if part.pk in data or len(part.live):
                by_source[part.timeframe].append(part)
        return join(self._made(source, data, found) for source, found in by_source.items())

    def count_of(self, block: int) -> int | None:
        parts = self._parts.get(block, [])
        if all(part.whole and part.timeframe == self.timeframe for part in parts):
            return sum(part.bars for part in parts)
        return None

    def days(self) -> Days:
        """Every day that has bars, in order."""
        served = [part.days for parts in self._parts.values() for part in parts]
        return np.sort(np.concatenate(served)) if served else np.empty(0, dtype=np.int32)

    def _made(self, source: str, data: Mapping[int, bytes], parts: Sequence[ChunkSlice]) -> Candles:
        """The bars of one stored timeframe, of the days it serves."""
        ordered = sorted(parts, key=lambda part: int(part.days[0]))
        bars = _read(ordered, data)
        if not all(part.whole for part in ordered):
            served = np.concatenate([part.days for part in ordered])
            bars = bars.where(np.isin(ist_day(bars.time), served))
        until = ordered[0].known_until
        made = resample(bars, source, self.timeframe, self.sessions, until=until)
        return made if ordered[0].adjusted else self._in_terms(made)

    def _in_terms(self, bars: Candles) -> Candles:
        """Adjusted; without stored weeks that a split or bonus lies in, which days make anew."""
        if self.timeframe == "1w":
            bars = bars.where(~self._terms.crossed_by_week(bars))
        return self._terms.apply(bars)


class _Weeks:
    """Weeks stored as such, and the other weeks made from their days."""

    def __init__(self, stored: _SessionBars, days: _SessionBars) -> None:
        self._stored = stored
        self._days = days

    @property
    def sessions(self) -> Sessions:
        return self._days.sessions

    @property
    def blocks(self) -> Sequence[int]:
        mondays = np.unique(_mondays(self._days.days()))
        from_days = np.unique(block_id(mondays, "1w")).tolist()
        return sorted({block_start(block, "1w") for block in from_days} | set(self._stored.blocks))

    def bars(self, wanted: Collection[int]) -> Candles:
        stored = self._stored.bars(wanted)
        made = self._made(block_id(np.array(list(wanted), dtype=np.int64), "1w"))
        return join([stored, made.where(~np.isin(made.time, stored.time))])

    def count_of(self, block: int) -> int | None:
        return None

    def _made(self, wanted: NDArray[np.int64]) -> Candles:
        """Weeks whose Monday lies in these blocks; the last days of each may lie in the next."""
        held = np.array(self._days.blocks, dtype=np.int64)
        # The Mondays of a block's first days may lie in the block before.
        touched = np.isin(block_id(held, "1w"), wanted) | np.isin(
            block_id(held - _WEEK, "1w"), wanted
        )
        days = self._days.bars(held[touched].tolist())
        in_blocks = np.isin(block_id(_mondays(ist_day(days.time)), "1w"), wanted)
        return resample(
            days.where(in_blocks), "1d", "1w", self._days.sessions, until=self._known_until()
        )

    def _known_until(self) -> int:
        """The next session after the last day: a week that has no further one is finished."""
        days = self._days.days()
        if not len(days):
            return 0
        coming = days[-1] + np.arange(1, 8, dtype=np.int32)
        open_days = coming[self._days.sessions.is_session(coming)]
        return int(day_start(open_days[:1] if len(open_days) else coming[:1])[0])


def _read(parts: Sequence[ChunkSlice], data: Mapping[int, bytes]) -> Candles:
    """The bars of parts in order. What is folded meanwhile is seen in its block too, and is one."""
    stored = decode(*(data[part.pk] for part in parts if part.pk is not None and part.pk in data))
    came_in = [part.live for part in parts if len(part.live)]
    return overlay([stored, *came_in]) if came_in else stored


def _mondays(days: Days) -> NDArray[np.int64]:
    """00:00 in Asia/Kolkata of the Monday on or before each day."""
    return day_start(days - (days + 3) % 7)  # 1970-01-01 was a Thursday


def _planned(timeframe: str, stored: Iterable[ChunkSlice]) -> dict[int, list[ChunkSlice]]:
    """Which stored block serves which days: those of the coarsest timeframe first."""
    by_source: dict[str, list[ChunkSlice]] = defaultdict(list)
    for part in stored:
        by_source[part.timeframe].append(part)
    served = np.empty(0, dtype=np.int32)
    chosen: list[ChunkSlice] = []
    for source in reversed(
        [name for name in intraday_buffer.sources_of(timeframe) if name in by_source]
    ):
        fresh = [part.serving(part.days[~np.isin(part.days, served)]) for part in by_source[source]]
        chosen += [part for part in fresh if len(part.days)]
        served = np.concatenate([served, *(part.days for part in fresh)])
    return _grouped(timeframe, chosen)


def _grouped(timeframe: str, parts: Iterable[ChunkSlice]) -> dict[int, list[ChunkSlice]]:
    """By the block of the wanted timeframe; a finer timeframe's blocks lie each within one."""
    groups: dict[int, list[ChunkSlice]] = defaultdict(list)
    for part in parts:
        block = int(block_id(day_start(part.days[:1]), timeframe)[0])
        groups[block_start(block, timeframe)].append(part)
    return groups
