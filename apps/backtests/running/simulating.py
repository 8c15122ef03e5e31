"""The simulation of a backtest, single or of a study.

It compiles, so only workers and commands import it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running import estimates, results
from apps.backtests.running.histories import load_histories
from apps.backtests.running.range_coverage import coverage_of_histories
from apps.backtests.running.receipts import ResultHashes
from apps.backtests.running.submissions import STUDY_FIELDS
from apps.core.machine import cpu_count
from apps.core.times import day_in_india
from apps.engine import History, SimulationInput, SimulationResult, hash_of
from apps.engine.language import parse
from apps.engine.results import Array
from apps.engine.studies import (
    Study,
    prepare_study,
)
from apps.market.candles import SessionCoverage, first_stored_days
from apps.market.rulebook import MarketRules
from apps.market.services import market_rules_of

Floats = NDArray[np.float64]

# The threads of a study; its results do not depend on their number.
THREADS: Final = cpu_count()
# The threads of a shard: every worker of a machine may have one.
THREADS_OF_A_SHARD: Final = max(1, THREADS // settings.BACKTEST_WORKERS)
# The share of the progress that reading the candles makes up; the rest is the simulation.
SHARE_OF_READING: Final = 0.3


class TriedSets(NamedTuple):
    """The number of sets that a study ran, and the Sharpe ratios of their daily returns, if the
    study knows them and they exist.
    """

    tried: int
    ratios: Floats

    @classmethod
    def of_scores(cls, scores: Array) -> "TriedSets | None":
        """Return the sets from the scores of a study; None if its items are not sets."""
        names = scores.dtype.names or ()
        if "ran" not in names:
            return None
        ratios = scores["sharpe"] if "sharpe" in names else np.empty(0)
        return cls(int(scores["ran"].sum()), ratios[~np.isnan(ratios)])


@dataclass(frozen=True, slots=True)
class BacktestOutput:
    """The output of a backtest.

    `result` is of the single simulation, of the best set of an optimisation, or of the joined tests
    of a walk-forward. `study_results` are None for a plain backtest. `coverage` is of the range, by
    symbol. `sets` are None if a single configuration was tried. `chart` is the report's chart of a
    study.
    """

    result: SimulationResult
    study_results: Mapping[str, object] | None
    coverage: tuple[SessionCoverage, ...] = ()
    sets: TriedSets | None = None
    chart: dict[str, object] | None = None

    def hashes(self, study: object) -> ResultHashes:
        """Return the hashes of the receipt: `result` of the whole output, `study` of its
        configuration.
        """
        digest = results.digest(self.result.trades, self.result.curve)
        if self.study_results is None:
            return {"result": digest, "study": None}
        return {"result": hash_of([digest, self.study_results]), "study": hash_of(study)}


def run_backtest(backtest: Backtest, report: Callable[[float], None]) -> BacktestOutput:
    """Simulate a plain backtest. Raises EngineError and the errors of `report`."""
    began = time.perf_counter()
    loaded = load_backtest(backtest, report)
    result = loaded.inputs.simulate(
        lambda done: report(SHARE_OF_READING + (1 - SHARE_OF_READING) * done)
    )
    seconds = time.perf_counter() - began
    estimates.record_speed(backtest, seconds=seconds, bars=loaded.bars)
    return BacktestOutput(result, None, loaded.coverage)


@dataclass(frozen=True, slots=True)
class LoadedBacktest:
    """The input of a backtest's simulation."""

    inputs: SimulationInput
    coverage: tuple[SessionCoverage, ...]

    @property
    def bars(self) -> int:
        """The number of bars of all symbols."""
        return sum(len(history.candles) for history in self.inputs.histories)


def load_backtest(
    backtest: Backtest,
    report: Callable[[float], None],
) -> LoadedBacktest:
    """Read the backtest's market data and rules. Raises EngineError."""
    inputs = load_inputs(
        backtest,
        backtest.configuration,
        lambda done: report(SHARE_OF_READING * done),
    )
    return LoadedBacktest(inputs, tuple(_coverage_of(backtest, inputs.histories)))


def _coverage_of(backtest: Backtest, histories: Sequence[History]) -> Iterator[SessionCoverage]:
    strategy = parse(backtest.configuration)
    return coverage_of_histories(
        histories,
        backtest.timeframe,
        start=backtest.start,
        end=backtest.end,
        now=backtest.created_at,
        include_out_of_session=strategy.executionSettings.includeOutOfSession,
        since=first_stored_days([*backtest.symbols, *strategy.read_symbols]),
    )


def load_inputs(
    backtest: Backtest,
    steps: Mapping[str, Any],
    on_progress: Callable[[float], None] = lambda done: None,
) -> SimulationInput:
    """Return the input for simulating steps over the range of a backtest. Raises EngineError."""
    rules = market_rules_for(backtest, steps)
    histories = load_histories(
        rules,
        owner_id=backtest.owner_id,
        start=backtest.start,
        end=backtest.end,
        max_bars=estimates.most_bars_read(BacktestKind(backtest.kind)),
        on_progress=on_progress,
    )
    return SimulationInput(
        steps,
        histories,
        backtest.start,
        backtest.end,
        float(backtest.initial_capital),
        rules.schedule,
        backtest.seed,
    )


def market_rules_for(backtest: Backtest, steps: Mapping[str, Any]) -> MarketRules:
    """Return the market's rules for steps over the range of a backtest."""
    return market_rules_of(
        parse(steps), first=day_in_india(backtest.start), last=day_in_india(backtest.end)
    )


def study_of(
    backtest: Backtest,
    inputs: SimulationInput,
    *,
    report: Callable[[float], None],
) -> Study:
    """Set up the study of the backtest.

    `report` gets 0 from time to time; its exceptions end the work. Raises EngineError.
    """

    def keep_alive(done: float) -> None:
        report(0.0)

    config = STUDY_FIELDS[BacktestKind(backtest.kind)].model.read(backtest.study or {})
    return prepare_study(config, inputs, on_progress=keep_alive)
