"""An operand of a condition: an indicator, with a model per row of the catalogue, or arithmetic.

Names, ranges and defaults of indicators are only in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, Union

from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag, create_model
from pydantic import model_validator as model_rule
from typing_extensions import TypeAliasType

from apps.engine.candles.symbols import InvalidSymbol, Symbol
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import (
    HIGHER_TIMEFRAMES,
    LARGEST_OFFSET,
    LONGEST_WARMUP,
    SOURCES,
    Indicator,
    IndicatorParameter,
    Inversion,
)
from apps.engine.indicators.series import (
    OWN_CANDLES,
    Calculation,
    CandleSource,
    Read,
    Series,
    series,
    series_lookback,
)
from apps.engine.indicators.session_formulas import FIBONACCI
from apps.engine.language.fields import (
    Level,
    Maybe,
    Percentage,
    StrictModel,
    Whole,
    at_most,
    refused,
)

MOST_NODES: Final = 16
"""Calculations, indicators and numbers of an operand."""
DEEPEST: Final = 4
"""Calculations and sources, one inside the other."""
MOST_OPERANDS: Final = 8
_NUMBER_OF_OPERANDS: Final = {"abs": 1, "subtract": 2, "divide": 2}

Warmups: TypeAlias = tuple[tuple[CandleSource, int], ...]
"""Candles of a source before the first one at which a value is known, one by one for what is
read."""


def _is_symbol(text: str) -> str:
    try:
        Symbol.parse(text)
    except InvalidSymbol as wrong:
        raise refused(f"is no symbol: {wrong.reason}") from None
    return text


SymbolText = Annotated[str, AfterValidator(_is_symbol)]


def _plain_or_operand(value: object) -> str:
    return "operand" if isinstance(value, dict | BaseModel) else "plain"


if TYPE_CHECKING:
    Timeframe: TypeAlias = str
    Operand: TypeAlias = "IndicatorOperand | Calc"
    NumberOrOperand: TypeAlias = "float | Operand"
    PercentageOrOperand: TypeAlias = "float | Operand"
    PriceOperand: TypeAlias = Operand
else:
    Timeframe = Literal[HIGHER_TIMEFRAMES]

    def _plain_or(plain):
        """Return the type of a field with an operand, or with something plain."""
        kinds = Annotated[plain, Tag("plain")] | Annotated["Operand", Tag("operand")]
        return Annotated[kinds, Discriminator(_plain_or_operand)]

    NumberOrOperand = _plain_or(Level)
    PercentageOrOperand = _plain_or(Percentage)


class IndicatorOperand(StrictModel):
    """An indicator of candles; parameters are fields of the model of its type."""

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
    on: Maybe[SymbolText] = Field(
        None,
        description=(
            "Another symbol, as EXCHANGE:SYMBOL: the value is computed from its candles, and"
            " `offset` counts them. It need not be tradable, and is not traded."
        ),
        examples=["NSE:INDIAVIX"],
    )

    @property
    def source(self) -> str | Operand:
        """The column of its source, if the catalogue offers a choice, or an operand."""
        source: str | Operand = getattr(self, "source_", SOURCES[0])
        return source

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
        source = self.source if isinstance(self.source, str) else self.source.value
        return series(self.type, self.output, source, self.parameters)

    @cached_property
    def column(self) -> int:
        """Its index among the columns of `series`."""
        return CATALOGUE[self.type].output(self.output).column

    @property
    def candles(self) -> CandleSource:
        """The candles that it is computed from."""
        return CandleSource(self.on or "", self.timeframe or "")

    @property
    def value(self) -> Read:
        """The value that it stands for."""
        return Read(self.series, self.column, self.offset, self.candles)

    @cached_property
    def warmups(self) -> Warmups:
        """The candles before its first value: of its own source those of both added."""
        lookback = series_lookback(self.series) + self.offset
        inner = () if isinstance(self.source, str) else self.source.warmups
        return (
            (self.candles, lookback),
            *(
                (self.candles if candles == OWN_CANDLES else candles, lookback + count)
                for candles, count in inner
            ),
        )

    @model_rule(mode="after")
    def _is_computable(self) -> IndicatorOperand:
        parameters = self.parameters
        if parameters.get("fastPeriod", 0) >= parameters.get("slowPeriod", 1):
            raise refused("must be greater than fastPeriod", "slowPeriod")
        if parameters.get("method") == FIBONACCI and self.output in ("r4", "s4"):
            raise refused("must be another level: fibonacci ends at r3 and s3", "output")
        _require_small(self)
        longest = max(count for _, count in self.warmups)
        if longest > LONGEST_WARMUP:
            raise refused(
                f"needs {longest} candles before its first value; "
                f"at most {LONGEST_WARMUP} are allowed"
            )
        return self


class Calc(StrictModel):
    """Arithmetic of operands and numbers, candle by candle, from left to right."""

    type: Literal["CALC"]
    operator: Literal["add", "subtract", "multiply", "divide", "min", "max", "abs"] = Field(
        description=(
            "`subtract` and `divide` take two operands, `abs` one, the others two to eight. A"
            " division by 0 is unknown."
        )
    )
    operands: Annotated[
        tuple[NumberOrOperand, ...],
        Field(strict=False, max_length=MOST_OPERANDS),
        at_most(MOST_OPERANDS),
    ] = Field(
        description="Numbers, indicators and calculations; at least one is no number.",
        examples=[[{"type": "PREVIOUS_DAY", "output": "high"}, 1.01]],
    )

    @property
    def value(self) -> Calculation:
        """The value that it stands for."""
        return Calculation(
            self.operator,
            tuple(
                operand if isinstance(operand, float) else operand.value
                for operand in self.operands
            ),
        )

    @property
    def warmups(self) -> Warmups:
        """The candles before the first value of each operand."""
        inner = (operand.warmups for operand in self.operands if not isinstance(operand, float))
        return tuple(warmup for warmups in inner for warmup in warmups)

    @model_rule(mode="after")
    def _is_computable(self) -> Calc:
        exactly, count = _NUMBER_OF_OPERANDS.get(self.operator), len(self.operands)
        if exactly is not None and count != exactly:
            entries = "1 entry" if exactly == 1 else f"{exactly} entries"
            raise refused(f"must have exactly {entries} for {self.operator}", "operands")
        if count < 2 and exactly is None:
            raise refused(f"must have at least 2 entries for {self.operator}", "operands")
        if all(isinstance(operand, float) for operand in self.operands):
            raise refused("names no indicator: write the number itself", "operands")
        _require_small(self)
        return self


def _has_a_place(operand: Operand) -> Operand:
    """Refuse an operand that is not in the unit of the price."""
    if isinstance(operand, Calc):
        return operand
    if getattr(operand, "on", None) is not None:
        raise refused("is the price of another symbol")
    row = CATALOGUE[operand.type]
    if operand.source == "volume" or row.output(operand.output).inversion is not Inversion.SAME:
        raise refused(f"is no price: {operand.type} has no place on the chart")
    if not isinstance(operand.source, str):
        _has_a_place(operand.source)
    return operand


def indicators_in(
    value: NumberOrOperand, around: CandleSource = OWN_CANDLES
) -> Iterator[tuple[IndicatorOperand, CandleSource]]:
    """Yield every indicator of an operand, those in sources too, with the candles that it is
    computed from: in a source those of the indicator `around` it.
    """
    if isinstance(value, IndicatorOperand):
        around = around if value.candles == OWN_CANDLES else value.candles
        yield value, around
    for part in _parts(value):
        yield from indicators_in(part, around)


def _parts(value: NumberOrOperand) -> tuple[NumberOrOperand, ...]:
    """Return what an operand holds directly: operands of a calculation, or a source."""
    if isinstance(value, Calc):
        return value.operands
    if isinstance(value, IndicatorOperand) and not isinstance(value.source, str):
        return (value.source,)
    return ()


def _require_small(operand: Operand) -> None:
    nodes, depth = _nodes(operand), _depth(operand)
    if nodes > MOST_NODES:
        raise refused(f"holds {nodes} nodes; at most {MOST_NODES} are allowed")
    if depth > DEEPEST:
        raise refused(f"is {depth} deep; at most {DEEPEST} are allowed")


def _nodes(value: NumberOrOperand) -> int:
    return 1 + sum(map(_nodes, _parts(value)))


def _depth(value: NumberOrOperand) -> int:
    parts = _parts(value)
    return 1 + max(map(_depth, parts)) if parts else 0


def _model(row: Indicator) -> type[IndicatorOperand]:
    names = tuple(output.name for output in row.outputs)
    fields: dict[str, object] = {
        "type": (Literal[row.type], ...),
        "output": (
            Literal[names],
            Field(names[0], description="The output of the indicator to read."),
        ),
    }
    if row.has_source and not TYPE_CHECKING:
        text = "The price that it is computed from, or the volume, or another operand."
        fields["source_"] = (
            _plain_or(Literal[SOURCES]),
            Field(SOURCES[0], alias="source", description=text),
        )
    for parameter in row.parameters:
        written = None if parameter.is_added else parameter.written(parameter.default)
        default = Field(written, description=parameter.description)
        fields[parameter.name] = (_parameter_type(parameter), default)
    model: type[IndicatorOperand] = create_model(
        row.type, __base__=IndicatorOperand, __doc__=row.description, __module__=__name__, **fields
    )  # type: ignore[call-overload]
    return model


def _parameter_type(parameter: IndicatorParameter) -> object:
    if parameter.names:
        return Literal[tuple(name for name, _ in parameter.names)]
    limits = Field(ge=parameter.low, le=parameter.high)
    if parameter.is_whole:
        return Annotated[int, limits, Whole]
    return Annotated[float, limits]


if not TYPE_CHECKING:
    Operand = TypeAliasType(
        "Operand",
        Annotated[
            Union[(*(_model(row) for row in CATALOGUE.values()), Calc)],
            Field(discriminator="type"),
        ],
    )
    PriceOperand = Annotated[Operand, AfterValidator(_has_a_place)]
