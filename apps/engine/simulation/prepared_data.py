"""The bars of a simulation, set up once for any number of strategies that differ in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from apps.engine.candles import Candles
from apps.engine.kernel.records import Market, Plan
from apps.engine.language.strategy import Strategy
from apps.engine.signals.columns import ColumnCache
from apps.engine.signals.required_inputs import RequiredInputs
from apps.engine.signals.signals import SignalMask
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
        inputs: RequiredInputs,
        plan: Plan,
        into: SignalMask | None = None,
    ) -> tuple[Market, SignalMask]:
        """The market with the ranges that are required, and its signals u1[symbols, rows]; `into`
        is the place of these, if it is given.

        Raises InsufficientBars when too few bars are warm for it.
        """
        if len(self.tracks) == 1:
            own = None if into is None else into[0]
            only = cues_of(inputs, plan, self.tracks[0], cache=self.caches[0], into=own)
            return cue(self.joined, [only])
        cues = (
            cues_of(inputs, plan, track, cache=cache)
            for track, cache in zip(self.tracks, self.caches, strict=True)
        )
        if not any(inputs.atr_periods):
            return cue(self.joined, cues, into)
        key = inputs.atr_periods, ranges_asked(plan).tobytes()
        (laid,) = self.laid.get(key) or (None,)
        market, heard = cue(self.joined, cues, into, laid)
        self.laid.add(key, (market.atr,))
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

    Raises InsufficientBars, MissingCalendar.
    """
    tracks = []
    for history in histories:
        tracks.append(track_of(strategy, history, start, end))
        report(0.0)
    share = cache_bytes // (len(tracks) + (len(tracks) > 1))
    caches = [ColumnCache(share) for _ in tracks]
    return Stage(histories, tracks, join(tracks), caches, ColumnCache(share), start, end)
