"""Conditions: comparisons of indicators, candle patterns, hours, and groups of conditions.

Entries and exits have the same conditions (`Conditions`), each with the same sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, model_validator

from apps.engine.indicators.patterns import PATTERNS, Direction, pattern_series
from apps.engine.indicators.series import series_lookback
from apps.engine.language.fields import (
    Level,
    Maybe,
    StrictModel,
    TimeOfDay,
    Whole,
    at_most,
    incomplete,
    refused,
    seconds_of_day,
)
from apps.engine.language.operands import AnyIndicator

MOST_TOGETHER = 400
"""Conditions of one list, those in its groups counted: twenty groups of twenty."""

Side: TypeAlias = Literal["long", "short"]
LogicalOperator: TypeAlias = Literal["AND", "OR"]
ComparisonOperator: TypeAlias = Literal[
    "crosses_above", "crosses_below", "above", "below", "at_or_above", "at_or_below"
]
MovementOperator: TypeAlias = Literal["rising", "falling"]
if TYPE_CHECKING:
    PatternName: TypeAlias = str
else:
    PatternName = Literal[tuple(PATTERNS)]


_SIDE = Field(
    None,
    description=(
        "Count the condition only for this side, as written. Absent: for both sides,"
        " mirrored for the opposite side."
    ),
    examples=["long"],
)
_OF_A_GROUP = (
    "The 1 to 20 conditions of the group; a list has at most 400, including its groups' conditions."
)

Warmups: TypeAlias = tuple[tuple[str | None, int], ...]
"""Candles of a timeframe (None: the algorithm's own) before the first one at which a condition can
be true, one by one for what it reads."""


class IndicatorIndicator(StrictModel):
    """Two indicators compared."""

    type: Literal["indicator_indicator"]
    indicator1: AnyIndicator = Field(description="The indicator to compare.")
    operator: ComparisonOperator = Field(
        description=(
            "How indicator1 must compare with indicator2. `crosses_above`: not above it at"
            " the candle before, and above it now; `at_or_above` and `at_or_below` include"
            " equal values."
        )
    )
    indicator2: AnyIndicator = Field(description="The indicator to compare it with.")
    side: Maybe[Side] = _SIDE

    @property
    def operands(self) -> Mapping[str, AnyIndicator]:
        """The indicators, keyed by field name."""
        return {"indicator1": self.indicator1, "indicator2": self.indicator2}

    @property
    def warmups(self) -> Warmups:
        before = self.operator.startswith("crosses")
        return tuple(
            (operand.timeframe, operand.warmup + (before if operand.timeframe is None else 0))
            for operand in self.operands.values()
        )


class IndicatorValue(StrictModel):
    """An indicator compared with a number, or with itself some candles ago (rising, falling)."""

    type: Literal["indicator_value"]
    indicator: AnyIndicator = Field(description="The indicator to compare.")
    operator: Literal[ComparisonOperator, MovementOperator] = Field(
        description=(
            "How the indicator must compare with the value, or move: `rising` and"
            " `falling` compare it with itself some candles ago. `crosses_above`: not"
            " above the value at the candle before, and above it now."
        ),
        examples=["above"],
    )
    value: Maybe[Level] = Field(
        None,
        description="The level to compare with, in the indicator's own unit. `rising` and `falling`"
        " have none; the other operators need it.",
        examples=[70],
    )
    candles: Maybe[Annotated[int, Field(ge=1, le=100), Whole]] = Field(
        None,
        description=(
            "Only for `rising` and `falling`: the number of candles in a row that move in"
            " this direction; 1 if absent."
        ),
        examples=[3],
    )
    side: Maybe[Side] = _SIDE

    @property
    def operands(self) -> Mapping[str, AnyIndicator]:
        return {"indicator": self.indicator}

    @property
    def warmups(self) -> Warmups:
        timeframe, known = self.indicator.timeframe, self.indicator.warmup
        if self.operator in ("rising", "falling"):
            return ((timeframe, known + (self.candles or 1)),)
        return ((timeframe, known + (timeframe is None and self.operator.startswith("crosses"))),)

    @model_validator(mode="after")
    def _has_what_its_operator_needs(self) -> IndicatorValue:
        directional = self.operator in ("rising", "falling")
        if directional and self.value is not None:
            raise refused(f"is not used by the operator {self.operator}", "value")
        if not directional and self.candles is not None:
            raise refused(f"is not used by the operator {self.operator}", "candles")
        if not directional and self.value is None:
            raise incomplete("is required", "value")
        return self


class CandlePattern(StrictModel):
    """A pattern of candles that ends at this candle; in either direction by default."""

    type: Literal["candle_pattern"]
    pattern: PatternName = Field(
        description="The pattern by TA-Lib's name; `GET /api/trading/indicators` describes each.",
        examples=["CDLENGULFING"],
    )
    direction: Maybe[Direction] = Field(
        None,
        description="Count only bullish or only bearish patterns. Absent: both.",
        examples=["bullish"],
    )
    side: Maybe[Side] = _SIDE
    operands: ClassVar[Mapping[str, AnyIndicator]] = {}

    @property
    def warmups(self) -> Warmups:
        return ((None, series_lookback(pattern_series(self.pattern))),)


class TimeWindow(StrictModel):
    """True for bars that start in [from, to), exchange time."""

    type: Literal["time_window"]
    from_: TimeOfDay = Field(
        alias="from",
        description=(
            "The start of the window, HH:MM in exchange time; a bar that starts then counts."
        ),
        examples=["09:30"],
    )
    to: TimeOfDay = Field(
        description=(
            "The end of the window, HH:MM in exchange time, later than `from`; a bar that"
            " starts then does not count."
        ),
        examples=["14:30"],
    )
    side: Maybe[Side] = _SIDE
    operands: ClassVar[Mapping[str, AnyIndicator]] = {}
    warmups: ClassVar[Warmups] = ()

    @property
    def seconds(self) -> tuple[int, int]:
        """The start and the end, in seconds since midnight."""
        return seconds_of_day(self.from_), seconds_of_day(self.to)

    @model_validator(mode="after")
    def _runs_forward(self) -> TimeWindow:
        if self.to <= self.from_:
            raise refused("must be later than from", "to")
        return self


Single: TypeAlias = IndicatorIndicator | IndicatorValue | CandlePattern | TimeWindow
"""A condition that holds no others."""

T = TypeVar("T")


def _at_least_one(conditions: tuple[T, ...]) -> tuple[T, ...]:
    if not conditions:
        raise incomplete("needs at least one condition")
    return conditions


UpToTwenty: TypeAlias = Annotated[
    tuple[Annotated[T, Field(discriminator="type")], ...],
    Field(strict=False, max_length=20),
    at_most(20),
]
"""Up to twenty conditions."""
OneToTwenty: TypeAlias = Annotated[UpToTwenty[T], AfterValidator(_at_least_one)]
"""At least one of them."""


class _Group(StrictModel):
    type: Literal["group"]
    logicalOperator: LogicalOperator = Field(
        description="`AND`: all conditions of the group must be true. `OR`: one is enough."
    )
    side: Maybe[Side] = _SIDE


class InnermostGroup(_Group):
    """Conditions joined by AND (all) or OR (one)."""

    conditions: OneToTwenty[Single] = Field(description=_OF_A_GROUP)


class InnerGroup(_Group):
    """Conditions, including groups, joined by AND (all) or OR (one)."""

    conditions: OneToTwenty[Single | InnermostGroup] = Field(description=_OF_A_GROUP)


class Group(_Group):
    """Conditions, including groups, joined by AND (all) or OR (one)."""

    conditions: OneToTwenty[Single | InnerGroup] = Field(description=_OF_A_GROUP)


AnyGroup: TypeAlias = Group | InnerGroup | InnermostGroup
Condition: TypeAlias = Single | AnyGroup


def singles(conditions: Iterable[Condition]) -> Iterator[Single]:
    """Return the conditions that are not groups, including those inside groups."""
    for condition in conditions:
        if condition.type == "group":
            yield from singles(condition.conditions)
        else:
            yield condition


def singles_by_path(path: str, conditions: Sequence[Condition]) -> Iterator[tuple[str, Single]]:
    """Return the same, each with its dotted path."""
    for index, condition in enumerate(conditions):
        if condition.type == "group":
            yield from singles_by_path(f"{path}[{index}].conditions", condition.conditions)
        else:
            yield f"{path}[{index}]", condition


def _not_too_many(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    together = sum(1 for _ in singles(conditions))
    if together > MOST_TOGETHER:
        raise refused(
            f"hold {together} conditions with those of their groups; "
            f"at most {MOST_TOGETHER} are allowed"
        )
    return conditions


AnyConditions: TypeAlias = Annotated[UpToTwenty[Single | Group], AfterValidator(_not_too_many)]
Conditions: TypeAlias = Annotated[AnyConditions, AfterValidator(_at_least_one)]


class EntryConditions(StrictModel):
    """The conditions for opening a position, and its side."""

    positionType: Literal["long", "short", "both"] = Field(
        description=(
            "The sides to trade. With `both` the conditions describe longs, and shorts use"
            " their mirror: above becomes below, RSI 70 becomes RSI 30."
        )
    )
    logicalOperator: LogicalOperator = Field(
        "AND", description="`AND`: all conditions must be true. `OR`: one is enough."
    )
    confirmationCandles: Annotated[int, Field(ge=0, le=10), Whole] = Field(
        1,
        description=(
            "The number of candles that confirm each condition: a level must hold on each"
            " of them, a cross or pattern must have come at the first, and a cross must"
            " have held since. 0 and 1 need no confirmation."
        ),
    )
    conditions: Conditions = Field(description="Up to 20 conditions; a group counts as one.")
