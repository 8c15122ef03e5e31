"""A runner leases due bar streams, and steps their runs through the closed rows.

One pass: lease streams (`leases`), find their closed rows (`pending`), evaluate the signals of a
row (`stream_cache`, `signals`), step the runs and write the results, a batch in one transaction
(`commit`), and release the streams until their next poll. Any number of runners share the streams.
Any runner can rebuild another's memory.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from apps.core.database import is_passing
from apps.engine.live import BarSnapshot
from apps.market.rulebook import calendars_of, current_rule_set
from apps.market.services import market_time
from apps.trading.live import leases
from apps.trading.live.commit import BarStreamBatch, BatchResult, commit_batches, fail_runs
from apps.trading.live.pending import PendingWork, find_pending_work, run_cursors_of
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.models import BarStream
from apps.trading.runs import bar_streams

# The number of stream caches that a runner keeps, the most recently used.
MAX_CACHES: Final = 500
RUNS_PER_TRANSACTION: Final = 500
# Rows of one stream before other streams are leased.
ROWS_PER_LEASE: Final = 50
# After this time no new batch begins: long before the leases end.
MAX_BATCH_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


class Runner:
    """A runner of the service, with caches of its recent streams."""

    def __init__(self) -> None:
        self._caches: OrderedDict[int, BarStreamCache] = OrderedDict()

    def work(self, *, now: datetime) -> bool:
        """Lease some streams and process all their rows; return False if no stream is due."""
        known = [cache.stream for cache in self._caches.values()]
        streams = leases.acquire(known=known, now=now)
        if not streams:
            return False
        leased = LeasedStreams(self._caches_of(streams), now=now)
        try:
            next_polls = leased.work()
        except Exception:
            leases.release({stream: now for stream in streams if stream.pk not in leased.abandoned})
            raise
        leases.release(next_polls)
        for pk in leased.abandoned:
            del self._caches[pk]
        while len(self._caches) > MAX_CACHES:
            self._caches.popitem(last=False)
        return True

    def _caches_of(self, streams: Sequence[BarStream]) -> list[BarStreamCache]:
        # The rules are read at every pass: nobody announces a rule set or an instrument master that
        # is loaded in the middle of a session, and reading them is one statement for all streams.
        rules = current_rule_set()
        symbols = {
            symbol for stream in streams for symbol in (*stream.symbols, *stream.read_symbols)
        }
        calendars = calendars_of(symbols, rule_set=rules)
        caches = []
        for stream in streams:
            cache = self._caches.pop(stream.pk, None)
            cache = cache or BarStreamCache.create(stream, rules, calendars)
            cache.stream = stream
            cache.use_rules(rules, calendars)
            self._caches[stream.pk] = cache
            caches.append(cache)
        return caches


class LeasedStreams:
    """The streams of one lease, until they are released.

    `abandoned` are the ids of streams that another runner has leased meanwhile, or that failed;
    they are polled again when their lease ends.
    """

    def __init__(self, caches: Sequence[BarStreamCache], *, now: datetime) -> None:
        self._caches, self._now = caches, now
        self._market_now = market_time(now=now)
        self._pending: list[PendingWork] = []
        self.abandoned: set[int] = set()

    def work(self) -> Mapping[BarStream, datetime | None]:
        """Process the streams; return the time of each one's next poll."""
        try:
            streams = [cache.stream for cache in self._caches]
            bar_streams.start_with_replay(streams, market_now=self._market_now)
            self._pending = self._find_pending_work()
            self._take_rows()
            next_polls: dict[BarStream, datetime | None] = {}
            for work in self._not_abandoned():
                with self._isolated(work.stream):
                    next_polls[work.stream] = self._next_poll(work)
            return next_polls
        finally:
            for cache in self._caches:
                cache.drop_unused()

    def _not_abandoned(self) -> Iterator[PendingWork]:
        return (work for work in self._pending if work.stream.pk not in self.abandoned)

    @contextmanager
    def _isolated(self, stream: BarStream) -> Iterator[None]:
        """Abandon only this stream if it raises an error."""
        try:
            yield
        except Exception as error:
            if is_passing(error):
                raise
            log.exception("stream %s is skipped until its lease ends", stream.pk)
            self.abandoned.add(stream.pk)

    def _find_pending_work(self) -> list[PendingWork]:
        """Poll all streams at once or, after an error, separately."""
        try:
            return find_pending_work(self._caches, market_now=self._market_now)
        except Exception as error:
            if is_passing(error):
                raise
            log.info("%d streams are checked one by one: %s", len(self._caches), error)
        pending = []
        for cache in self._caches:
            with self._isolated(cache.stream):
                pending += find_pending_work([cache], market_now=self._market_now)
        return pending

    def _take_rows(self) -> None:
        """Process the first row of all streams, then the next row of streams with more."""
        deadline = time.monotonic() + MAX_BATCH_SECONDS
        for index in range(ROWS_PER_LEASE):
            pending = [work for work in self._not_abandoned() if work.next_index == index]
            if not pending:
                return
            if index:
                self._refresh_runs(pending)
            for batches in _grouped(self._batches(pending, index)):
                self._commit(batches)
                if time.monotonic() > deadline:
                    return

    def _refresh_runs(self, pending: Sequence[PendingWork]) -> None:
        """Read the runs again: some may have started or ended since the last row."""
        cursors = run_cursors_of([work.stream for work in pending])
        for work in pending:
            work.cursors = cursors[work.stream.pk]

    def _batches(self, pending: Iterable[PendingWork], index: int) -> Iterator[BarStreamBatch]:
        for work in pending:
            with self._isolated(work.stream):
                for batch in _batches_of(work, work.closed.rows[index]):
                    if work.stream.pk not in self.abandoned:
                        yield batch

    def _commit(self, batches: Sequence[BarStreamBatch]) -> None:
        """Commit the batches in one transaction or, after an error, separately."""
        try:
            result = commit_batches(batches, now=self._now)
        except Exception as error:
            if is_passing(error):
                raise
            log.info("%d streams are taken on one by one: %s", len(batches), error)
        else:
            self._note(batches, result)
            return
        for batch in batches:
            with self._isolated(batch.stream):
                self._note([batch], commit_batches([batch], now=self._now))

    def _note(self, batches: Sequence[BarStreamBatch], result: BatchResult) -> None:
        """Keep track of the committed rows, and fail the runs with an error in a complete row."""
        pending = {work.stream.pk: work for work in self._pending}
        for batch in batches:
            work = pending[batch.stream.pk]
            if batch.stream.pk not in result.held:
                log.info("stream %s was taken by another runner", batch.stream.pk)
                self.abandoned.add(batch.stream.pk)
                continue
            run_ids = {context.run.pk for context in batch.contexts}
            work.errors |= {key: result.errors[key] for key in run_ids & result.errors.keys()}
            if batch.is_last:
                with self._isolated(work.stream):
                    work.rows_done += 1
                    errors, work.errors = work.errors, {}
                    if errors:
                        reasons = {run_id: str(error) for run_id, error in errors.items()}
                        fail_runs(work.stream, reasons, now=self._now)

    def _next_poll(self, work: PendingWork) -> datetime | None:
        if not work.cursors:
            return None
        if work.next_index is not None:
            return self._now
        moments = [work.closed.next_poll, self._give_up_if_silent(work)]
        waits = [max(moment - self._market_now, 0) for moment in moments if moment is not None]
        return self._now + timedelta(seconds=min(waits)) if waits else None

    def _give_up_if_silent(self, work: PendingWork) -> int | None:
        """Fail the stream's runs if no row has come for too long; otherwise return when that will
        be.
        """
        due = work.gives_up_at(self._market_now)
        if due is None or due > self._market_now:
            return due
        waiting = (cursor for cursor in work.cursors if cursor.waits_since is not None)
        reasons = {cursor.run_id: work.give_up_reason for cursor in waiting}
        fail_runs(work.stream, reasons, now=self._now)
        return None


def _batches_of(work: PendingWork, row: BarSnapshot) -> Iterator[BarStreamBatch]:
    """Yield the stream's runs that existed when the row closed; the last batch completes it."""
    cache = work.cache
    cache.open_window(row)
    evaluation = cache.evaluate(work.runs_at(row), row)
    work.errors = evaluation.errors
    contexts = evaluation.contexts
    starts = range(0, len(contexts), RUNS_PER_TRANSACTION)
    parts = [contexts[start : start + RUNS_PER_TRANSACTION] for start in starts] or [[]]
    for number, part in enumerate(parts, start=1):
        yield BarStreamBatch(cache.stream, row, part, evaluation, is_last=number == len(parts))


def _grouped(batches: Iterable[BarStreamBatch]) -> Iterator[Sequence[BarStreamBatch]]:
    """Yield groups of at most RUNS_PER_TRANSACTION runs; a group has each stream at most once."""
    group: list[BarStreamBatch] = []
    runs = 0
    for batch in batches:
        count = len(batch.contexts)
        if group and runs + count > RUNS_PER_TRANSACTION:
            yield group
            group, runs = [], 0
        group.append(batch)
        runs += count
    if group:
        yield group
