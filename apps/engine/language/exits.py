"""The fourth step, exitConditions: stop, target, trailing stop and what else closes a position."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from apps.engine.language.conditions import AnyConditions, LogicalOperator
from apps.engine.language.fields import (
    AtrPeriod,
    LargePercent,
    Maybe,
    Multiplier,
    Part,
    Percent,
    Points,
    Ratio,
    TimeOfDay,
    Whole,
    incomplete,
)


class PercentageStop(Part):
    """Percent of the entry price."""

    type: Literal["percentage"]
    percentage: Percent


class PointsStop(Part):
    """Rupees away from the entry price."""

    type: Literal["points"]
    points: Points


class AtrStop(Part):
    """Average true ranges away from the entry price, taken at the signal bar."""

    type: Literal["atr"]
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


class RiskRewardTarget(Part):
    """A multiple of the distance to the stop."""

    type: Literal["risk_reward"]
    ratio: Ratio


class PercentageTarget(Part):
    """Percent of the entry price."""

    type: Literal["percentage"]
    percentage: LargePercent


class PointsTarget(Part):
    """Rupees away from the entry price."""

    type: Literal["points"]
    points: Points


class AtrTarget(Part):
    """Average true ranges away from the entry price, taken at the signal bar."""

    type: Literal["atr"]
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


class _Trail(Part):
    """A stop that follows the best price since entry.

    It starts once that price has gone `activationThreshold` percent past the entry. One that is
    not enabled may be left unfinished.
    """

    enabled: bool
    activationThreshold: Annotated[float, Field(ge=0, le=1000)] = 0.0


class PercentageTrail(_Trail):
    """Percent of the best price."""

    type: Literal["percentage"]
    percentage: Maybe[Percent] = None

    @model_validator(mode="after")
    def _has_a_distance(self) -> PercentageTrail:
        if self.enabled and self.percentage is None:
            raise incomplete("is required", "percentage")
        return self


class PointsTrail(_Trail):
    """Rupees away from the best price."""

    type: Literal["points"]
    points: Maybe[Points] = None

    @model_validator(mode="after")
    def _has_a_distance(self) -> PointsTrail:
        if self.enabled and self.points is None:
            raise incomplete("is required", "points")
        return self


class AtrTrail(_Trail):
    """Average true ranges away from the best price, taken at the signal bar."""

    type: Literal["atr"]
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


def _percentage_unless_said(trail: object) -> object:
    return {"type": "percentage", **trail} if isinstance(trail, dict) else trail


StopLoss: TypeAlias = Annotated[PercentageStop | PointsStop | AtrStop, Field(discriminator="type")]
TakeProfit: TypeAlias = Annotated[
    RiskRewardTarget | PercentageTarget | PointsTarget | AtrTarget, Field(discriminator="type")
]
TrailingStop: TypeAlias = Annotated[
    PercentageTrail | PointsTrail | AtrTrail,
    Field(discriminator="type"),
    BeforeValidator(_percentage_unless_said),
]


class ExitConditions(Part):
    """What closes a position; at least one way out must be given.

    `conditions` close at the next open, and are written for the side that entries are. An empty
    list of them is none. `exitOnOppositeSignal` absent means true for an algorithm that trades
    both sides, else false.
    """

    conditions: AnyConditions = ()
    logicalOperator: LogicalOperator = "AND"
    stopLoss: Maybe[StopLoss] = None
    takeProfit: Maybe[TakeProfit] = None
    trailingStop: Maybe[TrailingStop] = None
    squareOffTime: Maybe[TimeOfDay] = None
    maxHoldingCandles: Maybe[Annotated[int, Field(ge=1, le=1_000_000), Whole]] = None
    exitOnOppositeSignal: Maybe[bool] = None

    @model_validator(mode="after")
    def _has_a_way_out(self) -> ExitConditions:
        others = (self.stopLoss, self.takeProfit, self.squareOffTime, self.maxHoldingCandles)
        trailing = self.trailingStop is not None and self.trailingStop.enabled
        said = self.conditions or self.exitOnOppositeSignal
        if not (trailing or said or any(o is not None for o in others)):
            raise incomplete(
                "needs at least one of stopLoss, takeProfit, trailingStop (enabled), conditions, "
                "squareOffTime, maxHoldingCandles, exitOnOppositeSignal (true)"
            )
        return self
