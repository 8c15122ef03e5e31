"""The streams that a runner has leased, for a few seconds: one row of each after the other, those
of several streams in one transaction.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from apps.core.database_errors import is_passing
from apps.market import clock
from apps.trading import bar_streams
from apps.trading.bar_rows import BarSnapshot
from apps.trading.live.commit import BarStreamBatch, BatchResult, advance, give_up
from apps.trading.live.pending import PendingWork, look, run_cursors_of
from apps.trading.live.step import RunContext
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.models import BarStream

RUNS_AT_ONCE: Final = 500
"""Of one transaction."""
ROWS_AT_ONCE: Final = 50
"""Of one stream, before others have their turn."""
SECONDS: Final = 5.0
"""After so long nothing more is begun, far from the end of the leases."""

log = logging.getLogger(__name__)


class Part(NamedTuple):
    """What one stream brings to a transaction."""

    work: PendingWork
    round: BarStreamBatch


class LeasedStreams:
    """`left_alone` are the ids of streams that somebody else has by now, or that have a trouble of
    their own: they are tried again when their lease is over.
    """

    def __init__(self, caches: Sequence[BarStreamCache], *, now: datetime) -> None:
        self._caches, self._now = caches, now
        self._market_now = clock.market_time(now=now)
        self.left_alone: set[int] = set()

    def work(self) -> Mapping[BarStream, datetime | None]:
        """Take the streams as far as they go; when each is to be looked at next."""
        try:
            return self._work()
        finally:
            for cache in self._caches:
                cache.drop_unused()

    def _work(self) -> Mapping[BarStream, datetime | None]:
        bar_streams.start_with_replay(
            [cache.stream for cache in self._caches], market_now=self._market_now
        )
        works = self._look()
        self._go_on(works)
        next_looks: dict[BarStream, datetime | None] = {}
        for work in self._still(works):
            with self._apart(work.stream):
                next_looks[work.stream] = self._next_look(work)
        return next_looks

    def _still(self, works: Iterable[PendingWork]) -> Iterator[PendingWork]:
        return (work for work in works if work.stream.pk not in self.left_alone)

    @contextmanager
    def _apart(self, stream: BarStream) -> Iterator[None]:
        """What goes wrong with one stream does not stop the others."""
        try:
            yield
        except Exception as error:
            if is_passing(error):
                raise
            log.exception("stream %s is left alone until its lease is over", stream.pk)
            self.left_alone.add(stream.pk)

    def _look(self) -> list[PendingWork]:
        """At all at once, or if that goes wrong at one after the other."""
        try:
            return look(self._caches, market_now=self._market_now)
        except Exception as error:
            if is_passing(error):
                raise
            log.info("%d streams are looked at one by one: %s", len(self._caches), error)
        works = []
        for cache in self._caches:
            with self._apart(cache.stream):
                works += look([cache], market_now=self._market_now)
        return works

    # ----------------------------------------------------------------------------------- the rows

    def _go_on(self, works: Sequence[PendingWork]) -> None:
        ends = time.monotonic() + SECONDS
        for place in range(ROWS_AT_ONCE):
            going = [work for work in self._still(works) if work.waits_at(place)]
            if not going:
                return
            if place:
                _renew(going)
            for parts in _grouped(self._parts(going, place)):
                self._advance(parts)
                if time.monotonic() > ends:
                    return

    def _parts(self, works: Iterable[PendingWork], place: int) -> Iterator[Part]:
        for work in works:
            with self._apart(work.stream):
                for one in _rounds(work, work.outlook.rows[place]):
                    if work.stream.pk not in self.left_alone:
                        yield Part(work, one)

    def _advance(self, parts: Sequence[Part]) -> None:
        """All at once, or if that goes wrong one after the other."""
        try:
            done = advance([part.round for part in parts], now=self._now)
        except Exception as error:
            if is_passing(error):
                raise
            log.info("%d streams are taken on one by one: %s", len(parts), error)
        else:
            self._note(parts, done)
            return
        for part in parts:
            with self._apart(part.work.stream):
                self._note([part], advance([part.round], now=self._now))

    def _note(self, parts: Sequence[Part], done: BatchResult) -> None:
        for work, one in parts:
            if work.stream.pk not in done.held:
                log.info("stream %s was taken by another runner", work.stream.pk)
                self.left_alone.add(work.stream.pk)
                continue
            runs = {context.run.pk for context in one.contexts}
            work.faults |= {run_id: done.faults[run_id] for run_id in runs & done.faults.keys()}
            if one.completes:
                with self._apart(work.stream):
                    self._complete(work)

    def _complete(self, work: PendingWork) -> None:
        work.done += 1
        reasons = {run_id: str(error) for run_id, error in work.faults.items()}
        work.faults = {}
        if reasons:
            give_up(work.stream, reasons, now=self._now)

    # ------------------------------------------------------------------------------ the next look

    def _next_look(self, work: PendingWork) -> datetime | None:
        if not work.stands:
            return None
        if work.done < len(work.outlook.rows):
            return self._now
        looks = [work.outlook.next_look, self._silent_at(work)]
        waits = [max(look - self._market_now, 0) for look in looks if look is not None]
        return self._now + timedelta(seconds=min(waits)) if waits else None

    def _silent_at(self, work: PendingWork) -> int | None:
        """When the runs are given up unless a row comes; if that is now, they are."""
        due = work.silent_at(self._market_now)
        if due is None or due > self._market_now:
            return due
        reasons = {stand.run_id: work.silence for stand in work.stands}
        give_up(work.stream, reasons, now=self._now)
        return None


def _renew(works: Sequence[PendingWork]) -> None:
    """Runs that were started meanwhile go on with the others; others have ended."""
    stands = run_cursors_of([work.stream for work in works])
    for work in works:
        work.stands = stands[work.stream.pk]


def _rounds(work: PendingWork, row: BarSnapshot) -> Iterator[BarStreamBatch]:
    """All runs of the stream that were there when the row closed."""
    cache = work.cache
    cache.open_window(row)
    view = cache.view(work.runs_at(row), row)
    work.faults = view.faults
    batches = list(_batches(view.contexts, RUNS_AT_ONCE)) or [[]]
    for number, batch in enumerate(batches, start=1):
        completes = number == len(batches)
        yield BarStreamBatch(
            cache.stream, row, batch, view.cues, view.terms, view.changes, completes
        )


def _batches(contexts: Sequence[RunContext], size: int) -> Iterator[Sequence[RunContext]]:
    for first in range(0, len(contexts), size):
        yield contexts[first : first + size]


def _grouped(parts: Iterable[Part]) -> Iterator[Sequence[Part]]:
    """As many in one transaction as have RUNS_AT_ONCE runs; no stream is twice in one."""
    group: list[Part] = []
    runs = 0
    for part in parts:
        count = len(part.round.contexts)
        if group and runs + count > RUNS_AT_ONCE:
            yield group
            group, runs = [], 0
        group.append(part)
        runs += count
    if group:
        yield group
