"""Studies of many simulations: search, walk-forward, Monte Carlo.

Other apps import only these names. Modules that load the compiler are imported on first use.
"""

from typing import TYPE_CHECKING

from apps.engine.lazy import lazy_names
from apps.engine.studies.configs import (
    MOST_SEED,
    PERCENTILES,
    SHOWN,
    Config,
    InvalidStudy,
    MonteCarloConfig,
    OptimizationConfig,
    WalkForwardConfig,
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
from apps.engine.studies.windows import TooFewSessions, sessions_needed

if TYPE_CHECKING:
    from apps.engine.studies.monte_carlo import MonteCarlo
    from apps.engine.studies.optimise import Optimisation
    from apps.engine.studies.overfitting import Overfitting
    from apps.engine.studies.study import SHARE_OF_SCORES, Study, run_whole
    from apps.engine.studies.walk_forward import WalkForward
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "monte_carlo": ["MonteCarlo"],
            "optimise": ["Optimisation"],
            "overfitting": ["Overfitting"],
            "study": ["SHARE_OF_SCORES", "Study", "run_whole"],
            "walk_forward": ["WalkForward"],
        },
    )

__all__ = [
    "FAN_PATHS",
    "FINDINGS",
    "MOST_SEED",
    "PERCENTILES",
    "SHARE_OF_SCORES",
    "SHOWN",
    "Config",
    "Grid",
    "InvalidStudy",
    "MonteCarlo",
    "MonteCarloConfig",
    "MonteCarloResults",
    "Optimisation",
    "OptimizationConfig",
    "OptimizationResults",
    "Overfitting",
    "Study",
    "TooFewSessions",
    "WalkForward",
    "WalkForwardConfig",
    "WalkForwardResults",
    "applied",
    "parse_config",
    "run_whole",
    "search_errors",
    "sessions_needed",
    "why_not_tried",
]
