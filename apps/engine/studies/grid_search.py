"""Many sets of parameters over the same bars, on any number of threads.

Bars and rows are prepared once, columns of indicators are shared while their cache holds them; a
set has its own plan, signals and state. The result of a set does not depend on its thread or on
other sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from math import ceil
from threading import Event
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import ist_day
from apps.engine.errors import EngineError, InsufficientBars
from apps.engine.kernel.records import Array, MarketRows, Plan
from apps.engine.lazy import lazy
from apps.engine.results.equity import day_ends, years_held
from apps.engine.results.result_data import ResultData
from apps.engine.results.table import LEAST_DAYS, METRICS, Figure, figures, is_too_short
from apps.engine.signals.signals import SignalMask
from apps.engine.simulation.charges import Schedule
from apps.engine.simulation.plan import Terms, terms_of
from apps.engine.simulation.prepared_data import PreparedData
from apps.engine.simulation.simulations import (
    EVERY_ROW,
    Buffers,
    ReportProgress,
    RowRange,
    Simulation,
    TradedMarket,
    buffers_for,
    row_range_of,
    simulate_plan,
    simulate_plans,
)
from apps.engine.studies.candidates import CandidatePlan, Candidates
from apps.engine.studies.configs import SHOWN
from apps.engine.studies.figures import ShownPerformance
from apps.engine.studies.grid import Grid

CACHE_BYTES: Final = 256 * 2**20
"""Of indicator columns that the sets of a search share."""
SECONDS_BETWEEN_REPORTS: Final = 0.1
CELLS_AT_ONCE: Final = 10_000_000
"""Rows x symbols x sets of which a thread holds signals."""
MOST_AT_ONCE, LEAST_ROUNDS = 96, 4
"""Sets that share columns while these are near, and how often a thread takes some at least."""

Judgement = TypeVar("Judgement")


class NothingToTry(EngineError):
    """No set of the search is valid, or none has two bars with warm indicators."""

    def __init__(self, tried: int) -> None:
        super().__init__(f"None of the {tried:,} sets of parameters makes a strategy that can run.")


class TooShort(EngineError):
    """The objective is an annual figure, and null for so few days."""

    def __init__(self, objective: str, days: int) -> None:
        super().__init__(
            f"{objective} is an annual figure, and null for fewer than {LEAST_DAYS} days of a year"
            f" (21 dates with bars); this range has {days}. Choose {METRICS[objective].annual}"
            " instead, or a longer range."
        )


class CannotRun(EngineError):
    """An invalid set, or a set with too few bars with warm indicators."""


class PreparedPlan(NamedTuple):
    """A plan, the market with its ranges, and its signals u1[symbols, rows]."""

    plan: Plan
    market: MarketRows
    signals: SignalMask


class _Abandoned(Exception):
    """The search was given up while this set ran."""


@dataclass(frozen=True)
class GridSearch:
    """The common parts of a search's sets."""

    data: PreparedData
    steps: Mapping[str, Any]  # JSON as the client wrote it
    grid: Grid
    schedule: Schedule
    capital: float

    @lazy
    def _terms(self) -> Terms:
        return terms_of(self.data.symbols, self.data.contracts, self.schedule)

    @lazy
    def _candidates(self) -> Candidates:
        return Candidates(self.steps, self.grid)

    def _prepared(
        self, candidate: CandidatePlan | None, into: SignalMask | None = None
    ) -> PreparedPlan:
        """Return the input of a set's simulation; `into` is as for `PreparedData.with_signals`.

        Raises CannotRun.
        """
        if candidate is None:
            raise CannotRun
        plan, inputs = candidate
        try:
            return PreparedPlan(plan, *self.data.with_signals(inputs, plan, into))
        except InsufficientBars as error:
            raise CannotRun from error

    def simulate_plan(
        self,
        index: int,
        rows: slice = EVERY_ROW,
        *,
        capital: float | None = None,
        report: ReportProgress,
    ) -> Simulation:
        """Simulate some of the rows, from the capital. Raises CannotRun."""
        plan, market, signals = self._prepared(self._candidates.candidate(index))
        return simulate_plan(
            plan,
            TradedMarket(market, self._terms, self.data.candles),
            signals,
            capital=self.capital if capital is None else capital,
            report=report,
            rows=rows,
        )

    def simulate_plans(
        self,
        indices: Sequence[int],
        row_ranges: Sequence[RowRange],
        buffers: Buffers,
        signals: SignalMask,
        report: ReportProgress,
    ) -> Iterator[tuple[int, list[Simulation] | None]]:
        """Simulate each set from the capital, in each part or in one after the other; yield None
        for a set that cannot run. The order is arbitrary; a whole curve is valid until the next.
        `signals` u1[sets, symbols, rows] is memory for signals.
        """
        ready, begin = dict[int, PreparedPlan](), 0
        candidates = {index: self._candidates.candidate(index) for index in indices}
        for index, candidate in sorted(candidates.items(), key=_by_ranges):
            report(0.0)  # the columns of a shard may take long
            try:
                prepared = self._prepared(candidate, signals[begin + len(ready)])
            except CannotRun:
                yield index, None
                continue
            first, own = next(iter(ready.values()), prepared).market, prepared.market
            pairs = zip(_own_columns(first), _own_columns(own), strict=True)
            if any(column is not other for column, other in pairs):
                yield from self._simulated(ready, signals[begin:], row_ranges, buffers, report)
                ready, begin = {}, begin + len(ready)
            ready[index] = prepared
        if ready:
            yield from self._simulated(ready, signals[begin:], row_ranges, buffers, report)

    def _simulated(
        self,
        ready: Mapping[int, PreparedPlan],
        signals: SignalMask,
        row_ranges: Sequence[RowRange],
        buffers: Buffers,
        report: ReportProgress,
    ) -> Iterator[tuple[int, list[Simulation]]]:
        """Simulate some sets, at least one, that share ranges and ranks; their signals come first
        in `signals`.
        """
        market = next(iter(ready.values())).market
        traded = TradedMarket(market, self._terms, self.data.candles)
        for group in [row_ranges] if buffers.by_days else [[row_range] for row_range in row_ranges]:
            simulation = simulate_plans(
                [prepared.plan for prepared in ready.values()],
                traded,
                signals[: len(ready)],
                group,
                capital=self.capital,
                report=report,
                buffers=buffers,
            )
            for position, index in enumerate(ready):
                yield index, simulation[position * len(group) : (position + 1) * len(group)]


def _own_columns(market: MarketRows) -> tuple[Array, ...]:
    """Return the columns of a market that are a strategy's own."""
    return market.atr, market.levels, market.ranks


def _by_ranges(item: tuple[int, CandidatePlan | None]) -> tuple[tuple[int, ...], int]:
    """Sort key: sets with equal ATR periods together, then by number, so that those with equal slow
    values are together.
    """
    index, candidate = item
    return candidate.inputs.atr_periods if candidate else (), index


class _Workspace(NamedTuple):
    """The memory of a thread."""

    buffers: Buffers
    signals: SignalMask


def _workspace(market: MarketRows, row_ranges: Sequence[RowRange], plans: int) -> _Workspace:
    by_days = row_ranges[0].sampled is not None
    buffers = buffers_for(market, row_ranges if by_days else row_ranges[:1], plans)
    return _Workspace(buffers, np.empty((plans, market.symbols, market.rows), np.uint8))


def search_grid(
    search: GridSearch,
    indices: Sequence[int],
    slices: Sequence[slice],
    judge: Callable[[ResultData], Judgement],
    *,
    by_days: bool = False,
    threads: int,
    report: ReportProgress,
) -> list[list[Judgement] | None]:
    """Return the judgement of each set in each slice of the rows; None for a set that cannot run.

    `by_days`: it reads figures of METRICS that need only days. `report` gets the fraction done, ten
    times a second, in the calling thread; its exceptions end the search.
    """
    market = search.data.market
    row_ranges = [row_range_of(market, rows, by_days=by_days) for rows in slices]
    size = _sets_at_a_time(market, len(indices), threads, by_days=by_days)
    abandoned, workspaces = Event(), [_workspace(market, row_ranges, size) for _ in range(threads)]
    shards = iter(search.grid.shards(indices, ceil(len(indices) / size)))
    judgements = dict[int, list[Judgement] | None]()

    def unless_abandoned(done: float) -> None:
        if abandoned.is_set():
            raise _Abandoned

    def work(workspace: _Workspace) -> None:
        for shard in shards:  # of all threads: each takes the next
            unless_abandoned(0.0)
            for index, simulation in search.simulate_plans(
                shard, row_ranges, *workspace, unless_abandoned
            ):
                judged = judgements.setdefault(index, [] if simulation else None)
                if judged is not None:
                    judged += [judge(simulation.result_data) for simulation in simulation or ()]

    with ThreadPoolExecutor(threads) as pool:
        working = set[Future[None]]()
        try:
            working |= {pool.submit(work, workspace) for workspace in workspaces}
            while working:
                timeout = SECONDS_BETWEEN_REPORTS
                ended, working = wait_for(working, timeout, return_when=FIRST_COMPLETED)
                while ended:  # a failure refers to this frame, which must not refer to it
                    ended.pop().result()
                report(len(judgements) / len(indices))
        finally:
            abandoned.set()
            ended = set()
    return [judgements[index] for index in indices]


def _sets_at_a_time(market: MarketRows, sets: int, threads: int, *, by_days: bool) -> int:
    """Return a number small enough that threads end together and signals need little memory; one if
    each leaves a whole curve.
    """
    if not by_days:
        return 1
    most = max(min(CELLS_AT_ONCE // (market.symbols * market.rows), MOST_AT_ONCE), 1)
    rounds = max(ceil(sets / (threads * most)), LEAST_ROUNDS)
    return max(ceil(sets / (threads * rounds)), 1)


def require_days(market: MarketRows, slices: Iterable[slice], objective: str) -> None:
    """Require that each slice of the rows is long enough for the objective. Raises TooShort."""
    if METRICS[objective].annual:
        for rows in slices:
            time = market.time[rows]
            days = ist_day(time[day_ends(time)])
            if is_too_short(years_held(days)):
                raise TooShort(objective, len(days))


def objective_of(result_data: ResultData, name: str) -> Figure:
    """Return the figure by which a search ranks; None, ranked last, without trades or for a null
    figure.
    """
    return METRICS[name].of(result_data) if len(result_data.trades) else None


def rank(objectives: NDArray[np.float64], name: str) -> NDArray[np.intp]:
    """Return the order of the sets, the best first: ties by their number; NaN, instead of None,
    last (rule 19).
    """
    return np.argsort(objectives if METRICS[name].falls else -objectives, kind="stable")


def shown(result_data: ResultData) -> ShownPerformance:
    return cast(ShownPerformance, figures(result_data, SHOWN))
