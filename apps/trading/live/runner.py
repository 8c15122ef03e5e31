"""A runner leases streams that have work, and takes their runs through the rows that are closed.

Any number of runners share the streams. Nothing that one keeps in memory is missed when it is gone.
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
from apps.trading.live.stream_cache import BarStreamCache
from apps.trading.live.turn import LeasedStreams
from apps.trading.models import BarStream

DESKS: Final = 500
"""Lanes whose windows are kept in memory, those that were worked on last."""


class Runner:
    """One of the service's runners; what it remembers of streams is its own."""

    def __init__(self) -> None:
        self._caches: OrderedDict[int, BarStreamCache] = OrderedDict()

    def work(self, *, now: datetime) -> bool:
        """Take some streams as far as they go; False when none waits to be looked at."""
        taken = leases.acquire(had=[cache.stream for cache in self._caches.values()], now=now)
        if taken:
            self._work_on(taken, now)
        return bool(taken)

    def _work_on(self, taken: Sequence[BarStream], now: datetime) -> None:
        turn = LeasedStreams(self._caches_of(taken), now=now)
        try:
            next_looks = turn.work()
        except Exception:
            leases.release({stream: now for stream in taken if stream.pk not in turn.left_alone})
            raise
        leases.release(next_looks)
        for pk in turn.left_alone:
            del self._caches[pk]
        while len(self._caches) > DESKS:
            self._caches.popitem(last=False)

    def _caches_of(self, taken: Sequence[BarStream]) -> list[BarStreamCache]:
        # Asked anew each turn: of all streams that is one statement, and whoever loads a master in
        # the midst of a session has nobody to tell.
        rule_set = rule_sets.current_rule_set()
        hours = calendars_of(
            {symbol for stream in taken for symbol in stream.symbols}, rule_set=rule_set
        )
        return [self._cache_of(stream, rule_set, hours) for stream in taken]

    def _cache_of(
        self, stream: BarStream, rule_set: RuleSet, hours: Mapping[str, Sessions]
    ) -> BarStreamCache:
        cache = self._caches.pop(stream.pk, None) or BarStreamCache.of(stream, rule_set, hours)
        cache.stream = stream
        cache.go_by(rule_set, hours)
        self._caches[stream.pk] = cache
        return cache
