"""Studies as a whole, in this process."""

from collections.abc import Mapping
from typing import Any

from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import ReportProgress, ignore_progress
from apps.engine.studies.configs import OptimizationConfig, WalkForwardConfig
from apps.engine.studies.optimise import Optimisation
from apps.engine.studies.study import StudyOutput
from apps.engine.studies.walk_forward import WalkForward


def optimise(
    steps: Mapping[str, Any],
    config: OptimizationConfig,
    *,
    threads: int = 1,
    on_progress: ReportProgress = ignore_progress,
    **inputs: Any,
) -> StudyOutput[Any]:
    """Search the grid; `inputs` are as for `SimulationInput`."""
    study = Optimisation.prepare(SimulationInput(steps, **inputs), config, on_progress=on_progress)
    return study.run(threads=threads, on_progress=on_progress)


def walk_forward(
    steps: Mapping[str, Any],
    config: WalkForwardConfig,
    *,
    threads: int = 1,
    on_progress: ReportProgress = ignore_progress,
    **inputs: Any,
) -> StudyOutput[Any]:
    """Train and test in windows; `inputs` are as for `SimulationInput`."""
    study = WalkForward.prepare(SimulationInput(steps, **inputs), config, on_progress=on_progress)
    return study.run(threads=threads, on_progress=on_progress)
