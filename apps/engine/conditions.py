"""The third step, entryConditions: indicators, the conditions between them, and their sides.

One model per indicator is made from the catalogue, so names, ranges and defaults stand there
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias, Union

from pydantic import AfterValidator, Field, create_model, model_validator

from apps.engine.fields import Level, Maybe, Part, TimeOfDay, Whole, at_most, incomplete, refused
from apps.engine.indicators import (
    CATALOGUE,
    LARGEST_OFFSET,
    LONGEST_WARMUP,
    SOURCES,
    Indicator,
    Parameter,
)
from apps.engine.series import Series, lookback, series

Side: TypeAlias = Literal["long", "short"]
ComparisonOperator: TypeAlias = Literal[
    "crosses_above", "crosses_below", "above", "below", "at_or_above", "at_or_below"
]
MovementOperator: TypeAlias = Literal["rising", "falling"]


class Operand(Part):
    """An indicator as a condition names it; parameters are fields of the model of its type."""

    type: str
    output: str
    offset: Annotated[int, Field(ge=0, le=LARGEST_OFFSET), Whole] = 0

    @property
    def source(self) -> str:
        """The column it is taken of, where the catalogue leaves a choice."""
        return str(getattr(self, "source_", SOURCES[0]))

    @property
    def parameters(self) -> dict[str, float]:
        """Every parameter by its wire name, defaults applied."""
        row = CATALOGUE[self.type]
        return {parameter.name: getattr(self, parameter.name) for parameter in row.parameters}

    @property
    def series(self) -> Series:
        """The computation this operand reads."""
        return series(self.type, self.output, self.source, self.parameters)

    @property
    def warmup(self) -> int:
        """Bars before its first value."""
        return lookback(self.series) + self.offset

    @model_validator(mode="after")
    def _is_computable(self) -> Operand:
        parameters = self.parameters
        if parameters.get("fastPeriod", 0) >= parameters.get("slowPeriod", 1):
            raise refused("must be greater than fastPeriod", "slowPeriod")
        if self.warmup > LONGEST_WARMUP:
            raise refused(
                f"needs {self.warmup} candles before its first value; "
                f"at most {LONGEST_WARMUP} are allowed"
            )
        return self


def _model(row: Indicator) -> type[Operand]:
    names = tuple(output.name for output in row.outputs)
    fields: dict[str, object] = {
        "type": (Literal[row.type], ...),
        "output": (Literal[names], names[0]),
    }
    if row.has_source:
        fields["source_"] = (Literal[SOURCES], Field(SOURCES[0], alias="source"))
    for parameter in row.parameters:
        fields[parameter.name] = (_parameter_type(parameter), parameter.default)
    model: type[Operand] = create_model(
        row.type, __base__=Operand, __doc__=row.description, **fields
    )  # type: ignore[call-overload]
    return model


def _parameter_type(parameter: Parameter) -> object:
    limits = Field(ge=parameter.low, le=parameter.high)
    if parameter.is_whole:
        return Annotated[int, limits, Whole]
    return Annotated[float, limits]


if TYPE_CHECKING:
    AnyIndicator: TypeAlias = Operand
else:
    AnyIndicator = Annotated[
        Union[tuple(_model(row) for row in CATALOGUE.values())],  # noqa: UP007
        Field(discriminator="type"),
    ]


class IndicatorIndicator(Part):
    """Two indicators compared."""

    type: Literal["indicator_indicator"]
    indicator1: AnyIndicator
    operator: ComparisonOperator
    indicator2: AnyIndicator
    side: Maybe[Side] = None

    @property
    def warmup(self) -> int:
        """Bars before the first one at which it can be true."""
        before = self.operator.startswith("crosses")
        return max(self.indicator1.warmup, self.indicator2.warmup) + before


class IndicatorValue(Part):
    """An indicator compared with a number, or with itself some candles ago (rising, falling)."""

    type: Literal["indicator_value"]
    indicator: AnyIndicator
    operator: Literal[ComparisonOperator, MovementOperator]
    value: Maybe[Level] = None
    candles: Maybe[Annotated[int, Field(ge=1, le=100), Whole]] = None
    side: Maybe[Side] = None

    @property
    def warmup(self) -> int:
        """Bars before the first one at which it can be true."""
        if self.operator in ("rising", "falling"):
            return self.indicator.warmup + (self.candles or 1)
        return self.indicator.warmup + self.operator.startswith("crosses")

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


class TimeWindow(Part):
    """True for bars that start in [from, to), exchange time."""

    type: Literal["time_window"]
    from_: TimeOfDay = Field(alias="from")
    to: TimeOfDay
    side: Maybe[Side] = None
    warmup: ClassVar[int] = 0

    @model_validator(mode="after")
    def _runs_forward(self) -> TimeWindow:
        if self.to <= self.from_:
            raise refused("must be later than from", "to")
        return self


Condition: TypeAlias = IndicatorIndicator | IndicatorValue | TimeWindow


def _some(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    if not conditions:
        raise incomplete("needs at least one condition")
    return conditions


class EntryConditions(Part):
    """When a position is opened, and on which side."""

    positionType: Literal["long", "short", "both"]
    logicalOperator: Literal["AND", "OR"] = "AND"
    confirmationCandles: Annotated[int, Field(ge=0, le=10), Whole] = 1
    conditions: Annotated[
        tuple[Annotated[Condition, Field(discriminator="type")], ...],
        Field(strict=False, max_length=20),
        at_most(20),
        AfterValidator(_some),
    ]
