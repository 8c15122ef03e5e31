"""The rows of the catalogue of indicators, and their form.

Every row names its formula, its columns and parameters, and the inversion of its outputs for the
short side of an algorithm that trades both sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Literal, NamedTuple

from pydantic import Field
from typing_extensions import TypedDict

LONGEST_WARMUP = 1000
"""Bars an operand may need before its first value (rule 11)."""

LARGEST_OFFSET = 500
"""Candles back that an operand may be read."""

HIGHER_TIMEFRAMES = ("3m", "5m", "10m", "15m", "30m", "1h", "75m", "2h", "4h", "1d", "1w")
"""Timeframes an operand may be read in where they are longer than the algorithm's."""

SOURCES = ("close", "open", "high", "low", "volume", "hl2", "hlc3", "ohlc4")
"""Columns an indicator of one price can be taken of; the first is the default."""

PARAMETERS = {
    "acceleration": "The acceleration factor at the start, and the increment for each new extreme.",
    "accelerationInitLong": "Acceleration factor at the start of a rise.",
    "accelerationInitShort": "Acceleration factor at the start of a fall.",
    "accelerationLong": "The increment of the acceleration factor for each new high of a rise.",
    "accelerationMaxLong": "Largest acceleration factor of a rise.",
    "accelerationMaxShort": "Largest acceleration factor of a fall.",
    "accelerationShort": "The increment of the acceleration factor for each new low of a fall.",
    "anchor": "The average begins anew with each of these. Absent: session.",
    "atrPeriod": "The number of candles in the average true range (ATR).",
    "basePeriod": "Candles of the base line (Kijun).",
    "bollinger": "How many standard deviations wide the Bollinger bands are, each way.",
    "conversionPeriod": "Candles of the conversion line (Tenkan).",
    "dMaType": "Kind of moving average that makes %D of %K.",
    "dPeriod": "Candles of %K that %D averages.",
    "displacement": "The number of candles ahead at which the spans are drawn.",
    "emaPeriod": "Candles of the exponential averages of the range.",
    "fastLimit": "Largest smoothing factor that the average adapts to.",
    "fastMaType": "Kind of the fast moving average.",
    "fastPeriod": "Candles of the fast moving average, fewer than slowPeriod.",
    "firstPeriod": "Candles of the first smoothing.",
    "kPeriod": "The number of candles in the range of %K.",
    "keltner": "How many average true ranges wide the Keltner channel is, each way.",
    "leftBars": "The number of candles before a swing that it must exceed.",
    "maType": "Kind of moving average.",
    "maximum": "Largest acceleration factor.",
    "method": "The formula of the levels; all have the same pivot and central range. Absent:"
    " classic.",
    "minutes": "Length of the opening range in minutes, from the session's first candle.",
    "multiplier": "How many standard deviations or average true ranges are taken. Absent from VWAP:"
    " 1.",
    "offsetOnReverse": "Fraction of the price that the line is moved away by when it turns.",
    "peakOffset": "Where the largest weight lies: 0 at the oldest candle, 1 at this one.",
    "percentage": "Size of a brick, in percent of the price.",
    "percentile": "The percentile, 0 to 100; 50 is the median.",
    "period": "Candles that it is taken over.",
    "period1": "Candles of the first of its three spans.",
    "period2": "Candles of the second of its three spans.",
    "period3": "Candles of the third of its three spans.",
    "rightBars": "The number of candles after a swing that it must exceed; it is known after them.",
    "roc1Period": "Candles back of the first rate of change.",
    "roc2Period": "Candles back of the second rate of change.",
    "rocPeriod": "Candles back of the rate of change.",
    "secondPeriod": "Candles of the second smoothing.",
    "sigma": "How narrow the weights are: the period over their standard deviation.",
    "signalMaType": "Kind of moving average of the signal line.",
    "signalPeriod": "Candles of the signal line.",
    "slowLimit": "Smallest smoothing factor that the average adapts to.",
    "slowMaType": "Kind of the slow moving average.",
    "slowPeriod": "Candles of the slow moving average.",
    "smoothing": "Candles that %K is smoothed over.",
    "smoothingMaType": "Kind of moving average that smooths %K.",
    "spanPeriod": "Candles of span B.",
    "stddevPeriod": "Candles that the standard deviation is taken over.",
    "sumPeriod": "Candles that are added up.",
    "vFactor": "How much lag is taken out: 0 none, 1 the most.",
    "wmaPeriod": "Candles of the weighted average.",
}
"""What each parameter sets, by its name on the wire."""


class Inversion(Enum):
    """The change of an output when the market is turned upside down, in the words of the wire.

    A value v of an output stays (prices) or changes sign around a centre. NONE is an output without
    direction: in an inverted condition it stays.
    """

    SAME = "same"
    FROM_1 = "1 - v"
    FROM_2 = "2 - v"
    FROM_100 = "100 - v"
    FROM_200 = "200 - v"
    FROM_MINUS_100 = "-100 - v"
    NEGATED = "-v"
    NONE = "none"

    def level(self, level: float) -> float:
        """Return the level to compare with on the other side."""
        match self:
            case Inversion.FROM_1:
                return 1.0 - level
            case Inversion.FROM_2:
                return 2.0 - level
            case Inversion.FROM_100:
                return 100.0 - level
            case Inversion.FROM_200:
                return 200.0 - level
            case Inversion.FROM_MINUS_100:
                return -100.0 - level
            case Inversion.NEGATED:
                return -level
        return level


class NumberParameter(TypedDict):
    """A number of an indicator that the user may set."""

    name: str
    type: Literal["integer", "number"]
    default: float
    minimum: float
    maximum: float


class NamedParameter(TypedDict):
    """A choice of an indicator that the user may make."""

    name: str
    type: Literal["string"]
    default: str
    allowedValues: list[str]


class CatalogueOutput(TypedDict):
    """A value of an indicator."""

    name: str
    mirror: Annotated[
        str,
        Field(
            description="How a level of it changes for the short side.",
            json_schema_extra={"enum": [inversion.value for inversion in Inversion]},
        ),
    ]
    opposite: Annotated[str, Field(description="The output that short entries compare instead.")]
    minimum: Annotated[float | None, Field(description="No value is below it.")]
    maximum: Annotated[float | None, Field(description="No value is above it.")]


class Offset(TypedDict):
    """The range of offsets at which an indicator may be read."""

    type: str
    default: int
    minimum: int
    maximum: int


class CatalogueIndicator(TypedDict):
    """An indicator of the catalogue. The first output and the first source are the defaults."""

    type: str
    description: str
    parameters: list[NumberParameter | NamedParameter]
    outputs: list[CatalogueOutput]
    sources: list[Annotated[str, Field(json_schema_extra={"enum": list(SOURCES)})]]
    offset: Offset
    opposite: Annotated[str, Field(description="The indicator for the short side.")]
    timeframes: Annotated[
        list[Annotated[str, Field(json_schema_extra={"enum": list(HIGHER_TIMEFRAMES)})]],
        Field(description="Allowed if they are longer than the algorithm's."),
    ]


class IndicatorParameter(NamedTuple):
    """A number that the user may set: its name on the wire, TA-Lib's names, default and range.

    A parameter with an int as default takes only whole numbers; one with `names` is written by
    name, for TA-Lib's numbers. On the other side it takes the value of the parameter `opposite` (by
    default its own), turned by `inversion`. One with `is_added` came after its indicator: steps
    without it stay without it, and keep their hash.
    """

    name: str
    arguments: tuple[str, ...]
    default: float
    low: float
    high: float
    names: tuple[tuple[str, int], ...] = ()
    opposite: str = ""
    inversion: Inversion = Inversion.SAME
    is_added: bool = False

    @property
    def description(self) -> str:
        """The meaning of the parameter, the same for all parameters with this name."""
        return PARAMETERS[self.name]

    @property
    def is_whole(self) -> bool:
        return isinstance(self.default, int)

    def number(self, written: float | str | None) -> float:
        """Return the number behind a written value; the default if nothing is written."""
        if written is None:
            return self.default
        return dict(self.names)[written] if isinstance(written, str) else written

    def written(self, number: float) -> float | str:
        """Return a number as it is written: by its name, if it has one."""
        return next((name for name, value in self.names if value == number), number)

    def to_wire(self) -> NumberParameter | NamedParameter:
        if self.names:
            return NamedParameter(
                name=self.name,
                type="string",
                default=str(self.written(self.default)),
                allowedValues=[name for name, _ in self.names],
            )
        return NumberParameter(
            name=self.name,
            type="integer" if self.is_whole else "number",
            default=self.default,
            minimum=self.low,
            maximum=self.high,
        )


class Range(NamedTuple):
    """The least and the greatest value of an output, both included."""

    low: float = -math.inf
    high: float = math.inf


UNBOUNDED = Range()


class IndicatorOutput(NamedTuple):
    """A value per bar: the formula and the column of it, its inversion and its range.

    `opposite` is the output that replaces it on the other side (upper for lower). The range assumes
    averages that do not overshoot (`OVERSHOOTING`), if the indicator takes any average.
    """

    name: str
    formula: str
    column: int
    inversion: Inversion
    opposite: str
    range: Range = UNBOUNDED

    def to_wire(self) -> CatalogueOutput:
        low, high = self.range
        return CatalogueOutput(
            name=self.name,
            mirror=self.inversion.value,
            opposite=self.opposite,
            minimum=low if math.isfinite(low) else None,
            maximum=high if math.isfinite(high) else None,
        )


class Indicator(NamedTuple):
    """A row of the catalogue; the first output is the default.

    `inputs` are columns of the candles; "source" stands for the user's choice. `opposite` is the
    type that replaces it on the other side (MAX for MIN).
    """

    type: str
    description: str
    inputs: tuple[str, ...]
    parameters: tuple[IndicatorParameter, ...]
    outputs: tuple[IndicatorOutput, ...]
    opposite: str

    @property
    def has_source(self) -> bool:
        return "source" in self.inputs

    def output(self, name: str) -> IndicatorOutput:
        return next(output for output in self.outputs if output.name == name)

    def turned(self, parameters: Mapping[str, float]) -> dict[str, float]:
        """Return the parameters on the other side."""
        return {
            parameter.name: parameter.inversion.level(
                parameters[parameter.opposite or parameter.name]
            )
            for parameter in self.parameters
        }

    def to_wire(self) -> CatalogueIndicator:
        return CatalogueIndicator(
            type=self.type,
            description=self.description,
            parameters=[parameter.to_wire() for parameter in self.parameters],
            outputs=[output.to_wire() for output in self.outputs],
            sources=list(SOURCES) if self.has_source else [],
            offset=Offset(type="integer", default=0, minimum=0, maximum=LARGEST_OFFSET),
            opposite=self.opposite,
            timeframes=list(HIGHER_TIMEFRAMES),
        )


AVERAGES = (
    ("SMA", 0),
    ("EMA", 1),
    ("WMA", 2),
    ("DEMA", 3),
    ("TEMA", 4),
    ("TRIMA", 5),
    ("KAMA", 6),
    ("T3", 8),
    ("HMA", 9),
    ("ZLEMA", 12),
    ("RMA", 13),
)
"""Kinds of moving average, with TA-Lib's number of each (`talib.MA_Type`)."""

OVERSHOOTING = frozenset({"DEMA", "TEMA", "T3", "HMA", "ZLEMA"})
"""Kinds of moving average that can leave the range of what they are taken of."""


def period(
    default: int,
    name: str = "period",
    argument: str = "timeperiod",
    low: int = 2,
    high: int = LONGEST_WARMUP,
) -> IndicatorParameter:
    return IndicatorParameter(name, (argument,), default, low, high)


def multiplier(default: float, *arguments: str) -> IndicatorParameter:
    return IndicatorParameter("multiplier", arguments, default, 0.01, 100.0)


def average(name: str = "maType", argument: str = "matype", default: int = 0) -> IndicatorParameter:
    """Return the parameter that chooses a moving average."""
    numbers = [number for _, number in AVERAGES]
    return IndicatorParameter(name, (argument,), default, min(numbers), max(numbers), AVERAGES)


def choice(name: str, *options: str) -> IndicatorParameter:
    """Return an added parameter that chooses an option, by default the first."""
    numbers = tuple((option, number) for number, option in enumerate(options))
    return IndicatorParameter(name, (name,), 0, 0, len(options) - 1, numbers, is_added=True)


def single(
    type: str,
    description: str,
    inputs: str,
    inversion: Inversion,
    *parameters: IndicatorParameter,
    formula: str | None = None,
    opposite: str | None = None,
    range: Range = UNBOUNDED,
) -> Indicator:
    """Return a row with one output, called `value`."""
    output = IndicatorOutput("value", formula or type, 0, inversion, "value", range)
    return Indicator(
        type, description, tuple(inputs.split()), parameters, (output,), opposite or type
    )


def several(
    type: str,
    description: str,
    inputs: str,
    outputs: tuple[IndicatorOutput, ...],
    *parameters: IndicatorParameter,
) -> Indicator:
    return Indicator(type, description, tuple(inputs.split()), parameters, outputs, type)


def alike(
    formula: str, inversion: Inversion, *names: str, range: Range = UNBOUNDED
) -> tuple[IndicatorOutput, ...]:
    """Return outputs in the formula's order, each its own opposite, all with the same range."""
    return swapping(formula, inversion, *((name, name) for name in names), range=range)


def swapping(
    formula: str, inversion: Inversion, *pairs: tuple[str, str], range: Range = UNBOUNDED
) -> tuple[IndicatorOutput, ...]:
    """Return outputs in the formula's order, each by its name and its opposite's, all with the same
    range.
    """
    return tuple(
        IndicatorOutput(name, formula, i, inversion, opposite, range)
        for i, (name, opposite) in enumerate(pairs)
    )


def band(formula: str) -> tuple[IndicatorOutput, ...]:
    """Return middle, upper and lower of a TA-Lib band, with columns upper, middle, lower."""
    return (
        IndicatorOutput("middle", formula, 1, Inversion.SAME, "middle"),
        IndicatorOutput("upper", formula, 0, Inversion.SAME, "lower"),
        IndicatorOutput("lower", formula, 2, Inversion.SAME, "upper"),
    )
