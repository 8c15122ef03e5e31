"""Results with their inputs, for tests of evidence."""

from collections.abc import Sequence

import numpy as np

from apps.engine.evidence.inputs import (
    THIS_ALONE,
    USUAL_THRESHOLDS,
    EvidenceInput,
    EvidenceThresholds,
    Trials,
)
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.simulate import History
from apps.engine.simulation.simulation_input import SimulationInput

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
    steps = strategy.model_dump(mode="json", exclude_none=True, by_alias=True)
    inputs = SimulationInput(steps, histories, 0, 2**40, CAPITAL, seed=seed)
    before = EvidenceInput(inputs, np.empty(0), {})
    made = before.simulate()
    return EvidenceInput(
        inputs, made.trades, made.result_data.curve, trials, thresholds, shared=before.data
    )
