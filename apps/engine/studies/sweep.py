"""Many sets of parameters over the same bars, on as many threads as are wanted.

Bars, rows and flags are set up once, columns of indicators are computed once and shared; a set has
its own plan, signals and state. What a set gives does not depend on its thread or on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from functools import cached_property
from threading import Event, local
from typing import Any, Final, TypeVar

from apps.engine.charges import Schedule
from apps.engine.errors import EngineError, InsufficientData
from apps.engine.figures.facts import Facts
from apps.engine.figures.metrics import METRICS, Figure, figures
from apps.engine.kernel.records import Market, Out
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.plan import Terms, plan_of, terms_of
from apps.engine.simulation.simulate import EVERY_ROW, Played, Progress, play, room_for
from apps.engine.simulation.stage import Stage
from apps.engine.studies.configs import SHOWN
from apps.engine.studies.grid import Grid
from apps.engine.studies.strategies import Strategies

CACHE_BYTES: Final = 256 * 2**20
"""Of indicator columns that the sets of a search share."""
SECONDS_BETWEEN_REPORTS: Final = 0.1

Found = TypeVar("Found")


class NothingToTry(EngineError):
    """No set of the search validates, or none has two bars with warm indicators."""

    def __init__(self, tried: int) -> None:
        super().__init__(f"None of the {tried:,} sets of parameters makes a strategy that can run.")


class CannotRun(EngineError):
    """A set that does not validate, or has too few bars with warm indicators."""


class _Abandoned(Exception):
    """The search was given up while this set ran."""


@dataclass(frozen=True)
class Search:
    """What every set of a search has in common."""

    stage: Stage
    steps: Mapping[str, Any]  # JSON as the client wrote it
    grid: Grid
    schedule: Schedule
    capital: float

    @cached_property
    def _strategies(self) -> Strategies:
        return Strategies(self.steps, [one.path for one in self.grid.parameters])

    @cached_property
    def _terms(self) -> Terms:
        return terms_of(self.stage.contracts, self.schedule)

    def strategy(self, index: int) -> Strategy | None:
        """The strategy of a set; None where it does not validate."""
        return self._strategies.of(self.grid.values(index))

    def play(
        self,
        index: int,
        rows: slice = EVERY_ROW,
        *,
        capital: float | None = None,
        report: Progress,
    ) -> Played:
        """Some of the rows, from the capital. Raises CannotRun."""
        return next(self.parts(index, [rows], capital=capital, report=report))

    def parts(
        self,
        index: int,
        parts: Sequence[slice],
        *,
        capital: float | None = None,
        report: Progress,
        out: Out | None = None,
    ) -> Iterator[Played]:
        """Each part of the rows on its own, from the capital; written to `out`, where one is given,
        it lasts until the next. Raises CannotRun.
        """
        strategy = self.strategy(index)
        if strategy is None:
            raise CannotRun
        plan = plan_of(strategy)
        try:
            market, signals = self.stage.cued(strategy, plan)
        except InsufficientData as error:
            raise CannotRun from error
        for rows in parts:
            yield play(
                plan,
                market,
                signals,
                self._terms,
                capital=self.capital if capital is None else capital,
                report=report,
                rows=rows,
                out=out,
            )


class _Room(local):
    """Where the sets that one thread plays are written, one over the other: new memory would have
    to be made ready by the system for each.
    """

    def __init__(self, market: Market) -> None:
        self.out = room_for(market)


def sweep(
    search: Search,
    indices: Sequence[int],
    parts: Sequence[slice],
    judge: Callable[[Facts], Found],
    *,
    threads: int,
    report: Progress,
) -> list[list[Found] | None]:
    """What `judge` says of each set in each part; None for a set that cannot run.

    `report` is told the fraction that is done, ten times a second, in the calling thread; what it
    raises ends the search.
    """
    abandoned, room = Event(), _Room(search.stage.market)
    waiting, found = iter(enumerate(indices)), dict[int, list[Found] | None]()

    def unless_abandoned(done: float) -> None:
        if abandoned.is_set():
            raise _Abandoned

    def judged(index: int) -> list[Found] | None:
        try:
            played = search.parts(index, parts, report=unless_abandoned, out=room.out)
            return [judge(facts_of(one, search.capital, search.stage)) for one in played]
        except CannotRun:
            return None

    def work() -> None:
        for place, index in waiting:  # of all threads: each takes the next
            unless_abandoned(0.0)
            found[place] = judged(index)

    with ThreadPoolExecutor(threads) as pool:
        working = {pool.submit(work) for _ in range(threads)}
        try:
            while working:
                timeout = SECONDS_BETWEEN_REPORTS
                ended, working = wait_for(working, timeout, return_when=FIRST_COMPLETED)
                for one in ended:
                    one.result()
                report(len(found) / len(indices))
        finally:
            abandoned.set()
    return [found[place] for place in range(len(indices))]


def facts_of(played: Played, capital: float, stage: Stage) -> Facts:
    curve = {"time": played.time, "equity": played.equity}
    return Facts(played.trades, curve, capital, stage.candles)


def objective_of(facts: Facts, name: str) -> Figure:
    """The figure that a search ranks by; None, which ranks last, where nothing was traded."""
    return METRICS[name].of(facts) if len(facts.trades) else None


def rank(found: Mapping[int, Figure], name: str) -> list[int]:
    """The sets, best first: ties by their number, None last (rule 19)."""
    sign = 1 if METRICS[name].falls else -1

    def place(index: int) -> tuple[bool, float, int]:
        figure = found[index]
        return (True, 0.0, index) if figure is None else (False, sign * figure, index)

    return sorted(found, key=place)


def shown(facts: Facts) -> dict[str, Figure]:
    return figures(facts, SHOWN)
