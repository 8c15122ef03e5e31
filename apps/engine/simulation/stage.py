"""The bars of a simulation, set up once for any number of strategies that differ in numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from apps.engine.candles import Candles, address
from apps.engine.kernel.records import Market, Plan
from apps.engine.language.strategy import Strategy
from apps.engine.signals.compiled import COMPILED
from apps.engine.signals.programs import Bits, Run
from apps.engine.signals.values import ColumnCache, Parts
from apps.engine.signals.watch import Watch
from apps.engine.simulation.market import Joined, cue, join
from apps.engine.simulation.plan import Contract, ranges_asked
from apps.engine.simulation.timeline import History, Track, cues_of, track_of


class Stage(NamedTuple):
    """`joined` is without ranges: they and the signals are a strategy's own. `caches` keep the
    columns of each track, `laid` the ranges of all that are put together.
    """

    histories: Sequence[History]
    tracks: Sequence[Track]
    joined: Joined
    caches: Sequence[ColumnCache]
    laid: ColumnCache
    start: int
    end: int

    @property
    def market(self) -> Market:
        return self.joined.market

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(history.symbol for history in self.histories)

    @property
    def contracts(self) -> list[Contract]:
        """As they are before the end of the range."""
        return [history.contract.until(self.end) for history in self.histories]

    @property
    def candles(self) -> list[Candles]:
        """The bars in the range, of each symbol."""
        return [track.candles for track in self.tracks]

    def cued(
        self,
        watch: Watch,
        plan: Plan,
        into: Bits | None = None,
        run: Run | None = None,
    ) -> tuple[Market, Bits]:
        """The market with the ranges that are watched, and its signals u1[rows, symbols]; `into` is
        the place of these, if it is given, and of a lone symbol `run` may set them later.

        Raises InsufficientData when too few bars are warm for it.
        """
        if len(self.tracks) == 1:
            own, later = (None, None) if into is None else (into[:, 0], run)
            kept = self.caches[0]
            only = cues_of(watch, plan, self.tracks[0], columns=kept, into=own, run=later)
            return cue(self.joined, [only])
        cues = (
            cues_of(watch, plan, track, columns=kept)
            for track, kept in zip(self.tracks, self.caches, strict=True)
        )
        if not any(watch.atr_periods):
            return cue(self.joined, cues, into)
        key = watch.atr_periods, ranges_asked(plan).tobytes()
        (laid,) = self.laid.get(key) or (None,)
        market, heard = cue(self.joined, cues, into, laid)
        self.laid.keep(key, (market.atr,))
        return market, heard


def stage_of(
    strategy: Strategy,
    histories: Sequence[History],
    *,
    start: int,
    end: int,
    report: Callable[[float], None],
    cache_bytes: int = 0,
) -> Stage:
    """The bars with start <= time < end. `cache_bytes`: of columns that are kept, of all symbols.

    Raises InsufficientData, MissingCalendar.
    """
    tracks = []
    for history in histories:
        tracks.append(track_of(strategy, history, start, end))
        report(0.0)
    share = cache_bytes // (len(tracks) + (len(tracks) > 1))
    caches = _caches(tracks, share)
    return Stage(histories, tracks, join(tracks), caches, ColumnCache(share), start, end)


def _caches(tracks: Sequence[Track], share: int) -> list[ColumnCache]:
    """One of each; where bars have the same times, their parts are worked out once."""
    parts = defaultdict[tuple[int, int], Parts](dict)
    times = [track.used.time for track in tracks]
    return [ColumnCache(share, COMPILED, parts[address(time), len(time)]) for time in times]
