"""Studies of many simulations: search, walk-forward, Monte Carlo.

Other apps import only these names. Modules that load the compiler are imported on first use.
"""

from typing import TYPE_CHECKING

from apps.engine.lazy import lazy_names
from apps.engine.studies.configs import (
    MOST_SEED,
    Config,
    InvalidStudy,
    MonteCarloConfig,
    OptimizationConfig,
    WalkForwardConfig,
    parameter_name,
    parse_config,
)
from apps.engine.studies.fan import FAN_PATHS
from apps.engine.studies.figures import (
    FINDINGS,
    MonteCarloResults,
    OptimizationResults,
    WalkForwardResults,
)
from apps.engine.studies.grid import Grid, applied, search_errors, why_not_tried
from apps.engine.studies.windows import TooFewSessions

if TYPE_CHECKING:
    from apps.engine.studies.overfitting import Overfitting
    from apps.engine.studies.preparation import prepare_study
    from apps.engine.studies.study import SHARE_OF_SCORES, Study, run_whole
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "overfitting": ["Overfitting"],
            "preparation": ["prepare_study"],
            "study": ["SHARE_OF_SCORES", "Study", "run_whole"],
        },
    )

__all__ = [
    "FAN_PATHS",
    "FINDINGS",
    "MOST_SEED",
    "SHARE_OF_SCORES",
    "Config",
    "Grid",
    "InvalidStudy",
    "MonteCarloConfig",
    "MonteCarloResults",
    "OptimizationConfig",
    "OptimizationResults",
    "Overfitting",
    "Study",
    "TooFewSessions",
    "WalkForwardConfig",
    "WalkForwardResults",
    "applied",
    "parameter_name",
    "parse_config",
    "prepare_study",
    "run_whole",
    "search_errors",
    "why_not_tried",
]
