"""The fourth step, exitConditions: stop, target, trailing stop and other exits."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from apps.engine.language.conditions import AnyConditions, LogicalOperator
from apps.engine.language.fields import (
    AtrPeriod,
    LargePercent,
    Maybe,
    Multiplier,
    Percentage,
    Points,
    Ratio,
    StrictModel,
    TimeOfDay,
    Whole,
    at_most,
    incomplete,
    refused,
)
from apps.engine.language.operands import Operand, PriceOperand  # noqa: F401


class PercentageStop(StrictModel):
    """Percent of the entry price."""

    type: Literal["percentage"]
    percentage: Percentage = Field(
        description=(
            "The distance of the stop in percent of the average entry price; 0.5 means 0.5 %."
        ),
        examples=[0.5],
    )


class PointsStop(StrictModel):
    """Rupees away from the entry price."""

    type: Literal["points"]
    points: Points = Field(
        description="The distance of the stop from the average entry price, in rupees.",
        examples=[5],
    )


class AtrStop(StrictModel):
    """Average true ranges away from the entry price, taken at the signal bar."""

    type: Literal["atr"]
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


Buffer = Annotated[float, Field(ge=0, le=20)]
_BUFFER_HELP = "How far beyond the operand it rests, in percent: 0 to 20. Absent: at it."
_LEVEL_EXAMPLE = {"type": "MIN", "period": 3, "source": "low"}


class LevelStop(StrictModel):
    """A price on the chart, as read at the signal."""

    type: Literal["level"]
    price: PriceOperand = Field(
        description=(
            "The operand at which the stop rests, in the unit of the price; a short of a"
            " two-sided algorithm reads its mirror."
        ),
        examples=[_LEVEL_EXAMPLE],
    )
    buffer: Maybe[Buffer] = Field(None, description=_BUFFER_HELP, examples=[0.1])


class RiskRewardTarget(StrictModel):
    """A multiple of the distance to the stop."""

    type: Literal["risk_reward"]
    ratio: Ratio = Field(
        description=(
            "The distance of the target as a multiple of the stop's. It needs a stop loss,"
            " here or in riskParameters."
        ),
        examples=[2],
    )


class PercentageTarget(StrictModel):
    """Percent of the entry price."""

    type: Literal["percentage"]
    percentage: LargePercent = Field(
        description="The distance of the target in percent of the average entry price.",
        examples=[1.5],
    )


class PointsTarget(StrictModel):
    """Rupees away from the entry price."""

    type: Literal["points"]
    points: Points = Field(
        description="The distance of the target from the average entry price, in rupees.",
        examples=[10],
    )


class AtrTarget(StrictModel):
    """Average true ranges away from the entry price, taken at the signal bar."""

    type: Literal["atr"]
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


class LevelTarget(StrictModel):
    """A price on the chart, as read at the signal."""

    type: Literal["level"]
    price: PriceOperand = Field(
        description=(
            "The operand at which the target rests, in the unit of the price; a short of a"
            " two-sided algorithm reads its mirror."
        ),
        examples=[{"type": "PREVIOUS_DAY", "output": "high"}],
    )


StepTarget: TypeAlias = Annotated[
    RiskRewardTarget | PercentageTarget | PointsTarget, Field(discriminator="type")
]


class Step(StrictModel):
    """A part of a position that leaves earlier, as a limit order."""

    at: StepTarget = Field(
        description="The level, by its distance from the average entry price.",
        examples=[{"type": "risk_reward", "ratio": 1}],
    )
    close: Annotated[float, Field(ge=1, le=99)] = Field(
        description=(
            "The percentage of the quantity before the first step that is closed, rounded down"
            " to whole lots: 1 to 99, of all steps together less than 100."
        ),
        examples=[50],
    )
    moveStop: Maybe[Literal["entry"]] = Field(
        None,
        description=(
            "`entry`: from the next candle on the stop is the average entry price, unless it is"
            " tighter. Absent: the stop stays."
        ),
        examples=["entry"],
    )


MOST_STEPS: Final = 3


def _leave_something(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if not steps:
        raise refused("must have at least 1 entry")
    closed = sum(step.close for step in steps)
    if closed >= 100:
        raise refused(
            f"close {closed:g} percent; together they must leave something: less than 100"
        )
    return steps


class _Trail(StrictModel):
    """A stop that follows the best price since entry.

    It starts once that price is `activationThreshold` percent past the entry. A disabled one may be
    incomplete.
    """

    enabled: bool = Field(
        description="Whether the trailing stop is used; an unused one may be incomplete.",
        examples=[True],
    )
    activationThreshold: Annotated[float, Field(ge=0, le=1000)] = Field(
        0.0,
        description=(
            "The gain in percent, from the average entry to the best price, at which the"
            " stop starts to follow; 0: from the entry on."
        ),
    )


class PercentageTrail(_Trail):
    """Percent of the best price."""

    type: Literal["percentage"] = "percentage"
    percentage: Maybe[Percentage] = Field(
        None,
        description=(
            "The distance in percent of the best price since the entry. Needed when enabled."
        ),
        examples=[1],
    )

    @model_validator(mode="after")
    def _has_a_distance(self) -> PercentageTrail:
        if self.enabled and self.percentage is None:
            raise incomplete("is required", "percentage")
        return self


class PointsTrail(_Trail):
    """Rupees away from the best price."""

    type: Literal["points"]
    points: Maybe[Points] = Field(
        None,
        description=(
            "The distance from the best price since the entry, in rupees. Needed when enabled."
        ),
        examples=[5],
    )

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


class LevelTrail(_Trail):
    """A price on the chart, read at every close."""

    type: Literal["level"]
    price: Maybe[PriceOperand] = Field(
        None,
        description=(
            "The operand that the stop follows, in the unit of the price. Needed when enabled."
        ),
        examples=[_LEVEL_EXAMPLE],
    )
    buffer: Maybe[Buffer] = Field(None, description=_BUFFER_HELP, examples=[0.1])

    @model_validator(mode="after")
    def _has_a_price(self) -> LevelTrail:
        if self.enabled and self.price is None:
            raise incomplete("is required", "price")
        return self


def _percentage_unless_said(trail: object) -> object:
    return {"type": "percentage", **trail} if isinstance(trail, dict) else trail


StopLoss: TypeAlias = Annotated[
    PercentageStop | PointsStop | AtrStop | LevelStop, Field(discriminator="type")
]
TakeProfit: TypeAlias = Annotated[
    RiskRewardTarget | PercentageTarget | PointsTarget | AtrTarget | LevelTarget,
    Field(discriminator="type"),
]
TrailingStop: TypeAlias = Annotated[
    PercentageTrail | PointsTrail | AtrTrail | LevelTrail,
    Field(discriminator="type"),
    BeforeValidator(_percentage_unless_said),
]


class ExitConditions(StrictModel):
    """The exits of a position; at least one must be given.

    `conditions` close at the next open, and are written for the same side as entries. An empty list
    of them means none. If `exitOnOppositeSignal` is absent, it is true for an algorithm that trades
    both sides, else false.
    """

    conditions: AnyConditions = Field(
        (),
        description=(
            "Up to 20 conditions that close a position at its next open. They are written"
            " for the same side as the entries, mirrored for the other, and not confirmed."
        ),
    )
    logicalOperator: LogicalOperator = Field(
        "AND", description="`AND`: all conditions must be true. `OR`: one is enough."
    )
    stopLoss: Maybe[StopLoss] = Field(
        None,
        description=(
            "The loss that closes a position. If riskParameters has one too, the tighter"
            " of the two holds."
        ),
    )
    takeProfit: Maybe[TakeProfit] = Field(None, description="The profit that closes a position.")
    trailingStop: Maybe[TrailingStop] = Field(
        None,
        description=(
            "A stop that follows the best price since the entry, and never moves back. Its"
            " default type is percentage."
        ),
        examples=[{"enabled": True, "type": "percentage", "percentage": 1}],
    )
    steps: Maybe[
        Annotated[
            tuple[Step, ...],
            Field(strict=False, max_length=MOST_STEPS, json_schema_extra={"minItems": 1}),
            at_most(MOST_STEPS),
            AfterValidator(_leave_something),
        ]
    ] = Field(
        None,
        description=(
            "Up to 3 parts of a position that leave earlier, in this order. What is left leaves"
            " by the other exits. Absent: a position leaves whole."
        ),
        examples=[[{"at": {"type": "risk_reward", "ratio": 1}, "close": 50, "moveStop": "entry"}]],
    )
    squareOffTime: Maybe[TimeOfDay] = Field(
        None,
        description=(
            "HH:MM in exchange time. The first bar that starts then or later closes all"
            " positions, and no entry follows for the rest of the day. Intraday products"
            " have one by default, 15 minutes before the session's close."
        ),
        examples=["15:15"],
    )
    maxHoldingCandles: Maybe[Annotated[int, Field(ge=1, le=1_000_000), Whole]] = Field(
        None,
        description=(
            "The number of candles to hold a position, including the entry's; it is closed"
            " at the open after them."
        ),
        examples=[12],
    )
    exitOnOppositeSignal: Maybe[bool] = Field(
        None,
        description=(
            "Whether a signal of the other side closes a position. Absent: true if both"
            " sides are traded, else false."
        ),
        examples=[True],
    )

    onRank: Maybe[Literal["hold", "leave"]] = Field(
        None,
        description=(
            "What a position does in a ranking at a place beyond `entryConditions.rank.keep`, or"
            " without one: `leave` closes it at its next open, `hold` does nothing. Absent: `hold`."
        ),
        examples=["leave"],
    )

    @model_validator(mode="after")
    def _has_a_way_out(self) -> ExitConditions:
        rules = (self.stopLoss, self.takeProfit, self.squareOffTime, self.maxHoldingCandles)
        trailing = self.trailingStop is not None and self.trailingStop.enabled
        signalled = self.conditions or self.exitOnOppositeSignal or self.onRank == "leave"
        if not (trailing or signalled or any(rule is not None for rule in rules)):
            raise incomplete(
                "needs at least one of stopLoss, takeProfit, trailingStop (enabled), conditions, "
                "squareOffTime, maxHoldingCandles, exitOnOppositeSignal (true), onRank (leave)"
            )
        return self
