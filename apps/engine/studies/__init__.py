"""Studies of many simulations: search, walk-forward, Monte Carlo.

Other apps import only these names. Modules that load the compiler are imported on first use.
"""

from typing import TYPE_CHECKING

from apps.engine.lazy import lazy_names
from apps.engine.studies.configs import (
    MonteCarloConfig,
    OptimizationConfig,
    StudyConfig,
    WalkForwardConfig,
)
from apps.engine.studies.figures import (
    MonteCarloResults,
    OptimizationResults,
    WalkForwardResults,
)
from apps.engine.studies.parameters import ParameterPath, applied

if TYPE_CHECKING:
    from apps.engine.studies.overfitting import Overfitting
    from apps.engine.studies.preparation import prepare_study
    from apps.engine.studies.study import Study
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "overfitting": ["Overfitting"],
            "preparation": ["prepare_study"],
            "study": ["Study"],
        },
    )

__all__ = [
    "MonteCarloConfig",
    "MonteCarloResults",
    "OptimizationConfig",
    "OptimizationResults",
    "Overfitting",
    "ParameterPath",
    "Study",
    "StudyConfig",
    "WalkForwardConfig",
    "WalkForwardResults",
    "applied",
    "prepare_study",
]
