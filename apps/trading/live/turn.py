"""Some lanes that a runner has taken, for a few seconds: one row of each after the other, those of
several lanes in one transaction.
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
from apps.trading.bar_rows import Row
from apps.trading.live.commit import Done, Round, advance, give_up
from apps.trading.live.pending import Visit, look, stands_on
from apps.trading.live.step import Member
from apps.trading.live.stream_cache import Desk
from apps.trading.models import Lane

RUNS_AT_ONCE: Final = 500
"""Of one transaction."""
ROWS_AT_ONCE: Final = 50
"""Of one lane, before others have their turn."""
SECONDS: Final = 5.0
"""After so long nothing more is begun, far from the end of the leases."""

log = logging.getLogger(__name__)


class Part(NamedTuple):
    """What one lane brings to a transaction."""

    visit: Visit
    round: Round


class Turn:
    """`left_alone` are the ids of lanes that somebody else has by now, or that have a trouble of
    their own: they are tried again when their lease is over.
    """

    def __init__(self, desks: Sequence[Desk], *, now: datetime) -> None:
        self._desks, self._now = desks, now
        self._market_now = clock.market_time(now=now)
        self.left_alone: set[int] = set()

    def work(self) -> Mapping[Lane, datetime | None]:
        """Take the lanes as far as they go; when each is to be looked at next."""
        try:
            return self._work()
        finally:
            for desk in self._desks:
                desk.drop_unused()

    def _work(self) -> Mapping[Lane, datetime | None]:
        bar_streams.begin_with_replay(
            [desk.lane for desk in self._desks], market_now=self._market_now
        )
        visits = self._look()
        self._go_on(visits)
        next_looks: dict[Lane, datetime | None] = {}
        for visit in self._still(visits):
            with self._apart(visit.lane):
                next_looks[visit.lane] = self._next_look(visit)
        return next_looks

    def _still(self, visits: Iterable[Visit]) -> Iterator[Visit]:
        return (visit for visit in visits if visit.lane.pk not in self.left_alone)

    @contextmanager
    def _apart(self, lane: Lane) -> Iterator[None]:
        """What goes wrong with one lane does not stop the others."""
        try:
            yield
        except Exception as error:
            if is_passing(error):
                raise
            log.exception("lane %s is left alone until its lease is over", lane.pk)
            self.left_alone.add(lane.pk)

    def _look(self) -> list[Visit]:
        """At all at once, or if that goes wrong at one after the other."""
        try:
            return look(self._desks, market_now=self._market_now)
        except Exception as error:
            if is_passing(error):
                raise
            log.info("%d lanes are looked at one by one: %s", len(self._desks), error)
        visits = []
        for desk in self._desks:
            with self._apart(desk.lane):
                visits += look([desk], market_now=self._market_now)
        return visits

    # ----------------------------------------------------------------------------------- the rows

    def _go_on(self, visits: Sequence[Visit]) -> None:
        ends = time.monotonic() + SECONDS
        for place in range(ROWS_AT_ONCE):
            going = [visit for visit in self._still(visits) if visit.waits_at(place)]
            if not going:
                return
            if place:
                _renew(going)
            for parts in _grouped(self._parts(going, place)):
                self._advance(parts)
                if time.monotonic() > ends:
                    return

    def _parts(self, visits: Iterable[Visit], place: int) -> Iterator[Part]:
        for visit in visits:
            with self._apart(visit.lane):
                for one in _rounds(visit, visit.outlook.rows[place]):
                    if visit.lane.pk not in self.left_alone:
                        yield Part(visit, one)

    def _advance(self, parts: Sequence[Part]) -> None:
        """All at once, or if that goes wrong one after the other."""
        try:
            done = advance([part.round for part in parts], now=self._now)
        except Exception as error:
            if is_passing(error):
                raise
            log.info("%d lanes are taken on one by one: %s", len(parts), error)
        else:
            self._note(parts, done)
            return
        for part in parts:
            with self._apart(part.visit.lane):
                self._note([part], advance([part.round], now=self._now))

    def _note(self, parts: Sequence[Part], done: Done) -> None:
        for visit, one in parts:
            if visit.lane.pk not in done.held:
                log.info("lane %s was taken by another runner", visit.lane.pk)
                self.left_alone.add(visit.lane.pk)
                continue
            runs = {member.run.pk for member in one.members}
            visit.faults |= {run_id: done.faults[run_id] for run_id in runs & done.faults.keys()}
            if one.completes:
                with self._apart(visit.lane):
                    self._complete(visit)

    def _complete(self, visit: Visit) -> None:
        visit.done += 1
        reasons = {run_id: str(error) for run_id, error in visit.faults.items()}
        visit.faults = {}
        if reasons:
            give_up(visit.lane, reasons, now=self._now)

    # ------------------------------------------------------------------------------ the next look

    def _next_look(self, visit: Visit) -> datetime | None:
        if not visit.stands:
            return None
        if visit.done < len(visit.outlook.rows):
            return self._now
        looks = [visit.outlook.next_look, self._silent_at(visit)]
        waits = [max(look - self._market_now, 0) for look in looks if look is not None]
        return self._now + timedelta(seconds=min(waits)) if waits else None

    def _silent_at(self, visit: Visit) -> int | None:
        """When the runs are given up unless a row comes; if that is now, they are."""
        due = visit.silent_at(self._market_now)
        if due is None or due > self._market_now:
            return due
        reasons = {stand.run_id: visit.silence for stand in visit.stands}
        give_up(visit.lane, reasons, now=self._now)
        return None


def _renew(visits: Sequence[Visit]) -> None:
    """Runs that were started meanwhile go on with the others; others have ended."""
    stands = stands_on([visit.lane for visit in visits])
    for visit in visits:
        visit.stands = stands[visit.lane.pk]


def _rounds(visit: Visit, row: Row) -> Iterator[Round]:
    """All runs of the lane that were there when the row closed."""
    desk = visit.desk
    desk.open_window(row)
    view = desk.view(visit.runs_at(row), row)
    visit.faults = view.faults
    batches = list(_batches(view.members, RUNS_AT_ONCE)) or [[]]
    for number, batch in enumerate(batches, start=1):
        completes = number == len(batches)
        yield Round(desk.lane, row, batch, view.cues, view.terms, view.changes, completes)


def _batches(members: Sequence[Member], size: int) -> Iterator[Sequence[Member]]:
    for first in range(0, len(members), size):
        yield members[first : first + size]


def _grouped(parts: Iterable[Part]) -> Iterator[Sequence[Part]]:
    """As many in one transaction as have RUNS_AT_ONCE runs; no lane is twice in one."""
    group: list[Part] = []
    runs = 0
    for part in parts:
        count = len(part.round.members)
        if group and runs + count > RUNS_AT_ONCE:
            yield group
            group, runs = [], 0
        group.append(part)
        runs += count
    if group:
        yield group
