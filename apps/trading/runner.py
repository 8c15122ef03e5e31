"""A runner: takes lanes that wait to be looked at, and their runs through the rows that are closed.

Any number of runners share the lanes. Nothing that one keeps in memory is missed when it is gone.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from apps.engine.candles import TIMEFRAMES
from apps.engine.sessions import Sessions
from apps.market import clock, store
from apps.trading import lanes
from apps.trading.advance import Round, advance, give_up
from apps.trading.desk import Desk
from apps.trading.lanes import LeaseLost
from apps.trading.models import Lane, RunState
from apps.trading.playing import Member
from apps.trading.rows import (
    GIVEN_UP_AFTER,
    Outlook,
    Row,
    closed,
    nominal_end,
    silent_at,
    unpacked,
)

RUNS_AT_ONCE: Final = 500
"""Of one transaction."""
DESKS: Final = 500
"""Lanes whose windows are kept in memory, those that were worked on last."""
ROWS_AT_ONCE: Final = 50
"""Of one lane, before others have their turn."""

log = logging.getLogger(__name__)


class Runner:
    """One of the service's runners; what it remembers of lanes is its own."""

    def __init__(self) -> None:
        self._desks: OrderedDict[int, Desk] = OrderedDict()

    def work(self, *, now: datetime) -> bool:
        """Take one lane as far as it goes; False when none waits to be looked at."""
        lane = lanes.take(now=now)
        if lane is None:
            return False
        try:
            self._work_on(lane, now)
        except LeaseLost:
            log.info("lane %s was taken by another runner", lane.pk)
            self._desks.pop(lane.pk, None)
        return True

    def _work_on(self, lane: Lane, now: datetime) -> None:
        market_now = clock.market_time(now=now)
        lanes.begin_with_replay(lane, market_now=market_now)
        states = list(RunState.objects.filter(lane=lane).only("run_id", "row_time", "since"))
        if not states:
            lanes.let_go(lane, next_look=None)
            return
        if all(state.row_time is None for state in states):
            lane.began = lane.row_time = None  # a stretch ends with its last run
        desk = self._desk_of(lane)
        outlook = self._outlook(desk, states, market_now)
        for row in outlook.rows[:ROWS_AT_ONCE]:
            self._take_through(desk, row, now)
            lane.row_time = row.time
        if len(outlook.rows) > ROWS_AT_ONCE:
            lanes.let_go(lane, next_look=now)
            return
        looks = [outlook.next_look, self._silent_at(desk, states, market_now, now)]
        waits = [max(look - market_now, 0) for look in looks if look is not None]
        lanes.let_go(lane, next_look=now + timedelta(seconds=min(waits)) if waits else None)

    def _silent_at(
        self, desk: Desk, states: Sequence[RunState], market_now: int, now: datetime
    ) -> int | None:
        """When the lane's runs are given up unless a row comes; if that is now, they are."""
        lane, since = desk.lane, max(state.since for state in states)
        if lane.row_time is not None:
            since = max(since, nominal_end(lane.row_time, lane.timeframe, desk.calendars))
        due = silent_at(lane.timeframe, desk.calendars, since=since, now=market_now)
        if due is None or due > market_now:
            return due
        reason = f"no bars for {GIVEN_UP_AFTER} x {lane.timeframe}"
        give_up(lane, {state.run_id: reason for state in states}, now=now)
        return None

    def _desk_of(self, lane: Lane) -> Desk:
        desk = self._desks.pop(lane.pk, None) or Desk.of(lane)
        desk.lane = lane
        self._desks[lane.pk] = desk
        if len(self._desks) > DESKS:
            self._desks.popitem(last=False)
        return desk

    def _outlook(self, desk: Desk, states: Sequence[RunState], market_now: int) -> Outlook:
        """The rows to come. One that some runs have been through already is as those had it."""
        lane = desk.lane
        if (begun := _begun(lane, desk.calendars)) is not None:
            return Outlook([begun], market_now)
        since = min(state.since for state in states)
        after = lane.row_time
        if after is None:
            after = since - TIMEFRAMES[lane.timeframe]  # a bar that is not closed by then
        series = [
            store.closed(symbol, lane.timeframe, start=after + 1, clock=market_now)
            for symbol in lane.symbols
        ]
        outlook = closed(series, lane.timeframe, desk.calendars, now=market_now)
        return Outlook([row for row in outlook.rows if row.closes > since], outlook.next_look)

    def _take_through(self, desk: Desk, row: Row, now: datetime) -> None:
        """All runs of the lane that were there when the row closed."""
        ids = RunState.objects.filter(lane=desk.lane, since__lt=row.closes).order_by("run")
        desk.open_window(row)
        view = desk.view(ids.values_list("run_id", flat=True), row)
        faults = view.faults
        batches = list(_batches(view.members, RUNS_AT_ONCE)) or [[]]
        for number, batch in enumerate(batches, start=1):
            completes = number == len(batches)
            one = Round(desk.lane, row, batch, view.cues, view.terms, view.changes, completes)
            faults |= advance(one, now=now)
            desk.lane.began = desk.lane.began or row.time
        if faults:
            give_up(desk.lane, {run_id: str(error) for run_id, error in faults.items()}, now=now)


def _begun(lane: Lane, calendars: Sequence[Sessions]) -> Row | None:
    """The row that some runs have been through, and not yet all."""
    if lane.began is None:
        return None
    rows = lane.rows.filter(time__gte=lane.began)
    if lane.row_time is not None:
        rows = rows.filter(time__gt=lane.row_time)
    row = rows.order_by("time").first()
    if row is None:
        return None
    bars = unpacked(bytes(row.bars), len(lane.symbols))
    return Row(row.time, nominal_end(row.time, lane.timeframe, calendars), bars)


def _batches(members: Sequence[Member], size: int) -> Iterator[Sequence[Member]]:
    for first in range(0, len(members), size):
        yield members[first : first + size]
