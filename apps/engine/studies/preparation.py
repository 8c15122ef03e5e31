"""The study of each kind of configuration, ready to score its items."""

from __future__ import annotations

from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import ReportProgress, ignore_progress
from apps.engine.studies.configs import (
    MonteCarloConfig,
    OptimizationConfig,
    StudyConfig,
    WalkForwardConfig,
)
from apps.engine.studies.monte_carlo import MonteCarlo
from apps.engine.studies.optimise import Optimisation
from apps.engine.studies.study import Study
from apps.engine.studies.walk_forward import WalkForward


def prepare_study(
    config: StudyConfig, inputs: SimulationInput, *, on_progress: ReportProgress = ignore_progress
) -> Study:
    """Return the study of the configuration; a Monte Carlo is simulated here.

    The exceptions of `on_progress` end the work. Raises EngineError.
    """
    match config:
        case WalkForwardConfig():
            return WalkForward.prepare(inputs, config, on_progress=on_progress)
        case OptimizationConfig():
            return Optimisation.prepare(inputs, config, on_progress=on_progress)
        case MonteCarloConfig():
            result = inputs.simulate(on_progress)
            return MonteCarlo(config, result, inputs.capital, inputs.seed)
    raise TypeError(f"{config!r} configures no study.")
