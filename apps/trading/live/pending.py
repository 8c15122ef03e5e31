"""The pending work of leased streams: their runs, and the closed rows before them.

Finding it takes a few statements for any number of streams.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from django.db.models import F, Q

from apps.algorithms.models import AlgorithmStatus
from apps.engine import EngineError
from apps.engine.candles import DAY, TIMEFRAME_SECONDS, TIMEFRAMES, Candles
from apps.engine.live import BarSnapshot
from apps.market.candles import GRACE_PERIOD, SeriesKey, concat, read_all_closed
from apps.market.rulebook import contract_closes
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.models import BarRow, BarStream, RunState
from apps.trading.runs.bar_rows import (
    MAX_MISSING_BARS,
    ClosedRows,
    UnreadCandles,
    find_closed_rows,
    gives_up_at,
    has_in_rows,
    nominal_end,
    row_as_used,
    visible_bars,
)
from apps.trading.runs.failures import NO_PRICE_DATA

_END_OF_TIME: Final = 2**62
_NO_ROWS: Final = ClosedRows([], None)
_NO_CANDLES: Final = concat([])


class RunCursor(NamedTuple):
    """The last row that a run has processed, the market's time when it started, and the time from
    which its missing bars count: None while it is paused or has ended.
    """

    run_id: str
    row_time: int | None
    since: int
    waits_since: int | None


@dataclass(slots=True)
class PendingWork:
    """A leased stream: its runs, its closed rows, and the number of rows that all runs have
    processed.

    `errors` are the errors of runs that cannot continue with the row under way.
    """

    cache: BarStreamCache
    cursors: Sequence[RunCursor]
    closed: ClosedRows = _NO_ROWS
    rows_done: int = 0
    errors: dict[str, EngineError] = field(default_factory=dict)

    @property
    def stream(self) -> BarStream:
        return self.cache.stream

    @property
    def next_index(self) -> int | None:
        """The index of the next row, or None without one."""
        return self.rows_done if self.rows_done < len(self.closed.rows) else None

    def runs_at(self, row: BarSnapshot) -> list[str]:
        """Return the runs that existed when the row closed."""
        return [cursor.run_id for cursor in self.cursors if cursor.since < row.closes]

    def gives_up_at(self, market_now: int) -> int | None:
        """Return the time when the stream's runs will fail unless a row comes."""
        stream, waiting = self.stream, [cursor.waits_since for cursor in self.cursors]
        since = max((moment for moment in waiting if moment is not None), default=None)
        if since is None:
            return None
        if stream.row_time is not None:
            end = nominal_end(stream.row_time, stream.timeframe, self.cache.calendars)
            since = max(since, end)
        return gives_up_at(stream.timeframe, self.cache.calendars, since=since, now=market_now)

    @property
    def give_up_reason(self) -> str:
        length = MAX_MISSING_BARS * TIMEFRAMES[self.stream.timeframe]
        time = (
            f"{length // 60} minutes"
            if length < MAX_MISSING_BARS * DAY
            else f"{length // DAY} days"
        )
        return f"{NO_PRICE_DATA} for {time}"


def find_pending_work(caches: Sequence[BarStreamCache], *, market_now: int) -> list[PendingWork]:
    """Poll the streams for closed rows.

    A row that some of a stream's runs have processed is read as stored, with the bars that those
    runs saw.
    """
    cursors = run_cursors_of([cache.stream for cache in caches])
    pending = [PendingWork(cache, cursors[cache.stream.pk]) for cache in caches]
    _read_expiries(caches)
    for work in pending:
        if all(cursor.row_time is None for cursor in work.cursors):
            # A segment of rows ends with its last run.
            work.stream.segment_start = work.stream.row_time = None
            work.stream.read_until = {}
    _catch_up(caches)
    interrupted = _interrupted_rows(caches)
    for work in pending:
        if work.stream.pk in interrupted:
            work.closed = ClosedRows([interrupted[work.stream.pk]], market_now)
    uninterrupted = [work for work in pending if work.cursors and work.stream.pk not in interrupted]
    _find_closed_rows(uninterrupted, market_now)
    return pending


def run_cursors_of(streams: Collection[BarStream]) -> Mapping[int, list[RunCursor]]:
    """Return the runs of each stream, in the order of their ids."""
    cursors: dict[int, list[RunCursor]] = defaultdict(list)
    states = RunState.objects.filter(stream__in=streams).order_by("run")
    for stream_id, run_id, row_time, since, resumed_at, status in states.values_list(
        "stream_id", "run_id", "row_time", "since", "resumed_at", "run__algorithm__status"
    ):
        assert stream_id is not None
        waits_since = max(since, resumed_at or 0) if status == AlgorithmStatus.ACTIVE else None
        cursors[stream_id].append(RunCursor(run_id, row_time, since, waits_since))
    return cursors


def _read_expiries(caches: Sequence[BarStreamCache]) -> None:
    """Read the expiries at each poll: an instrument master may have changed a contract's
    last day.
    """
    closes = contract_closes(
        {
            symbol: calendar
            for cache in caches
            for symbol, calendar in zip(
                [*cache.stream.symbols, *(symbol for symbol, _ in cache.stream.read_series)],
                [*cache.calendars, *cache.read_calendars],
                strict=True,
            )
        }
    )
    for cache in caches:
        cache.closes = closes


def _catch_up(caches: Iterable[BarStreamCache]) -> None:
    """Add the rows that other runners have processed to the indicator windows."""
    behind = {cache.stream.pk: cache for cache in caches if cache.is_behind}
    if not behind:
        return
    first = min(cache.last_row for cache in behind.values())
    used = BarRow.objects.filter(stream__in=list(behind), time__gt=first)
    for row in used.filter(time__lte=F("stream__row_time")).order_by("stream", "time"):
        cache = behind[row.stream_id]
        if row.time > cache.last_row:
            cache.add_row(row_as_used(row, cache.stream, cache.calendars))


def _interrupted_rows(caches: Iterable[BarStreamCache]) -> dict[int, BarSnapshot]:
    """Return the row that some but not all of its runs have processed, keyed by stream."""
    under_way = {
        cache.stream.pk: cache for cache in caches if cache.stream.segment_start is not None
    }
    later = Q(time__gt=F("stream__row_time")) | Q(
        stream__row_time=None, time__gte=F("stream__segment_start")
    )
    rows = BarRow.objects.filter(later, stream__in=list(under_way)).order_by("stream", "-time")
    caches_of_rows = [(row, under_way[row.stream_id]) for row in rows]
    return {
        row.stream_id: row_as_used(row, cache.stream, cache.calendars)
        for row, cache in caches_of_rows
    }


def _find_closed_rows(pending: Sequence[PendingWork], market_now: int) -> None:
    """Find the rows that are closed by the bars received."""
    starts = {work.stream.pk: _first_start(work) for work in pending}
    earliest: dict[SeriesKey, int] = {}
    for work in pending:
        for symbol in work.stream.symbols:
            key = symbol, work.stream.timeframe
            earliest[key] = min(earliest.get(key, _END_OF_TIME), starts[work.stream.pk])
        for key in _series_in_rows(work.stream):
            earliest[key] = min(earliest.get(key, _END_OF_TIME), _first_unread(work, key))
    bars = read_all_closed(earliest, clock=market_now)
    for work in pending:
        stream, start, calendars = work.stream, starts[work.stream.pk], work.cache.calendars
        series = [
            visible_bars(
                stream, bars[symbol, stream.timeframe], stream.timeframe, calendar
            ).between(start, max(start, ends))
            for symbol, calendar, ends in zip(
                stream.symbols, calendars, work.cache.ends_of_contracts(), strict=True
            )
        ]
        work.closed = find_closed_rows(
            series,
            stream.timeframe,
            calendars,
            start=start,
            now=market_now,
            after=min(cursor.since for cursor in work.cursors),
            unread=_unread_candles(work, bars, market_now),
        )


def _series_in_rows(stream: BarStream) -> list[SeriesKey]:
    return [key for key in stream.read_series if has_in_rows(stream.timeframe, key[1])]


def _first_unread(work: PendingWork, key: SeriesKey) -> int:
    """Return the first moment at which a candle of a read symbol may begin that is in no row."""
    symbol, timeframe = key
    if symbol in work.stream.read_until:
        return int(work.stream.read_until[symbol]) + 1
    start = work.stream.segment_start
    start = _first_start(work) if start is None else start
    return start - TIMEFRAME_SECONDS[timeframe] + 1  # the first candle that is not over by then


def _unread_candles(
    work: PendingWork, bars: Mapping[SeriesKey, Candles], market_now: int
) -> list[UnreadCandles]:
    """Return the candles of each read symbol, none of those that rows never have. No candle of a
    contract is awaited after its last session.
    """
    stream, closes, unread = work.stream, work.cache.closes or {}, []
    for key, calendar in zip(stream.read_series, work.cache.read_calendars, strict=True):
        symbol, timeframe = key
        candles, newest = _NO_CANDLES, _END_OF_TIME
        if has_in_rows(stream.timeframe, timeframe):
            visible = visible_bars(stream, bars[key], timeframe, calendar)
            candles = visible.between(_first_unread(work, key), _END_OF_TIME)
            has_ended = closes.get(symbol, _END_OF_TIME) + GRACE_PERIOD <= market_now
            newest = _END_OF_TIME if has_ended else stream.read_until.get(symbol, -1)
        unread.append(UnreadCandles(candles, timeframe, calendar, newest, stream.segment_start))
    return unread


def _first_start(work: PendingWork) -> int:
    """Return the first moment at which the stream's next row may begin."""
    stream = work.stream
    if stream.row_time is not None:
        return stream.row_time + 1
    since = min(cursor.since for cursor in work.cursors)
    return since - TIMEFRAMES[stream.timeframe] + 1  # the first bar that is not over by then
