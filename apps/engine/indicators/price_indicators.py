"""Indicators in the unit of their source: prices, averages, bands, levels of sessions."""

from __future__ import annotations

from apps.engine.indicators.indicator import (
    Indicator,
    IndicatorOutput,
    IndicatorParameter,
    Inversion,
    Range,
    average,
    band,
    choice,
    multiplier,
    period,
    several,
    single,
    swapping,
)

_HLC = "high low close"
_SAME = Inversion.SAME


def _of_source(
    type: str, description: str, *parameters: IndicatorParameter, opposite: str | None = None
) -> Indicator:
    return single(type, description, "source", _SAME, *parameters, opposite=opposite)


def _previous(type: str, description: str, calendar: str) -> Indicator:
    outputs = swapping(
        type, _SAME, ("close", "close"), ("high", "low"), ("low", "high"), ("open", "open")
    )
    return several(type, description, calendar + " open high low close", outputs)


def _acceleration(name: str, argument: str, default: float, opposite: str) -> IndicatorParameter:
    return IndicatorParameter(name, (argument,), default, 0.001, 1.0, opposite=opposite)


_PLAIN = (
    single("PRICE", "Price of the candle", "source", _SAME, formula="COLUMN"),
    single(
        "VOLUME",
        "Volume of the candle",
        "volume",
        Inversion.NONE,
        formula="COLUMN",
        range=Range(low=0),
    ),
    single("AVGPRICE", "(open + high + low + close) / 4", "open high low close", _SAME),
    single("MEDPRICE", "(high + low) / 2", "high low", _SAME),
    single("TYPPRICE", "(high + low + close) / 3", _HLC, _SAME),
    single("WCLPRICE", "(high + low + 2 x close) / 4", _HLC, _SAME),
    several(
        "HA",
        "Heikin-Ashi candle",
        "open high low close",
        (
            IndicatorOutput("close", "HA", 3, _SAME, "close"),
            IndicatorOutput("open", "HA", 0, _SAME, "open"),
            IndicatorOutput("high", "HA", 1, _SAME, "low"),
            IndicatorOutput("low", "HA", 2, _SAME, "high"),
        ),
    ),
)

_AVERAGES = (
    _of_source("SMA", "Simple moving average", period(20)),
    _of_source("EMA", "Exponential moving average", period(20)),
    _of_source("WMA", "Weighted moving average", period(20)),
    _of_source("DEMA", "Double exponential moving average", period(20)),
    _of_source("TEMA", "Triple exponential moving average", period(20)),
    _of_source("TRIMA", "Triangular moving average", period(20)),
    _of_source("KAMA", "Kaufman's adaptive moving average", period(10)),
    _of_source("HMA", "Hull moving average", period(20)),
    _of_source("RMA", "Wilder's moving average", period(14)),
    _of_source("ZLEMA", "Exponential moving average less its lag", period(20)),
    _of_source(
        "T3",
        "Tillson's smooth exponential moving average",
        period(5, high=160),
        IndicatorParameter("vFactor", ("vfactor",), 0.7, 0.0, 1.0),
    ),
    _of_source("MA", "Moving average of a chosen kind", period(20), average()),
    several(
        "MAMA",
        "MESA adaptive moving average, and the average that follows it",
        "source",
        swapping("MAMA", _SAME, ("mama", "mama"), ("fama", "fama")),
        IndicatorParameter("fastLimit", ("fastlimit",), 0.5, 0.01, 0.99),
        IndicatorParameter("slowLimit", ("slowlimit",), 0.05, 0.01, 0.99),
    ),
    _of_source(
        "ALMA",
        "Arnaud Legoux moving average: weights of a bell curve",
        period(9, high=500),
        IndicatorParameter("peakOffset", ("peak",), 0.85, 0.0, 1.0),
        IndicatorParameter("sigma", ("sigma",), 6.0, 1.0, 20.0),
    ),
    single("VWMA", "Volume-weighted moving average", "source volume", _SAME, period(20)),
    _of_source("HT_TRENDLINE", "Hilbert transform: the trend without the dominant cycle"),
    _of_source("LINEARREG", "End of the linear regression line", period(14)),
    _of_source("LINEARREG_INTERCEPT", "Begin of the linear regression line", period(14)),
    _of_source("TSF", "The linear regression line one candle further", period(14)),
    _of_source("MIDPOINT", "Middle between highest and lowest value", period(14)),
    single("MIDPRICE", "Middle between highest high and lowest low", "high low", _SAME, period(14)),
)

_LEVELS = (
    _of_source(
        "MAX", "Highest value of the last candles, this one included", period(20), opposite="MIN"
    ),
    _of_source(
        "MIN", "Lowest value of the last candles, this one included", period(20), opposite="MAX"
    ),
    several(
        "MINMAX",
        "Lowest and highest value of the last candles, this one included",
        "source",
        swapping("MINMAX", _SAME, ("min", "max"), ("max", "min")),
        period(20),
    ),
    _of_source(
        "PERCENTILE",
        "The value that this percentage of the last candles does not exceed (nearest rank)",
        period(30),
        IndicatorParameter(
            "percentile", ("percentile",), 50.0, 0.0, 100.0, inversion=Inversion.FROM_100
        ),
    ),
    single(
        "SAR",
        "Parabolic stop and reverse",
        "high low",
        _SAME,
        IndicatorParameter("acceleration", ("acceleration",), 0.02, 0.001, 1.0),
        IndicatorParameter("maximum", ("maximum",), 0.2, 0.001, 1.0),
    ),
    single(
        "SAREXT",
        "Parabolic stop and reverse with accelerations of each side",
        "high low",
        _SAME,
        IndicatorParameter("offsetOnReverse", ("offsetonreverse",), 0.0, 0.0, 1.0),
        _acceleration(
            "accelerationInitLong", "accelerationinitlong", 0.02, "accelerationInitShort"
        ),
        _acceleration("accelerationLong", "accelerationlong", 0.02, "accelerationShort"),
        _acceleration("accelerationMaxLong", "accelerationmaxlong", 0.2, "accelerationMaxShort"),
        _acceleration(
            "accelerationInitShort", "accelerationinitshort", 0.02, "accelerationInitLong"
        ),
        _acceleration("accelerationShort", "accelerationshort", 0.02, "accelerationLong"),
        _acceleration("accelerationMaxShort", "accelerationmaxshort", 0.2, "accelerationMaxLong"),
        formula="EXTENDED_SAR",
    ),
    several(
        "SUPERTREND",
        "SuperTrend line, and the trend: 1 up, -1 down",
        _HLC,
        (
            IndicatorOutput("supertrend", "SUPERTREND", 0, _SAME, "supertrend"),
            IndicatorOutput("trend", "SUPERTREND", 1, Inversion.NEGATED, "trend", Range(-1, 1)),
        ),
        period(10),
        multiplier(3.0, "multiplier"),
    ),
    several(
        "ICHIMOKU",
        "Ichimoku's lines; the spans as they are drawn at the candle, from `displacement` candles"
        " before (TradingView's displacement counts the candle itself: its 26 is 25 here)",
        "high low",
        swapping(
            "ICHIMOKU",
            _SAME,
            ("conversion", "conversion"),
            ("base", "base"),
            ("spanA", "spanA"),
            ("spanB", "spanB"),
        ),
        period(9, "conversionPeriod", "conversion"),
        period(26, "basePeriod", "base"),
        period(52, "spanPeriod", "span"),
        period(26, "displacement", "displacement", low=0, high=500),
    ),
)

_BANDS = (
    several(
        "BBANDS",
        "Bollinger bands: average and standard deviations of the population; percentB is where the"
        " value lies between them (0 lower, 1 upper), width is theirs in percent of the middle",
        "source",
        (
            *band("BBANDS"),
            IndicatorOutput("percentB", "BOLLINGER_RATIOS", 0, Inversion.FROM_1, "percentB"),
            IndicatorOutput("width", "BOLLINGER_RATIOS", 1, Inversion.NONE, "width"),
        ),
        period(20),
        multiplier(2.0, "nbdevup", "nbdevdn"),
        average(),
    ),
    several(
        "KC",
        "Keltner channel: exponential average of (high + low + close) / 3, average true ranges",
        _HLC,
        band("KC"),
        period(20),
        period(10, "atrPeriod", "atrperiod"),
        multiplier(2.0, "nbdev"),
    ),
    several(
        "DONCHIAN",
        "Donchian channel: highest high and lowest low of the last candles, this one included",
        "high low",
        band("DONCHIAN"),
        period(20),
    ),
    several(
        "ACCBANDS",
        "Acceleration bands: averages of the highs and lows, widened by their range",
        _HLC,
        band("ACCBANDS"),
        period(20),
    ),
)

_SESSIONS = (
    several(
        "VWAP",
        "Volume-weighted average of (high + low + close) / 3 since the first candle of the session,"
        " week or month, and standard deviations around it; value and vwap are the same",
        "day hlc3 volume",
        (
            IndicatorOutput("value", "VWAP", 0, _SAME, "value"),
            IndicatorOutput("vwap", "VWAP", 0, _SAME, "vwap"),
            *swapping("VWAP_BANDS", _SAME, ("upper", "lower"), ("lower", "upper")),
        ),
        choice("anchor", "session", "week", "month"),
        IndicatorParameter("multiplier", ("multiplier",), 1.0, 0.1, 10.0, is_added=True),
    ),
    several(
        "OPENING_RANGE",
        "High and low of the session's first minutes, known once they are over",
        "day time high low",
        swapping("OPENING_RANGE", _SAME, ("high", "low"), ("low", "high")),
        IndicatorParameter("minutes", ("minutes",), 15, 1, 720),
    ),
    _previous("PREVIOUS_DAY", "Close, high, low and open of the previous session", "day"),
    _previous(
        "PREVIOUS_WEEK", "Close, high, low and open of the last whole week before", "day time"
    ),
    _previous(
        "PREVIOUS_MONTH", "Close, high, low and open of the last whole month before", "day time"
    ),
    several(
        "PIVOT_POINTS",
        "Pivot of the previous session, with its resistances and supports, and the top, bottom and"
        " width of its central range (CPR), the width in percent of the pivot",
        "day " + _HLC,
        (
            *swapping(
                "PIVOT_POINTS",
                _SAME,
                ("pivot", "pivot"),
                ("r1", "s1"),
                ("r2", "s2"),
                ("r3", "s3"),
                ("s1", "r1"),
                ("s2", "r2"),
                ("s3", "r3"),
            ),
            *swapping("FOURTH_PIVOTS", _SAME, ("r4", "s4"), ("s4", "r4")),
            *swapping("CENTRAL_RANGE", _SAME, ("tc", "bc"), ("bc", "tc")),
            IndicatorOutput("width", "CENTRAL_RANGE", 2, Inversion.NONE, "width", Range(low=0)),
        ),
        choice("method", "classic", "camarilla", "fibonacci"),
    ),
)

_TRANSFORMS = (
    single("ADD", "High plus low", "high low", _SAME),
    single("SUB", "High less low", "high low", Inversion.NONE),
    single("MULT", "High times low", "high low", _SAME),
    single("DIV", "High divided by low", "high low", Inversion.NONE),
    _of_source("SUM", "Sum of the last candles", period(20)),
    single("CUMSUM", "Sum of all candles, from any start", "source", Inversion.NONE),
    _of_source("CEIL", "The whole number at or above", opposite="FLOOR"),
    _of_source("FLOOR", "The whole number at or below", opposite="CEIL"),
    _of_source("SQRT", "Square root"),
    _of_source("LN", "Natural logarithm"),
    _of_source("LOG10", "Logarithm to base 10"),
    _of_source("EXP", "Exponential; unknown above 709"),
    _of_source("SINH", "Hyperbolic sine; unknown above 710"),
    _of_source("COSH", "Hyperbolic cosine; unknown above 710"),
    _of_source("TANH", "Hyperbolic tangent"),
    _of_source("ATAN", "Arc tangent"),
    _of_source("ASIN", "Arc sine; unknown above 1"),
    single("ACOS", "Arc cosine; unknown above 1", "source", Inversion.NONE),
    single("SIN", "Sine", "source", Inversion.NONE),
    single("COS", "Cosine", "source", Inversion.NONE),
    single("TAN", "Tangent", "source", Inversion.NONE),
)

PRICE_INDICATORS = (*_PLAIN, *_AVERAGES, *_LEVELS, *_BANDS, *_SESSIONS, *_TRANSFORMS)
