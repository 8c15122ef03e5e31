"""A runner: takes lanes that wait to be looked at, and their runs through the rows that are closed.

Any number of runners share the lanes. Nothing that one keeps in memory is missed when it is gone.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from apps.engine.sessions import Sessions
from apps.market import rule_sets
from apps.market.calendars import calendars_of
from apps.market.rulebook.rule_set import RuleSet
from apps.trading.live import leases
from apps.trading.live.stream_cache import Desk
from apps.trading.live.turn import Turn
from apps.trading.models import Lane

DESKS: Final = 500
"""Lanes whose windows are kept in memory, those that were worked on last."""


class Runner:
    """One of the service's runners; what it remembers of lanes is its own."""

    def __init__(self) -> None:
        self._desks: OrderedDict[int, Desk] = OrderedDict()

    def work(self, *, now: datetime) -> bool:
        """Take some lanes as far as they go; False when none waits to be looked at."""
        taken = leases.take(had=[desk.lane for desk in self._desks.values()], now=now)
        if taken:
            self._work_on(taken, now)
        return bool(taken)

    def _work_on(self, taken: Sequence[Lane], now: datetime) -> None:
        turn = Turn(self._desks_of(taken), now=now)
        try:
            next_looks = turn.work()
        except Exception:
            leases.let_go({lane: now for lane in taken if lane.pk not in turn.left_alone})
            raise
        leases.let_go(next_looks)
        for pk in turn.left_alone:
            del self._desks[pk]
        while len(self._desks) > DESKS:
            self._desks.popitem(last=False)

    def _desks_of(self, taken: Sequence[Lane]) -> list[Desk]:
        # Asked anew each turn: of all lanes that is one statement, and whoever loads a master in
        # the midst of a session has nobody to tell.
        book = rule_sets.current_rule_set()
        hours = calendars_of({symbol for lane in taken for symbol in lane.symbols}, book=book)
        return [self._desk_of(lane, book, hours) for lane in taken]

    def _desk_of(self, lane: Lane, book: RuleSet, hours: Mapping[str, Sessions]) -> Desk:
        desk = self._desks.pop(lane.pk, None) or Desk.of(lane, book, hours)
        desk.lane = lane
        desk.go_by(book, hours)
        self._desks[lane.pk] = desk
        return desk
