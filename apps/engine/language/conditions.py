"""Conditions: comparisons of operands, candle patterns, hours and dates, alerts, and groups of
conditions.

Entries and exits have the same conditions (`Conditions`), each with the same sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, model_validator

from apps.engine.indicators.indicator import LARGEST_OFFSET
from apps.engine.indicators.patterns import PATTERNS, Direction, pattern_series
from apps.engine.indicators.series import OWN_CANDLES, CandleSource, series_lookback
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
    without_control,
)
from apps.engine.language.operands import Calc, Operand, Timeframe, Warmups
from apps.engine.language.ranking import Rank

MOST_TOGETHER = 400
"""Conditions of one list, those in its groups counted: twenty groups of twenty."""

Side: TypeAlias = Literal["long", "short"]
ConditionSide: TypeAlias = Literal["long", "short", "both"]
Weekday: TypeAlias = Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
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
        "Count the condition only for this side, as written; `both`: for each side as written."
        " Absent: for both sides, mirrored for the opposite side. Arithmetic, other symbols and"
        " alerts have no mirror: where one is needed, they need a side."
    ),
    examples=["long"],
)
_WITHIN = Field(
    None,
    description=(
        "True where it was true at one of the last so many candles, this one included. Absent: at"
        " this candle."
    ),
    examples=[3],
)
_LAST_SESSION_OF_A_MONTH = 23
CandleCount: TypeAlias = Annotated[int, Field(ge=1, le=100), Whole]
_OF_A_GROUP = (
    "The 1 to 20 conditions of the group; a list has at most 400, including its groups' conditions."
)


def read_earlier(warmups: Warmups, candles: int) -> Warmups:
    """Return the warm-ups of a condition that reads earlier candles of its algorithm too."""
    return tuple(
        (source, count + (candles if source == OWN_CANDLES else 0)) for source, count in warmups
    )


class IndicatorIndicator(StrictModel):
    """Two indicators compared."""

    type: Literal["indicator_indicator"]
    indicator1: Operand = Field(description="The indicator to compare.")
    operator: ComparisonOperator = Field(
        description=(
            "How indicator1 must compare with indicator2. `crosses_above`: not above it at"
            " the candle before, and above it now; `at_or_above` and `at_or_below` include"
            " equal values."
        )
    )
    indicator2: Operand = Field(description="The indicator to compare it with.")
    side: Maybe[ConditionSide] = _SIDE
    within: Maybe[CandleCount] = _WITHIN

    @property
    def operands(self) -> Mapping[str, Operand]:
        """The indicators, keyed by field name."""
        return {"indicator1": self.indicator1, "indicator2": self.indicator2}

    @property
    def warmups(self) -> Warmups:
        both = self.indicator1.warmups + self.indicator2.warmups
        return read_earlier(both, self.operator.startswith("crosses"))


class IndicatorValue(StrictModel):
    """An indicator compared with a number, or with itself some candles ago (rising, falling)."""

    type: Literal["indicator_value"]
    indicator: Operand = Field(description="The indicator to compare.")
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
    candles: Maybe[CandleCount] = Field(
        None,
        description=(
            "Only for `rising` and `falling`: the number of candles in a row that move in"
            " this direction; 1 if absent."
        ),
        examples=[3],
    )
    side: Maybe[ConditionSide] = _SIDE
    within: Maybe[CandleCount] = _WITHIN

    @property
    def operands(self) -> Mapping[str, Operand]:
        return {"indicator": self.indicator}

    @property
    def warmups(self) -> Warmups:
        if self.operator not in ("rising", "falling"):
            return read_earlier(self.indicator.warmups, self.operator.startswith("crosses"))
        steps = self.candles or 1
        if isinstance(self.indicator, Calc):
            return read_earlier(self.indicator.warmups, steps)
        return tuple((source, count + steps) for source, count in self.indicator.warmups)

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
    timeframe: Maybe[Timeframe] = Field(
        None,
        description=(
            "A timeframe longer than the algorithm's: true at every candle at which the pattern's"
            " is the last one closed. Absent: the algorithm's own."
        ),
        examples=["1h"],
    )
    offset: Maybe[Annotated[int, Field(ge=0, le=LARGEST_OFFSET), Whole]] = Field(
        None,
        description="The number of candles back at which the pattern ends. Absent: 0.",
        examples=[2],
    )
    side: Maybe[ConditionSide] = _SIDE
    within: Maybe[CandleCount] = _WITHIN
    operands: ClassVar[Mapping[str, Operand]] = {}

    @property
    def warmups(self) -> Warmups:
        lookback = series_lookback(pattern_series(self.pattern)) + (self.offset or 0)
        return ((CandleSource(timeframe=self.timeframe or ""), lookback),)


def _month_span(sessions: tuple[int, ...]) -> tuple[int, ...]:
    match sessions:
        case (low, high) if low <= high and low * high > 0:
            return sessions
    raise refused("must be two numbers of one sign, the first not above the second")


def _each_once(days: tuple[Weekday, ...]) -> tuple[Weekday, ...]:
    if not days:
        raise incomplete("needs at least one day")
    if len(set(days)) < len(days):
        raise refused("has a day twice")
    return days


class TimeWindow(StrictModel):
    """True for bars that start at these hours, on these dates; exchange time."""

    type: Literal["time_window"]
    from_: Maybe[TimeOfDay] = Field(
        None,
        alias="from",
        description=(
            "The start of the window, HH:MM in exchange time; a bar that starts then counts."
        ),
        examples=["09:30"],
    )
    to: Maybe[TimeOfDay] = Field(
        None,
        description=(
            "The end of the window, HH:MM in exchange time, later than `from`; a bar that"
            " starts then does not count."
        ),
        examples=["14:30"],
    )
    weekdays: Maybe[
        Annotated[
            tuple[Weekday, ...],
            Field(strict=False, max_length=7),
            at_most(7),
            AfterValidator(_each_once),
        ]
    ] = Field(None, description="The days of the week that count.", examples=[["MON", "FRI"]])
    sessionOfMonth: Maybe[
        Annotated[
            tuple[
                Annotated[
                    int,
                    Field(ge=-_LAST_SESSION_OF_A_MONTH, le=_LAST_SESSION_OF_A_MONTH),
                    Whole,
                ],
                ...,
            ],
            Field(strict=False),
            AfterValidator(_month_span),
        ]
    ] = Field(
        None,
        description=(
            "The first and the last session of the month that count: 1 is its first session, -1 its"
            " last. Special sessions count."
        ),
        examples=[[1, 1]],
    )
    side: Maybe[ConditionSide] = _SIDE
    within: Maybe[CandleCount] = _WITHIN
    operands: ClassVar[Mapping[str, Operand]] = {}
    warmups: ClassVar[Warmups] = ()

    @property
    def seconds(self) -> tuple[int, int] | None:
        """The start and the end, in seconds since midnight, if it has them."""
        if self.from_ is None or self.to is None:
            return None
        return seconds_of_day(self.from_), seconds_of_day(self.to)

    @model_validator(mode="after")
    def _names_a_time(self) -> TimeWindow:
        if (self.from_ is None) != (self.to is None):
            raise incomplete("is required", "from" if self.from_ is None else "to")
        if self.from_ is None and self.weekdays is None and self.sessionOfMonth is None:
            raise incomplete("needs from and to, weekdays or sessionOfMonth")
        if self.from_ is not None and self.to is not None and self.to <= self.from_:
            raise refused("must be later than from", "to")
        return self


def _without_blanks_around(name: str) -> str:
    if name != name.strip():
        raise refused("must not begin or end with a blank")
    return name


class AlertSignal(StrictModel):
    """An alert from outside that was received in this candle."""

    type: Literal["signal"]
    name: Annotated[
        str,
        Field(min_length=1, max_length=100),
        AfterValidator(without_control),
        AfterValidator(_without_blanks_around),
    ] = Field(
        description=(
            "The name of the alert. True at a candle where one was received for this symbol, or"
            " for no symbol, after the end of the candle before and up to its own end."
        ),
        examples=["breakout"],
    )
    side: Maybe[ConditionSide] = _SIDE
    within: Maybe[CandleCount] = _WITHIN
    operands: ClassVar[Mapping[str, Operand]] = {}
    warmups: ClassVar[Warmups] = ()


Single: TypeAlias = IndicatorIndicator | IndicatorValue | CandlePattern | TimeWindow | AlertSignal
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
    side: Maybe[ConditionSide] = _SIDE
    within: Maybe[CandleCount] = _WITHIN


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


def condition_warmups(
    conditions: Iterable[Condition], before: int
) -> Iterator[tuple[CandleSource, int]]:
    """Yield the warm-ups of conditions that are read up to `before` candles back."""
    for condition in conditions:
        earlier = before + (condition.within or 1) - 1
        if condition.type == "group":
            yield from condition_warmups(condition.conditions, earlier)
        else:
            yield (OWN_CANDLES, earlier)
            yield from read_earlier(condition.warmups, earlier)


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
            " of them, a cross, pattern or alert must have come at the first, and a cross"
            " must have held since. 0 and 1 need no confirmation."
        ),
    )
    conditions: Conditions = Field(description="Up to 20 conditions; a group counts as one.")
    rank: Maybe[Rank] = Field(
        None,
        description=(
            "A ranking of the symbols: an entry signal counts only for the best. It needs two"
            " symbols or more and positionType long or short. Absent: every signal counts."
        ),
        examples=[
            {"by": {"type": "ROC", "period": 126}, "top": 5, "keep": 8, "every": "month"},
        ],
    )
