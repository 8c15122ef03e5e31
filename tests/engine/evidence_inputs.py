"""Results with what they were made from, for tests of evidence."""

from collections.abc import Sequence

from apps.engine.charges import NO_CHARGES
from apps.engine.evidence.inputs import (
    THIS_ALONE,
    USUAL_THRESHOLDS,
    EvidenceInput,
    EvidenceThresholds,
    Trials,
)
from apps.engine.language.strategy import Strategy
from apps.engine.metrics.result_data import ResultData
from apps.engine.simulation.simulate import History, simulate

CAPITAL = 1e6


def evidence_on(
    strategy: Strategy,
    histories: Sequence[History],
    *,
    trials: Trials = THIS_ALONE,
    thresholds: EvidenceThresholds = USUAL_THRESHOLDS,
    seed: int = 1,
) -> EvidenceInput:
    """Simulate all bars of the histories, without charges."""
    made = simulate(strategy, histories, start=0, end=2**40, capital=CAPITAL)
    candles = [history.candles for history in histories]
    return EvidenceInput(
        steps=strategy.model_dump(mode="json", exclude_none=True, by_alias=True),
        histories=histories, start=0, end=2**40, capital=CAPITAL, schedule=NO_CHARGES,
        result=ResultData(made.trades, made.curve, CAPITAL, candles), trials=trials, seed=seed,
        thresholds=thresholds,
    )  # fmt: skip
