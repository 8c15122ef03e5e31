"""An indicator in a condition: one model per row of the catalogue.

Names, ranges and defaults are only in the catalogue.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Union

from pydantic import Field, create_model, model_validator

from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import (
    HIGHER_TIMEFRAMES,
    LARGEST_OFFSET,
    LONGEST_WARMUP,
    SOURCES,
    Indicator,
    IndicatorParameter,
)
from apps.engine.indicators.series import Series, series, series_lookback
from apps.engine.indicators.session_formulas import FIBONACCI
from apps.engine.language.fields import Maybe, StrictModel, Whole, refused

if TYPE_CHECKING:
    Timeframe: TypeAlias = str
else:
    Timeframe = Literal[HIGHER_TIMEFRAMES]


class Operand(StrictModel):
    """An indicator in a condition; parameters are fields of the model of its type."""

    type: str
    output: str
    offset: Annotated[int, Field(ge=0, le=LARGEST_OFFSET), Whole] = Field(
        0,
        description=(
            "The number of candles back at which to read it; 0 is the candle that has just closed."
        ),
    )
    timeframe: Maybe[Timeframe] = Field(
        None,
        description=(
            "A timeframe longer than the algorithm's; the value is computed from its"
            " closed candles. Absent: the algorithm's own."
        ),
        examples=["1h"],
    )

    @property
    def source(self) -> str:
        """The column of its source, if the catalogue offers a choice."""
        return str(getattr(self, "source_", SOURCES[0]))

    @property
    def parameters(self) -> dict[str, float]:
        """The number of every parameter by its wire name, defaults applied."""
        parameters = CATALOGUE[self.type].parameters
        return {
            parameter.name: parameter.number(getattr(self, parameter.name))
            for parameter in parameters
        }

    @cached_property
    def series(self) -> Series:
        """The computation of this operand."""
        return series(self.type, self.output, self.source, self.parameters)

    @cached_property
    def column(self) -> int:
        """Its index among the columns of `series`."""
        return CATALOGUE[self.type].output(self.output).column

    @cached_property
    def warmup(self) -> int:
        """The candles of its own timeframe before its first value."""
        return series_lookback(self.series) + self.offset

    @model_validator(mode="after")
    def _is_computable(self) -> Operand:
        parameters = self.parameters
        if parameters.get("fastPeriod", 0) >= parameters.get("slowPeriod", 1):
            raise refused("must be greater than fastPeriod", "slowPeriod")
        if parameters.get("method") == FIBONACCI and self.output in ("r4", "s4"):
            raise refused("is no level of fibonacci, which has three each way", "output")
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
        "output": (
            Literal[names],
            Field(names[0], description="The output of the indicator to read."),
        ),
    }
    if row.has_source:
        text = "The price that it is computed from, or the volume."
        fields["source_"] = (Literal[SOURCES], Field(SOURCES[0], alias="source", description=text))
    for parameter in row.parameters:
        written = None if parameter.is_added else parameter.written(parameter.default)
        default = Field(written, description=parameter.description)
        fields[parameter.name] = (_parameter_type(parameter), default)
    model: type[Operand] = create_model(
        row.type, __base__=Operand, __doc__=row.description, **fields
    )  # type: ignore[call-overload]
    return model


def _parameter_type(parameter: IndicatorParameter) -> object:
    if parameter.names:
        return Literal[tuple(name for name, _ in parameter.names)]
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
