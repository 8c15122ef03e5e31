"""A runner: takes lanes that wait to be looked at, and their runs through the rows that are closed.

Any number of runners share the lanes. Nothing that one keeps in memory is missed when it is gone.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from apps.market import editions
from apps.market.rulebook.book import Rulebook
from apps.trading import leases
from apps.trading.desk import Desk
from apps.trading.models import Lane
from apps.trading.turn import Turn

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
        book = editions.current()
        turn = Turn([self._desk_of(lane, book) for lane in taken], now=now)
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

    def _desk_of(self, lane: Lane, book: Rulebook) -> Desk:
        desk = self._desks.pop(lane.pk, None) or Desk.of(lane, book)
        desk.lane = lane
        desk.go_by(book)
        self._desks[lane.pk] = desk
        return desk
