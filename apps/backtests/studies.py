"""Running what was asked for: one simulation, or a study of many. For workers: it compiles."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from apps.backtests import arrays
from apps.backtests.kinds import ASKED, Kind
from apps.backtests.models import Backtest
from apps.engine.charges import Schedule
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.receipt import hash_of
from apps.engine.simulation.simulate import History, Result, simulate
from apps.engine.studies import configs as studies
from apps.engine.studies.configs import MonteCarloConfig, OptimizationConfig, WalkForwardConfig
from apps.engine.studies.monte_carlo import monte_carlo
from apps.engine.studies.optimise import optimise
from apps.engine.studies.walk_forward import walk_forward
from apps.market.coverage import SessionCoverage

THREADS: Final = os.cpu_count() or 1
"""Of a study; what it finds does not depend on their number."""
SHARE_OF_SIMULATION: Final = 0.5
"""Of the progress of a Monte Carlo: the rest is drawing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`result`: of the one simulation, the best set of an optimisation, or the joined tests of a
    walk-forward. `findings`: what a study tells beside it, None for a plain backtest. `coverage`:
    of the range, by symbol.
    """

    result: Result
    findings: dict[str, object] | None
    coverage: tuple[SessionCoverage, ...] = ()

    def hashes(self, study: object) -> dict[str, object]:
        """`result`, of all that came of it, and `study`, of what was asked; for the receipt."""
        digest = arrays.digest(self.result.trades, self.result.curve)
        if self.findings is None:
            return {"result": digest, "study": None}
        return {"result": hash_of([digest, self.findings]), "study": hash_of(study)}


def outcome_of(
    backtest: Backtest,
    strategy: Strategy,
    histories: Sequence[History],
    schedule: Schedule,
    *,
    report: Callable[[float], None],
) -> Outcome:
    """Run it; `report` is told the fraction that is done, and what it raises ends the run.

    Raises what the engine refuses.
    """
    start, end, seed = backtest.start, backtest.end, backtest.seed
    steps, capital = backtest.configuration, float(backtest.initial_capital)

    def simulated(on_progress: Callable[[float], None]) -> Result:
        return simulate(
            strategy, histories, start=start, end=end, capital=capital, schedule=schedule,
            seed=seed, on_progress=on_progress,
        )  # fmt: skip

    match _asked(backtest):
        case WalkForwardConfig() as config:
            return Outcome(
                *walk_forward(
                    steps, config, histories, start=start, end=end, capital=capital,
                    schedule=schedule, seed=seed, threads=THREADS, on_progress=report,
                )
            )  # fmt: skip
        case OptimizationConfig() as config:
            return Outcome(
                *optimise(
                    steps, config, histories, start=start, end=end, capital=capital,
                    schedule=schedule, seed=seed, threads=THREADS, on_progress=report,
                )
            )  # fmt: skip
        case MonteCarloConfig() as config:
            result = simulated(lambda done: report(SHARE_OF_SIMULATION * done))
            findings = monte_carlo(
                result.trades, config, capital=capital, seed=seed, threads=THREADS,
                on_progress=lambda done: report(
                    SHARE_OF_SIMULATION + (1 - SHARE_OF_SIMULATION) * done
                ),
            )  # fmt: skip
            return Outcome(result, findings)
    return Outcome(simulated(report), None)


def _asked(backtest: Backtest) -> studies.Config | None:
    asking = ASKED.get(Kind(backtest.kind))
    return None if asking is None else studies.parse(asking.model, backtest.study or {})
