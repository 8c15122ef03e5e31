"""Indicators of motion: momentum, strength of a trend, cycles, volatility, volume."""

from __future__ import annotations

from apps.engine.indicators.indicator import (
    UNBOUNDED,
    Indicator,
    IndicatorOutput,
    IndicatorParameter,
    Inversion,
    Range,
    alike,
    average,
    multiplier,
    period,
    several,
    single,
    swapping,
)

_HLC = "high low close"
_PERCENT, _EITHER_WAY = Range(0, 100), Range(-100, 100)
_FRACTION, _SIGNED_FRACTION = Range(0, 1), Range(-1, 1)
_POSITIVE = Range(low=0)
_NEGATED, _FROM_100, _NONE = Inversion.NEGATED, Inversion.FROM_100, Inversion.NONE
_EMA, _RMA = 1, 13


def _fast(default: int) -> IndicatorParameter:
    return period(default, "fastPeriod", "fastperiod")


def _slow(default: int) -> IndicatorParameter:
    return period(default, "slowPeriod", "slowperiod", low=3)


def _signal(default: int, low: int = 1) -> IndicatorParameter:
    return period(default, "signalPeriod", "signalperiod", low=low)


def _of_source(
    type: str,
    description: str,
    inversion: Inversion,
    *parameters: IndicatorParameter,
    range: Range = UNBOUNDED,
) -> Indicator:
    return single(type, description, "source", inversion, *parameters, range=range)


_MOMENTUM = (
    _of_source("RSI", "Relative strength index", _FROM_100, period(14), range=_PERCENT),
    _of_source("CMO", "Chande momentum oscillator", _NEGATED, period(14), range=_EITHER_WAY),
    _of_source(
        "CMOU",
        "Chande momentum oscillator without smoothing",
        _NEGATED,
        period(14),
        range=_EITHER_WAY,
    ),
    _of_source("MOM", "Momentum: change in price", _NEGATED, period(10, low=1)),
    _of_source("ROC", "Rate of change in percent", _NEGATED, period(10, low=1)),
    _of_source("ROCP", "Rate of change as a fraction", _NEGATED, period(10, low=1)),
    _of_source("ROCR", "Ratio to the price before", Inversion.FROM_2, period(10, low=1)),
    _of_source("ROCR100", "Ratio to the price before x 100", Inversion.FROM_200, period(10, low=1)),
    _of_source("TRIX", "Rate of change of a triple average", _NEGATED, period(15)),
    _of_source(
        "DPO",
        "Detrended price oscillator: the value of period / 2 + 1 candles before less today's"
        " average (TradingView's centered one, not drawn back)",
        _NEGATED,
        period(20),
    ),
    _of_source("FOSC", "Price less its forecast, in percent", _NEGATED, period(5)),
    _of_source(
        "COPPOCK",
        "Coppock curve: weighted average of two rates of change",
        _NEGATED,
        period(10, "wmaPeriod", "wmaperiod"),
        period(11, "roc1Period", "roc1period", low=1),
        period(14, "roc2Period", "roc2period", low=1),
    ),
    _of_source(
        "TSI",
        "True strength index",
        _NEGATED,
        period(25, "firstPeriod", "firstperiod"),
        period(13, "secondPeriod", "secondperiod"),
        range=_EITHER_WAY,
    ),
    _of_source("LINEARREG_SLOPE", "Slope of the regression line", _NEGATED, period(14)),
    _of_source(
        "LINEARREG_ANGLE",
        "Angle of the regression line in degrees",
        _NEGATED,
        period(14),
        range=Range(-90, 90),
    ),
    _of_source(
        "PERCENTRANK",
        "Percent of the last candles below this one",
        _FROM_100,
        period(100),
        range=_PERCENT,
    ),
    _of_source(
        "APO", "Fast less slow average", _NEGATED, _fast(12), _slow(26), average(default=_EMA)
    ),
    _of_source(
        "PPO",
        "Fast less slow average in percent",
        _NEGATED,
        _fast(12),
        _slow(26),
        average(default=_EMA),
    ),
    several(
        "MACD",
        "Moving average convergence and divergence",
        "source",
        alike("MACD", _NEGATED, "macd", "signal", "histogram"),
        _fast(12),
        _slow(26),
        _signal(9),
    ),
    several(
        "MACDEXT",
        "Moving average convergence and divergence of chosen averages",
        "source",
        alike("MACDEXT", _NEGATED, "macd", "signal", "histogram"),
        _fast(12),
        average("fastMaType", "fastmatype"),
        _slow(26),
        average("slowMaType", "slowmatype"),
        _signal(9),
        average("signalMaType", "signalmatype"),
    ),
    several(
        "MACDFIX",
        "Moving average convergence and divergence of 12 and 26 candles, with fixed factors",
        "source",
        alike("MACDFIX", _NEGATED, "macd", "signal", "histogram"),
        _signal(9),
    ),
    single("AO", "Awesome oscillator", "high low", _NEGATED, _fast(5), _slow(34)),
    single(
        "AC",
        "Acceleration of the awesome oscillator",
        "high low",
        _NEGATED,
        _fast(5),
        _slow(34),
        _signal(5, low=2),
    ),
    single("BOP", "Balance of power", "open high low close", _NEGATED, range=_SIGNED_FRACTION),
    single("QSTICK", "Average of close less open", "open close", _NEGATED, period(10)),
    single("CCI", "Commodity channel index", _HLC, _NEGATED, period(20)),
    _of_source(
        "ZSCORE",
        "Standard deviations of the population between the value and its average",
        _NEGATED,
        period(20),
    ),
    several(
        "FISHER",
        "Fisher transform of the place of (high + low) / 2 in its range (John Ehlers), and its"
        " value one candle before",
        "hl2",
        alike("FISHER", _NEGATED, "fisher", "trigger"),
        period(10, high=200),
    ),
    several(
        "ERI",
        "Elder ray: high and low less an exponential average of closes",
        _HLC,
        swapping("ERI", _NEGATED, ("bullPower", "bearPower"), ("bearPower", "bullPower")),
        period(13),
    ),
)

_OSCILLATORS = (
    several(
        "STOCH",
        "Slow stochastic",
        _HLC,
        alike("STOCH", _FROM_100, "k", "d", range=_PERCENT),
        period(14, "kPeriod", "fastk_period", low=1),
        period(3, "smoothing", "slowk_period", low=1),
        period(3, "dPeriod", "slowd_period", low=1),
        average("smoothingMaType", "slowk_matype"),
        average("dMaType", "slowd_matype"),
    ),
    several(
        "STOCHF",
        "Fast stochastic",
        _HLC,
        alike("STOCHF", _FROM_100, "k", "d", range=_PERCENT),
        period(14, "kPeriod", "fastk_period", low=1),
        period(3, "dPeriod", "fastd_period", low=1),
        average("dMaType", "fastd_matype"),
    ),
    several(
        "STOCHRSI",
        "Stochastic of the relative strength index: k, not smoothed, and its average d as TA-Lib's;"
        " smoothK and smoothD are TradingView's K and D",
        "source",
        (
            *alike("STOCHRSI", _FROM_100, "k", "d", range=_PERCENT),
            *alike("SMOOTHED_STOCHRSI", _FROM_100, "smoothK", "smoothD", range=_PERCENT),
        ),
        period(14),
        period(14, "kPeriod", "fastk_period", low=1),
        period(3, "dPeriod", "fastd_period", low=1),
        average("dMaType", "fastd_matype"),
        period(3, "smoothing", "smoothing", low=1),
    ),
    several(
        "KDJ",
        "Stochastic with the line J = 3 K - 2 D",
        _HLC,
        (
            *alike("KDJ", _FROM_100, "k", "d", range=_PERCENT),
            IndicatorOutput("j", "KDJ", 2, _FROM_100, "j", Range(-200, 300)),
        ),
        period(9, "kPeriod", "fastk_period", low=1),
        period(3, "smoothing", "slowk_period", low=1),
        period(3, "dPeriod", "slowd_period", low=1),
        average("smoothingMaType", "slowk_matype", _RMA),
        average("dMaType", "slowd_matype", _RMA),
    ),
    several(
        "SMI",
        "Stochastic momentum index",
        _HLC,
        alike("SMI", _NEGATED, "smi", "signal", range=_EITHER_WAY),
        period(13),
        _fast(2),
        _slow(25),
        _signal(9, low=2),
    ),
    single(
        "WILLR", "Williams' %R", _HLC, Inversion.FROM_MINUS_100, period(14), range=Range(-100, 0)
    ),
    single(
        "ULTOSC",
        "Ultimate oscillator",
        _HLC,
        _FROM_100,
        period(7, "period1", "timeperiod1", low=1),
        period(14, "period2", "timeperiod2", low=1),
        period(28, "period3", "timeperiod3", low=1),
        range=_PERCENT,
    ),
    single("IMI", "Intraday momentum index", "open close", _FROM_100, period(14), range=_PERCENT),
    _of_source(
        "RVI",
        "Relative volatility index",
        _FROM_100,
        period(14),
        period(10, "stddevPeriod", "stddevperiod"),
        range=_PERCENT,
    ),
)

_TREND = (
    several(
        "ADX",
        "Average directional index, with its directional indicators",
        _HLC,
        (
            IndicatorOutput("adx", "ADX", 0, _NONE, "adx", _PERCENT),
            IndicatorOutput("plusDI", "PLUS_DI", 0, _NONE, "minusDI", _PERCENT),
            IndicatorOutput("minusDI", "MINUS_DI", 0, _NONE, "plusDI", _PERCENT),
        ),
        period(14),
    ),
    single("ADXR", "Average directional index rating", _HLC, _NONE, period(14), range=_PERCENT),
    single("DX", "Directional index", _HLC, _NONE, period(14), range=_PERCENT),
    single(
        "PLUS_DI",
        "Plus directional indicator",
        _HLC,
        _NONE,
        period(14),
        opposite="MINUS_DI",
        range=_PERCENT,
    ),
    single(
        "MINUS_DI",
        "Minus directional indicator",
        _HLC,
        _NONE,
        period(14),
        opposite="PLUS_DI",
        range=_PERCENT,
    ),
    single(
        "PLUS_DM",
        "Plus directional movement",
        "high low",
        _NONE,
        period(14),
        opposite="MINUS_DM",
        range=_POSITIVE,
    ),
    single(
        "MINUS_DM",
        "Minus directional movement",
        "high low",
        _NONE,
        period(14),
        opposite="PLUS_DM",
        range=_POSITIVE,
    ),
    several(
        "VORTEX",
        "Vortex: upward and downward movement over the true range",
        _HLC,
        swapping("VORTEX", _NONE, ("plusVI", "minusVI"), ("minusVI", "plusVI"), range=_POSITIVE),
        period(14),
    ),
    several(
        "AROON",
        "Aroon: how recent the highest high and the lowest low are",
        "high low",
        (
            IndicatorOutput("aroonUp", "AROON", 1, _NONE, "aroonDown", _PERCENT),
            IndicatorOutput("aroonDown", "AROON", 0, _NONE, "aroonUp", _PERCENT),
        ),
        period(25),
    ),
    single(
        "AROONOSC", "Aroon up less Aroon down", "high low", _NEGATED, period(25), range=_EITHER_WAY
    ),
    several(
        "RENKO",
        "Renko bricks of the close on a fixed grid of percent: the trend (1 up, -1 down), and the"
        " bricks in its run, below 0 while it falls",
        "close",
        (
            IndicatorOutput("trend", "RENKO", 0, _NEGATED, "trend", _SIGNED_FRACTION),
            IndicatorOutput("bricks", "RENKO", 1, _NEGATED, "bricks"),
        ),
        IndicatorParameter("percentage", ("percentage",), 1.0, 0.01, 20.0),
    ),
    single(
        "CHOP",
        "Choppiness index: high without a trend, low in one",
        _HLC,
        _NONE,
        period(14, high=200),
        range=_POSITIVE,
    ),
    several(
        "FRACTAL",
        "Williams' fractals: 100 at the candle that completes a swing, else 0",
        "high low",
        swapping(
            "FRACTAL", _NONE, ("swingHigh", "swingLow"), ("swingLow", "swingHigh"), range=_PERCENT
        ),
        IndicatorParameter("leftBars", ("leftbars",), 2, 1, 100),
        IndicatorParameter("rightBars", ("rightbars",), 2, 1, 100),
    ),
    single(
        "MAXINDEX",
        "Candles since the highest value of the last ones",
        "source",
        _NONE,
        period(20),
        formula="SINCE_MAX",
        opposite="MININDEX",
        range=_POSITIVE,
    ),
    single(
        "MININDEX",
        "Candles since the lowest value of the last ones",
        "source",
        _NONE,
        period(20),
        formula="SINCE_MIN",
        opposite="MAXINDEX",
        range=_POSITIVE,
    ),
    several(
        "MINMAXINDEX",
        "Candles since the lowest and since the highest value of the last ones",
        "source",
        (
            IndicatorOutput("min", "SINCE_MIN", 0, _NONE, "max", _POSITIVE),
            IndicatorOutput("max", "SINCE_MAX", 0, _NONE, "min", _POSITIVE),
        ),
        period(20),
    ),
    _of_source("ER", "Kaufman's efficiency ratio", _NONE, period(10), range=_FRACTION),
    _of_source("VHF", "Vertical horizontal filter", _NONE, period(28)),
    _of_source("HT_DCPERIOD", "Hilbert transform: candles of the dominant cycle", _NONE),
    _of_source("HT_DCPHASE", "Hilbert transform: phase of the dominant cycle in degrees", _NONE),
    _of_source(
        "HT_TRENDMODE", "Hilbert transform: 1 in a trend, 0 in a cycle", _NONE, range=_FRACTION
    ),
    several(
        "HT_PHASOR",
        "Hilbert transform: components of the phasor",
        "source",
        alike("HT_PHASOR", _NEGATED, "inPhase", "quadrature"),
    ),
    several(
        "HT_SINE",
        "Hilbert transform: sine of the phase, and 45 degrees ahead",
        "source",
        alike("HT_SINE", _NEGATED, "sine", "leadSine", range=_SIGNED_FRACTION),
    ),
)

_VOLATILITY = (
    single("ATR", "Average true range", _HLC, _NONE, period(14, low=1), range=_POSITIVE),
    single(
        "NATR",
        "Average true range in % of the close",
        _HLC,
        _NONE,
        period(14, low=1),
        range=_POSITIVE,
    ),
    several(
        "SQUEEZE",
        "Squeeze: 1 while the Bollinger bands are inside the Keltner channel, else 0, and the"
        " momentum, the end of the regression line of the close less the middle of its range and"
        " average",
        _HLC,
        (
            IndicatorOutput("on", "SQUEEZE_ON", 0, _NONE, "on", _FRACTION),
            IndicatorOutput("momentum", "SQUEEZE_MOMENTUM", 0, _NEGATED, "momentum"),
        ),
        period(20, high=200),
        IndicatorParameter("bollinger", ("bollinger",), 2.0, 0.5, 5.0),
        IndicatorParameter("keltner", ("keltner",), 1.5, 0.5, 5.0),
    ),
    single("TRANGE", "True range", _HLC, _NONE, range=_POSITIVE),
    single("ADR", "Average of high less low", "high low", _NONE, period(14), range=_POSITIVE),
    single(
        "CVI",
        "Chaikin's volatility: rate of change of the average range",
        "high low",
        _NONE,
        period(10),
        period(10, "rocPeriod", "rocperiod", low=1),
    ),
    single(
        "MASSI",
        "Mass index: how the range widens",
        "high low",
        _NONE,
        period(9, "emaPeriod", "fastperiod"),
        period(25, "sumPeriod", "slowperiod"),
    ),
    _of_source(
        "STDDEV",
        "Standard deviation of the population",
        _NONE,
        period(20),
        multiplier(1.0, "nbdev"),
        range=_POSITIVE,
    ),
    _of_source("VAR", "Variance of the population", _NONE, period(20), range=_POSITIVE),
    _of_source("AVGDEV", "Average deviation from the average", _NONE, period(14), range=_POSITIVE),
    single("BETA", "Slope of the low's returns on the high's", "high low", _NONE, period(5)),
    single(
        "CORREL",
        "Correlation of high and low",
        "high low",
        _NONE,
        period(30),
        range=_SIGNED_FRACTION,
    ),
)

_VOLUME = (
    single("OBV", "On-balance volume, from any start", "source volume", _NEGATED),
    single("PVT", "Price and volume trend, from any start", "close volume", _NEGATED),
    single("NVI", "Negative volume index, from any start", "close volume", Inversion.SAME),
    single("PVI", "Positive volume index, from any start", "close volume", Inversion.SAME),
    single("AD", "Accumulation and distribution, from any start", _HLC + " volume", _NEGATED),
    single("WAD", "Williams' accumulation and distribution, from any start", _HLC, _NEGATED),
    single(
        "ADOSC",
        "Fast less slow average of accumulation and distribution",
        _HLC + " volume",
        _NEGATED,
        _fast(3),
        _slow(10),
    ),
    single("MFI", "Money flow index", _HLC + " volume", _FROM_100, period(14), range=_PERCENT),
    single(
        "CMF", "Chaikin money flow", _HLC + " volume", _NEGATED, period(20), range=_SIGNED_FRACTION
    ),
    single("EFI", "Elder's force index", "close volume", _NEGATED, period(13)),
    single("MARKETFI", "Range per unit of volume", "high low volume", _NONE),
    single(
        "RVOL",
        "Volume over the average volume before",
        "volume",
        _NONE,
        period(20),
        range=_POSITIVE,
    ),
    single(
        "RELATIVE_VOLUME",
        "Volume over the mean volume at the same time of day in `period` sessions before (candles"
        " before on 1d and 1w)",
        "day time volume",
        _NONE,
        period(20, high=250),
        range=_POSITIVE,
    ),
    single(
        "PVO",
        "Fast less slow average of the volume in percent",
        "volume",
        _NONE,
        _fast(12),
        _slow(26),
        average(default=_EMA),
    ),
)

MOTION = (*_MOMENTUM, *_OSCILLATORS, *_TREND, *_VOLATILITY, *_VOLUME)
