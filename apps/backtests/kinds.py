"""The kinds of backtest: one simulation, or a study that rests on many; what each is told."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from apps.engine.studies.configs import (
    MonteCarloConfig,
    OptimizationConfig,
    WalkForwardConfig,
)


class Kind(StrEnum):
    """The kinds on the wire."""

    BACKTEST = "backtest"
    WALK_FORWARD = "walk_forward"
    MONTE_CARLO = "monte_carlo"
    OPTIMIZATION = "optimization"


class Asking(NamedTuple):
    """Where the configuration of a study stands in a body, and how it is read."""

    field: str
    model: type[WalkForwardConfig | MonteCarloConfig | OptimizationConfig]


ASKED: Final[Mapping[Kind, Asking]] = {
    Kind.WALK_FORWARD: Asking("walkForwardConfig", WalkForwardConfig),
    Kind.MONTE_CARLO: Asking("monteCarloConfig", MonteCarloConfig),
    Kind.OPTIMIZATION: Asking("optimizationConfig", OptimizationConfig),
}
"""Every kind but the plain one."""
CONFIGS: Final = tuple(asking.field for asking in ASKED.values())
