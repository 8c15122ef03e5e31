"""The work that waits on leased streams: their runs, and the closed rows that these have before
them. However many streams there are, it takes a few statements.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from django.db.models import F, Q

from apps.engine.candles import TIMEFRAMES
from apps.engine.errors import EngineError
from apps.market import store
from apps.market.contracts import expiry_dates
from apps.market.intraday_buffer import SeriesKey
from apps.trading.bar_rows import (
    GIVEN_UP_AFTER,
    BarSnapshot,
    ClosedRows,
    closed,
    nominal_end,
    silent_at,
    unpacked,
    visible_bars,
)
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.models import BarRow, BarStream, RunState

_EVER: Final = 2**62
_NOTHING: Final = ClosedRows([], None)


class RunCursor(NamedTuple):
    """Of a run: the last row that it has been through, and the market's time when it started."""

    run_id: str
    row_time: int | None
    since: int


@dataclass(slots=True)
class PendingWork:
    """A stream while a runner has it. `done` counts the rows that all its runs have been through,
    `faults` are runs that cannot go on with the row that is under way.
    """

    cache: BarStreamCache
    stands: Sequence[RunCursor]
    outlook: ClosedRows = _NOTHING
    done: int = 0
    faults: dict[str, EngineError] = field(default_factory=dict)

    @property
    def stream(self) -> BarStream:
        return self.cache.stream

    def waits_at(self, place: int) -> bool:
        """Whether this is the place of the row that is next."""
        return place == self.done < len(self.outlook.rows)

    def runs_at(self, row: BarSnapshot) -> list[str]:
        """Those that were there when the row closed."""
        return [stand.run_id for stand in self.stands if stand.since < row.closes]

    def silent_at(self, market_now: int) -> int | None:
        """When the stream's runs are given up unless a row comes."""
        stream, since = self.stream, max(stand.since for stand in self.stands)
        if stream.row_time is not None:
            since = max(since, nominal_end(stream.row_time, stream.timeframe, self.cache.calendars))
        return silent_at(stream.timeframe, self.cache.calendars, since=since, now=market_now)

    @property
    def silence(self) -> str:
        """Why they are given up then."""
        return f"no bars for {GIVEN_UP_AFTER} x {self.stream.timeframe}"


def look(caches: Sequence[BarStreamCache], *, market_now: int) -> list[PendingWork]:
    """The rows of each stream that are closed. One that some runs have been through already is as
    those had it.
    """
    stands = run_cursors_of([cache.stream for cache in caches])
    works = [PendingWork(cache, stands[cache.stream.pk]) for cache in caches]
    _tell_expiries(caches)
    for work in works:
        if all(stand.row_time is None for stand in work.stands):
            work.stream.segment_start = work.stream.row_time = (
                None  # a stretch ends with its last run
            )
    _catch_up(caches)
    begun = _half_done(caches)
    for work in works:
        if work.stream.pk in begun:
            work.outlook = ClosedRows([begun[work.stream.pk]], market_now)
    rest = [work for work in works if work.stands and work.stream.pk not in begun]
    _look_ahead(rest, market_now)
    return works


def _tell_expiries(caches: Sequence[BarStreamCache]) -> None:
    """Anew at each look: a master may tell of a contract's last day when that is there."""
    known = expiry_dates(
        {
            symbol: calendar
            for cache in caches
            for symbol, calendar in zip(cache.stream.symbols, cache.calendars, strict=True)
        }
    )
    for cache in caches:
        cache.expiries = known


def run_cursors_of(streams: Collection[BarStream]) -> Mapping[int, list[RunCursor]]:
    """By stream, its runs in order."""
    found: dict[int, list[RunCursor]] = defaultdict(list)
    states = RunState.objects.filter(stream__in=streams).order_by("run")
    for stream_id, run_id, row_time, since in states.values_list(
        "stream_id", "run_id", "row_time", "since"
    ):
        assert stream_id is not None
        found[stream_id].append(RunCursor(run_id, row_time, since))
    return found


def _look_ahead(works: Sequence[PendingWork], market_now: int) -> None:
    """Find the rows that are closed by the bars that have come."""
    starts = {work.stream.pk: _first_of(work) for work in works}
    bars = store.read_all_closed(_series(works, starts), clock=market_now)
    for work in works:
        stream, start = work.stream, starts[work.stream.pk]
        series = [
            visible_bars(stream, bars[code, stream.timeframe], stream.timeframe, calendar).between(
                start, _EVER
            )
            for code, calendar in zip(stream.symbols, work.cache.calendars, strict=True)
        ]
        outlook = closed(
            series, stream.timeframe, work.cache.calendars, start=start, now=market_now
        )
        since = min(stand.since for stand in work.stands)
        rows = [row for row in outlook.rows if row.closes > since]
        work.outlook = ClosedRows(rows, outlook.next_look)


def _first_of(work: PendingWork) -> int:
    """The first moment at which the stream's next row may begin."""
    stream = work.stream
    if stream.row_time is not None:
        return stream.row_time + 1
    since = min(stand.since for stand in work.stands)
    return since - TIMEFRAMES[stream.timeframe] + 1  # a bar that is not closed by then


def _series(works: Iterable[PendingWork], starts: Mapping[int, int]) -> Mapping[SeriesKey, int]:
    found: dict[SeriesKey, int] = {}
    for stream in (work.stream for work in works):
        for code in stream.symbols:
            known = found.get((code, stream.timeframe), _EVER)
            found[code, stream.timeframe] = min(known, starts[stream.pk])
    return found


def _half_done(caches: Iterable[BarStreamCache]) -> dict[int, BarSnapshot]:
    """By stream, the row that some runs have been through, and not yet all."""
    under_way = {
        cache.stream.pk: cache for cache in caches if cache.stream.segment_start is not None
    }
    later = Q(time__gt=F("stream__row_time")) | Q(
        stream__row_time=None, time__gte=F("stream__segment_start")
    )
    rows = BarRow.objects.filter(later, stream__in=list(under_way)).order_by("stream", "-time")
    return {row.stream_id: _as_used(row, under_way[row.stream_id]) for row in rows}


def _catch_up(caches: Iterable[BarStreamCache]) -> None:
    """Let windows have the rows that others have taken their streams through."""
    behind = {cache.stream.pk: cache for cache in caches if cache.is_behind}
    if not behind:
        return
    first = min(cache.last_row for cache in behind.values())
    used = BarRow.objects.filter(stream__in=list(behind), time__gt=first)
    for row in used.filter(time__lte=F("stream__row_time")).order_by("stream", "time"):
        cache = behind[row.stream_id]
        if row.time > cache.last_row:
            cache.follow(_as_used(row, cache))


def _as_used(row: BarRow, cache: BarStreamCache) -> BarSnapshot:
    bars = unpacked(bytes(row.bars), len(cache.stream.symbols))
    return BarSnapshot(
        row.time, nominal_end(row.time, cache.stream.timeframe, cache.calendars), bars
    )
