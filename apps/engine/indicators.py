"""The catalogue of indicators: one table that the validator, the engine and its readers share.

Every row names the formula of `series.py` that computes it, the columns and parameters it takes,
and what its outputs become for the short side of an algorithm that trades both.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

LONGEST_WARMUP = 1000
"""Bars an operand may need before its first value (rule 11)."""

LARGEST_OFFSET = 500
"""Candles back that an operand may be read."""

SOURCES = ("close", "open", "high", "low", "volume", "hl2", "hlc3", "ohlc4")
"""Columns an indicator of one price can be taken of; the first is the default."""


class Mirror(Enum):
    """What an output becomes when the market is turned upside down, in the words of the wire.

    A value v of an output keeps its place (prices) or changes sign around a centre. NONE is an
    output that says nothing of direction: in a mirrored condition it stays as it is.
    """

    SAME = "same"
    FROM_100 = "100 - v"
    FROM_MINUS_100 = "-100 - v"
    NEGATED = "-v"
    NONE = "none"

    def level(self, level: float) -> float:
        """The level to compare with on the other side."""
        match self:
            case Mirror.FROM_100:
                return 100.0 - level
            case Mirror.FROM_MINUS_100:
                return -100.0 - level
            case Mirror.NEGATED:
                return -level
        return level


class Parameter(NamedTuple):
    """A number the user may set: its name on the wire, TA-Lib's names, default and range.

    A parameter whose default is an int takes whole numbers alone.
    """

    name: str
    arguments: tuple[str, ...]
    default: float
    low: float
    high: float

    @property
    def is_whole(self) -> bool:
        return isinstance(self.default, int)


class Output(NamedTuple):
    """One value per bar: which formula and which of its columns, and its mirror.

    `opposite` is the output that takes its place on the other side (upper for lower).
    """

    name: str
    formula: str
    column: int
    mirror: Mirror
    opposite: str


class Indicator(NamedTuple):
    """A row of the catalogue; the first output is the one meant when none is named.

    `inputs` are columns of the candles, where "source" stands for the one the user chose.
    `opposite` is the type that takes its place on the other side (MAX for MIN).
    """

    type: str
    description: str
    inputs: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    opposite: str

    @property
    def has_source(self) -> bool:
        return "source" in self.inputs

    def output(self, name: str) -> Output:
        return next(output for output in self.outputs if output.name == name)


def _period(
    default: int, name: str = "period", argument: str = "timeperiod", low: int = 2
) -> Parameter:
    return Parameter(name, (argument,), default, low, LONGEST_WARMUP)


def _multiplier(default: float, *arguments: str) -> Parameter:
    return Parameter("multiplier", arguments, default, 0.01, 100.0)


def _single(
    type: str,
    description: str,
    inputs: str,
    mirror: Mirror,
    *parameters: Parameter,
    formula: str | None = None,
    opposite: str | None = None,
) -> Indicator:
    """A row with one output, called `value`."""
    output = Output("value", formula or type, 0, mirror, "value")
    return Indicator(
        type, description, tuple(inputs.split()), parameters, (output,), opposite or type
    )


def _several(
    type: str,
    description: str,
    inputs: str,
    outputs: tuple[Output, ...],
    *parameters: Parameter,
) -> Indicator:
    return Indicator(type, description, tuple(inputs.split()), parameters, outputs, type)


def _outputs(formula: str, mirror: Mirror, *names: str) -> tuple[Output, ...]:
    """Outputs in TA-Lib's order, each its own opposite."""
    return tuple(Output(name, formula, i, mirror, name) for i, name in enumerate(names))


def _band(formula: str) -> tuple[Output, ...]:
    """Middle, upper and lower of a TA-Lib band, whose columns are upper, middle, lower."""
    return (
        Output("middle", formula, 1, Mirror.SAME, "middle"),
        Output("upper", formula, 0, Mirror.SAME, "lower"),
        Output("lower", formula, 2, Mirror.SAME, "upper"),
    )


_HLC = "high low close"
_ROWS = (
    _single("PRICE", "Price of the candle", "source", Mirror.SAME, formula="COLUMN"),
    _single("VOLUME", "Volume of the candle", "volume", Mirror.NONE, formula="COLUMN"),
    # Averages and lines in the unit of the price
    _single("SMA", "Simple moving average", "source", Mirror.SAME, _period(20)),
    _single("EMA", "Exponential moving average", "source", Mirror.SAME, _period(20)),
    _single("WMA", "Weighted moving average", "source", Mirror.SAME, _period(20)),
    _single("DEMA", "Double exponential moving average", "source", Mirror.SAME, _period(20)),
    _single("TEMA", "Triple exponential moving average", "source", Mirror.SAME, _period(20)),
    _single("TRIMA", "Triangular moving average", "source", Mirror.SAME, _period(20)),
    _single("KAMA", "Kaufman's adaptive moving average", "source", Mirror.SAME, _period(10)),
    _single("HMA", "Hull moving average", "source", Mirror.SAME, _period(20)),
    _single("VWMA", "Volume-weighted moving average", "source volume", Mirror.SAME, _period(20)),
    _single(
        "VWAP",
        "Volume-weighted average of (high + low + close) / 3 since the session's first candle",
        "day hlc3 volume",
        Mirror.SAME,
        formula="SESSION_VWAP",
    ),
    _single("LINEARREG", "End of the linear regression line", "source", Mirror.SAME, _period(14)),
    _single(
        "MAX",
        "Highest value of the last candles, this one included",
        "source",
        Mirror.SAME,
        _period(20),
        opposite="MIN",
    ),
    _single(
        "MIN",
        "Lowest value of the last candles, this one included",
        "source",
        Mirror.SAME,
        _period(20),
        opposite="MAX",
    ),
    _single(
        "SAR",
        "Parabolic stop and reverse",
        "high low",
        Mirror.SAME,
        Parameter("acceleration", ("acceleration",), 0.02, 0.001, 1.0),
        Parameter("maximum", ("maximum",), 0.2, 0.001, 1.0),
    ),
    _several(
        "SUPERTREND",
        "SuperTrend line, and the trend: 1 up, -1 down",
        _HLC,
        (
            Output("supertrend", "SUPERTREND", 0, Mirror.SAME, "supertrend"),
            Output("trend", "SUPERTREND", 1, Mirror.NEGATED, "trend"),
        ),
        _period(10),
        _multiplier(3.0, "multiplier"),
    ),
    _several(
        "HA",
        "Heikin-Ashi candle",
        "open high low close",
        (
            Output("close", "HA", 3, Mirror.SAME, "close"),
            Output("open", "HA", 0, Mirror.SAME, "open"),
            Output("high", "HA", 1, Mirror.SAME, "low"),
            Output("low", "HA", 2, Mirror.SAME, "high"),
        ),
    ),
    # Bands
    _several(
        "BBANDS",
        "Bollinger bands: simple average and standard deviations of the population",
        "source",
        _band("BBANDS"),
        _period(20),
        _multiplier(2.0, "nbdevup", "nbdevdn"),
    ),
    _several(
        "KC",
        "Keltner channel: exponential average of (high + low + close) / 3, average true ranges",
        _HLC,
        _band("KC"),
        _period(20),
        _period(10, "atrPeriod", "atrperiod"),
        _multiplier(2.0, "nbdev"),
    ),
    _several(
        "DONCHIAN",
        "Donchian channel: highest high and lowest low of the last candles, this one included",
        "high low",
        _band("DONCHIAN"),
        _period(20),
    ),
    # Oscillators and momentum
    _single("RSI", "Relative strength index", "source", Mirror.FROM_100, _period(14)),
    _single("CMO", "Chande momentum oscillator", "source", Mirror.NEGATED, _period(14)),
    _single("MOM", "Momentum: change in price", "source", Mirror.NEGATED, _period(10, low=1)),
    _single("ROC", "Rate of change in percent", "source", Mirror.NEGATED, _period(10, low=1)),
    _single("TRIX", "Rate of change of a triple average", "source", Mirror.NEGATED, _period(15)),
    _single(
        "LINEARREG_SLOPE", "Slope of the regression line", "source", Mirror.NEGATED, _period(14)
    ),
    _several(
        "MACD",
        "Moving average convergence and divergence",
        "source",
        _outputs("MACD", Mirror.NEGATED, "macd", "signal", "histogram"),
        _period(12, "fastPeriod", "fastperiod"),
        _period(26, "slowPeriod", "slowperiod", low=3),
        _period(9, "signalPeriod", "signalperiod", low=1),
    ),
    _several(
        "STOCH",
        "Slow stochastic, simple averages",
        _HLC,
        _outputs("STOCH", Mirror.FROM_100, "k", "d"),
        _period(14, "kPeriod", "fastk_period", low=1),
        _period(3, "smoothing", "slowk_period", low=1),
        _period(3, "dPeriod", "slowd_period", low=1),
    ),
    _several(
        "STOCHRSI",
        "Stochastic of the relative strength index",
        "source",
        _outputs("STOCHRSI", Mirror.FROM_100, "k", "d"),
        _period(14),
        _period(14, "kPeriod", "fastk_period", low=1),
        _period(3, "dPeriod", "fastd_period", low=1),
    ),
    _single("CCI", "Commodity channel index", _HLC, Mirror.NEGATED, _period(20)),
    _single("WILLR", "Williams' %R", _HLC, Mirror.FROM_MINUS_100, _period(14)),
    # Trend strength
    _several(
        "ADX",
        "Average directional index, with its directional indicators",
        _HLC,
        (
            Output("adx", "ADX", 0, Mirror.NONE, "adx"),
            Output("plusDI", "PLUS_DI", 0, Mirror.NONE, "minusDI"),
            Output("minusDI", "MINUS_DI", 0, Mirror.NONE, "plusDI"),
        ),
        _period(14),
    ),
    _single("PLUS_DI", "Plus directional", _HLC, Mirror.NONE, _period(14), opposite="MINUS_DI"),
    _single("MINUS_DI", "Minus directional", _HLC, Mirror.NONE, _period(14), opposite="PLUS_DI"),
    _several(
        "AROON",
        "Aroon: how recent the highest high and the lowest low are",
        "high low",
        (
            Output("aroonUp", "AROON", 1, Mirror.NONE, "aroonDown"),
            Output("aroonDown", "AROON", 0, Mirror.NONE, "aroonUp"),
        ),
        _period(25),
    ),
    _single("AROONOSC", "Aroon up less Aroon down", "high low", Mirror.NEGATED, _period(25)),
    # Volatility
    _single("ATR", "Average true range", _HLC, Mirror.NONE, _period(14, low=1)),
    _single("NATR", "Average true range in % of the close", _HLC, Mirror.NONE, _period(14, low=1)),
    _single("STDDEV", "Standard deviation of the population", "source", Mirror.NONE, _period(20)),
    # Volume
    _single("OBV", "On-balance volume, from any start", "source volume", Mirror.NEGATED),
    _single(
        "AD", "Accumulation and distribution, from any start", _HLC + " volume", Mirror.NEGATED
    ),
    _single("MFI", "Money flow index", _HLC + " volume", Mirror.FROM_100, _period(14)),
    _single("CMF", "Chaikin money flow", _HLC + " volume", Mirror.NEGATED, _period(20)),
)

CATALOGUE: dict[str, Indicator] = {row.type: row for row in _ROWS}
"""Every indicator by its type."""
