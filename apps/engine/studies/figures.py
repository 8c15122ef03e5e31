"""The findings of each study, as they are stored and on the wire.

Their JSON schema is a part of the document of the API.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.results.sharpe import DeflatedRatio
from apps.engine.results.table import METRICS
from apps.engine.results.wire_records import EquityPoint, Timestamp
from apps.engine.studies.configs import PERCENTILES
from apps.engine.units import Unit, rounded

_Count: TypeAlias = Annotated[int, Field(ge=0)]
_Objective: TypeAlias = Annotated[str, Field(json_schema_extra={"enum": list(METRICS)})]
_Parameters: TypeAlias = Annotated[dict[str, float], Field(description="Values by path.")]


class Percentiles(TypedDict):
    """Percentiles of a distribution, interpolated linearly."""

    p1: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    p99: float


def percentiles_of(values: NDArray[np.float64], unit: Unit) -> Percentiles:
    """Return the percentiles of values, with the decimals of their unit."""
    numbers: list[float] = np.percentile(values, PERCENTILES).tolist()
    named = {
        f"p{percent}": rounded(value, unit)
        for percent, value in zip(PERCENTILES, numbers, strict=True)
    }
    return cast(Percentiles, named)


class Spread(Percentiles):
    """Mean and percentiles over the paths."""

    mean: float


class ShownPerformance(TypedDict):
    """The figures that a study shows of a set; null where they cannot be computed."""

    totalTrades: float | None
    netProfit: float | None
    roi: float | None
    winRate: float | None
    profitFactor: float | None
    sharpeRatio: float | None
    sharpeRatioAnnualized: float | None
    maxDrawdown: float | None


_WindowStart = TypedDict("_WindowStart", {"from": Timestamp})


class WindowResults(_WindowStart):
    """The result of the chosen set in the training or the test of a window."""

    to: Timestamp
    objective: float | None
    performance: ShownPerformance


class WalkForwardWindow(TypedDict):
    """The best set of a training, and its results there and in the test."""

    parameters: _Parameters
    inSample: WindowResults
    outOfSample: WindowResults


class WalkForwardResults(TypedDict):
    """The findings of a walk-forward."""

    objective: _Objective
    anchored: bool
    trainRatio: float
    sets: Annotated[
        _Count,
        Field(description="That were tried in each window; of sets that trade alike one."),
    ]
    windows: list[WalkForwardWindow]
    equity: list[EquityPoint]


class AsTraded(TypedDict):
    """The trades in their own order."""

    finalEquity: Annotated[float, Field(description="Rupees.")]
    maxDrawdown: Annotated[float, Field(description="Percent of the running peak.")]


class MonteCarloResults(TypedDict):
    """The findings of a Monte Carlo simulation."""

    method: str
    runs: Annotated[_Count, Field(description="Paths that were drawn.")]
    trades: Annotated[_Count, Field(description="Of each path.")]
    blockLength: Annotated[
        _Count | None,
        Field(description="Trades that stayed together; null but for block_bootstrap."),
    ]
    ruinThreshold: Annotated[float, Field(description="Percent of the capital.")]
    seed: int
    finalEquity: Annotated[
        Spread | None,
        Field(description="Rupees; null for a shuffle, because a shuffle cannot change it."),
    ]
    maxDrawdown: Annotated[Spread, Field(description="Percent of the running peak.")]
    riskOfRuin: Annotated[
        float, Field(description="Percent of the paths that lost `ruinThreshold` or more.")
    ]
    asTraded: AsTraded


class Deflation(DeflatedRatio):
    """The best Sharpe ratio beside the best that is expected by luck, over so many days."""

    days: _Count


class OverfittingFigures(TypedDict):
    """How likely the choice of the best set is overfitted."""

    sets: Annotated[
        _Count,
        Field(
            description="The number of compared sets: all, or a random sample of more than 10,000."
        ),
    ]
    splits: Annotated[_Count, Field(description="Ways to divide the days into two halves.")]
    probability: Annotated[
        float,
        Field(
            description="Of backtest overfitting (PBO), 0 to 1: how often the best set of half of"
            " the days is not above the median in the other half, by daily Sharpe ratios."
        ),
    ]
    probabilityOfLoss: Annotated[
        float, Field(description="How often it loses in the other half, 0 to 1.")
    ]
    sharpeRatioInSample: Annotated[
        float, Field(description="Its median in the half that it was best in, daily.")
    ]
    sharpeRatioOutOfSample: Annotated[
        float, Field(description="Its median in the other half, daily.")
    ]
    degradation: Annotated[
        float | None,
        Field(description="The slope of its ratio out of sample over that in sample."),
    ]


class RankedSet(TypedDict):
    """A set of the ranking."""

    rank: _Count
    parameters: _Parameters
    objective: float | None
    plateau: Annotated[
        float | None,
        Field(
            description="Share of the other results that its neighbours with another result are"
            " better than."
        ),
    ]
    performance: ShownPerformance


class OptimizationResults(TypedDict):
    """The findings of an optimisation."""

    objective: _Objective
    method: str
    sets: Annotated[_Count, Field(description="Of the grid; of sets that trade alike one.")]
    tried: Annotated[_Count, Field(description="Sets that were simulated.")]
    invalid: Annotated[_Count, Field(description="Drawn, but no strategy that can run.")]
    deflation: Deflation
    overfitting: Annotated[
        OverfittingFigures | None, Field(description="Null for fewer than 20 sets or 16 days.")
    ]
    ranking: list[RankedSet]
