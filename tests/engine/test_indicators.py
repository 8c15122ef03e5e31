"""The catalogue against two outside sources, and the properties that every row must have."""

import csv
import gzip
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import talib
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.engine.candles.candles import frozen
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import SOURCES, Indicator, Inversion
from apps.engine.indicators.series import compute_series, series, series_lookback
from apps.engine.indicators.session_formulas import FIBONACCI
from tests.engine.market_files import backtraders_daily

Column = NDArray[np.float64]
EVERY_OUTPUT = [(row, output) for row in CATALOGUE.values() for output in row.outputs]


def column(
    candles: Candles, type: str, output: str = "", source: str = "close", **changes: Any
) -> Column:
    """Return an output with the defaults of the catalogue and these changes."""
    row = CATALOGUE[type]
    chosen = row.output(output or row.outputs[0].name)
    defaults = {parameter.name: parameter.default for parameter in row.parameters}
    wanted = series(type, chosen.name, source, defaults | changes)
    column: NDArray[np.float64] = compute_series(wanted, candles)[chosen.column]
    return column


@cache
def random_candles(count: int, seed: int = 0, a_day: int = 375) -> Candles:
    """Return a walk of one-minute bars, so many a day, with prices and volumes of a share."""
    rng = np.random.default_rng(seed)
    close = 1000 + np.cumsum(rng.normal(0, 2, count))
    opened = close + rng.normal(0, 1, count)
    bar = np.arange(count)
    return Candles.build(
        1704080700 + bar // a_day * 86400 + bar % a_day * 60,
        open=opened,
        high=np.maximum(opened, close) + rng.random(count),
        low=np.minimum(opened, close) - rng.random(count),
        close=close,
        volume=rng.integers(0, 1000, count).astype(float),
    )


def upside_down(candles: Candles, level: float = 3000.0) -> Candles:
    return Candles.build(
        candles.time,
        open=level - candles.open,
        high=level - candles.low,
        low=level - candles.high,
        close=level - candles.close,
        volume=candles.volume,
    )


# Outside sources


def test_indicators_equal_talibs_own_on_eighteen_years_of_sbin(market_data: Path) -> None:
    """The outside numbers are rounded to 8 decimals."""
    with gzip.open(market_data / "nse_raw_SBIN_2008-26.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    days = np.array([row["date"] for row in rows], dtype="M8[D]").astype(np.int64)
    names = ("open", "high", "low", "close", "volume")
    columns = {name: [float(row[name]) for row in rows] for name in names}
    sbin = Candles.build(days * 86400 - 19800, **columns)
    with gzip.open(market_data / "oracle_talib_sbin_daily.csv.gz", "rt", newline="") as file:
        outside = list(csv.DictReader(file))
    changes: Any
    for name, type, output, changes in (
        ("sma20", "SMA", "", {}),
        ("ema9", "EMA", "", {"period": 9}),
        ("ema20", "EMA", "", {}),
        ("ema21", "EMA", "", {"period": 21}),
        ("wma20", "WMA", "", {}),
        ("rsi14", "RSI", "", {}),
        ("macd", "MACD", "macd", {}),
        ("macd_signal", "MACD", "signal", {}),
        ("macd_hist", "MACD", "histogram", {}),
        ("bb_up", "BBANDS", "upper", {}),
        ("bb_mid", "BBANDS", "middle", {}),
        ("bb_low", "BBANDS", "lower", {}),
        ("tr", "TRANGE", "", {}),
        ("atr14", "ATR", "", {}),
        ("adx14", "ADX", "adx", {}),
        ("pdi14", "ADX", "plusDI", {}),
        ("mdi14", "MINUS_DI", "", {}),
        ("stoch_k", "STOCH", "k", {}),
        ("stoch_d", "STOCH", "d", {}),
        ("cci20", "CCI", "", {}),
        ("willr14", "WILLR", "", {}),
        ("roc10", "ROC", "", {}),
        ("mom10", "MOM", "", {}),
        ("stddev20", "STDDEV", "", {}),
        ("sar", "SAR", "", {}),
    ):
        published = np.array([float(row[name] or "nan") for row in outside])
        np.testing.assert_allclose(
            column(sbin, type, output, **changes), published, rtol=0, atol=1e-8, err_msg=name
        )
    for name, type, source in (("max20", "MAX", "high"), ("min20", "MIN", "low")):
        published = np.array([float(row[name] or "nan") for row in outside])
        np.testing.assert_array_equal(column(sbin, type, source=source), published)


def test_indicators_equal_those_of_backtraders_test_suite(market_data: Path) -> None:
    """They are compared at the first bar with a value, in the middle and at the last bar.

    ADX is seeded in another way there, and has met ours by the end.
    """
    candles = backtraders_daily(market_data)
    changes: Any
    for type, changes, middle, expected in (
        ("SMA", {"period": 30}, 141, (3644.444667, 3554.693333, 4063.463000)),
        ("EMA", {"period": 30}, 141, (3644.444667, 3581.728712, 4070.115719)),
        ("RSI", {"period": 14}, 134, (41.630968, 53.352553, 57.644284)),
        ("ATR", {"period": 14}, 134, (34.264286, 54.329064, 35.866308)),
    ):
        values = column(candles, type, **changes)
        first = np.flatnonzero(~np.isnan(values))[0]
        assert values[[first, middle, -1]] == pytest.approx(expected, abs=1e-6), type
    for type, outputs, last in (
        ("BBANDS", ("middle", "upper", "lower"), (4065.884000, 4190.782310, 3940.985690)),
        ("STOCH", ("k", "d"), (88.667626, 82.845850)),
        ("ADX", ("adx", "plusDI", "minusDI"), (15.302485, 28.809535, 24.638772)),
    ):
        values = np.array([column(candles, type, output)[-1] for output in outputs])
        assert values == pytest.approx(last, abs=1e-6), type


def quotes(path: Path) -> tuple[list[str], dict[str, list[float]]]:
    with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("open", "high", "low", "close", "volume")
    return [row["date"] for row in rows], {n: [float(row[n]) for row in rows] for n in names}


@pytest.fixture(scope="module")
def published(market_data: Path) -> tuple[Candles, dict[str, list[dict[str, Any]]]]:
    """Return 502 daily bars, and 34 indicators that another library publishes for them."""
    _, columns = quotes(market_data / "oracle_si_quotes_502.csv.gz")
    with gzip.open(market_data / "oracle_si_results_502.json.gz", "rt") as file:
        return Candles.build([86400 * i for i in range(502)], **columns), json.load(file)


@pytest.mark.parametrize(
    ("name", "field", "type", "output", "changes"),
    [
        ("sma", "sma", "SMA", "", {}),
        ("ema", "ema", "EMA", "", {}),
        ("wma", "wma", "WMA", "", {"period": 14}),
        ("hma", "hma", "HMA", "", {"period": 14}),
        ("kama", "kama", "KAMA", "", {}),
        ("vwma", "vwma", "VWMA", "", {"period": 14}),
        ("rsi", "rsi", "RSI", "", {}),
        ("bb", "sma", "BBANDS", "middle", {}),
        ("bb", "upperBand", "BBANDS", "upper", {}),
        ("bb", "lowerBand", "BBANDS", "lower", {}),
        ("tr", "tr", "TRANGE", "", {}),
        ("atr", "atr", "ATR", "", {}),
        ("atr", "atrp", "NATR", "", {}),
        ("stoch", "k", "STOCH", "k", {}),
        ("stoch", "d", "STOCH", "d", {}),
        ("stoch-rsi", "stochRsi", "STOCHRSI", "k", {}),
        ("stoch-rsi", "signal", "STOCHRSI", "d", {}),
        ("supertrend", "superTrend", "SUPERTREND", "supertrend", {}),
        ("cci", "cci", "CCI", "", {}),
        ("mfi", "mfi", "MFI", "", {}),
        ("willr", "williamsR", "WILLR", "", {}),
        ("roc", "roc", "ROC", "", {"period": 14}),
        ("roc", "momentum", "MOM", "", {"period": 14}),
        ("cmf", "cmf", "CMF", "", {}),
        ("stdev", "stdDev", "STDDEV", "", {"period": 14}),
        ("heikinashi", "open", "HA", "open", {}),
        ("heikinashi", "high", "HA", "high", {}),
        ("heikinashi", "low", "HA", "low", {}),
        ("heikinashi", "close", "HA", "close", {}),
    ],
)
def test_indicators_equal_another_librarys(  # noqa: PLR0917
    published: tuple[Candles, dict[str, list[dict[str, Any]]]],
    name: str,
    field: str,
    type: str,
    output: str,
    changes: dict[str, Any],
) -> None:
    candles, results = published
    expected = np.array([row[field] for row in results[name]], dtype=float)
    values = column(candles, type, output, **changes)
    both = ~np.isnan(values) & ~np.isnan(expected)
    assert both.sum() > 440
    np.testing.assert_allclose(values[both], expected[both], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "field", "type", "output", "changes"),
    [
        ("macd", "macd", "MACD", "macd", {}),
        ("macd", "signal", "MACD", "signal", {}),
        ("macd", "histogram", "MACD", "histogram", {}),
        ("dema", "dema", "DEMA", "", {"period": 14}),
        ("tema", "tema", "TEMA", "", {}),
        ("adx", "adx", "ADX", "adx", {}),
        ("adx", "pdi", "PLUS_DI", "", {}),
        ("adx", "mdi", "MINUS_DI", "", {}),
        ("psar", "sar", "SAR", "", {}),
        ("aroon", "aroonUp", "AROON", "aroonUp", {}),
        ("aroon", "aroonDown", "AROON", "aroonDown", {}),
        ("aroon", "oscillator", "AROONOSC", "", {}),
    ],
)
def test_where_seeding_or_ties_differ_the_values_meet(  # noqa: PLR0917
    published: tuple[Candles, dict[str, list[dict[str, Any]]]],
    name: str,
    field: str,
    type: str,
    output: str,
    changes: dict[str, Any],
) -> None:
    candles, results = published
    expected = np.array([row[field] for row in results[name]], dtype=float)
    values = column(candles, type, output, **changes)
    np.testing.assert_allclose(values[-100:], expected[-100:], rtol=0, atol=1e-8)


def test_on_balance_volume_moves_as_another_librarys(
    published: tuple[Candles, dict[str, list[dict[str, Any]]]],
) -> None:
    candles, results = published
    expected = np.diff([row["obv"] for row in results["obv"]])
    assert np.diff(column(candles, "OBV")).tolist() == expected.tolist()


def test_a_donchian_channel_includes_the_candle_itself(
    published: tuple[Candles, dict[str, list[dict[str, Any]]]],
) -> None:
    """The other library's band covers the candles before, which is an offset of one here."""
    candles, results = published
    expected = np.array([row["upperBand"] for row in results["donchian"]], dtype=float)
    np.testing.assert_array_equal(column(candles, "DONCHIAN", "upper")[19:-1], expected[20:])


def test_a_keltner_channel_is_as_wide_as_another_librarys(
    published: tuple[Candles, dict[str, list[dict[str, Any]]]],
) -> None:
    """Its middle is an average of closes there, and of typical prices here."""
    candles, results = published
    expected = [row["upperBand"] - row["lowerBand"] for row in results["keltner"][-100:]]
    widths = column(candles, "KC", "upper") - column(candles, "KC", "lower")
    np.testing.assert_allclose(widths[-100:], expected, rtol=0, atol=1e-8)
    middle = column(candles, "KC", "middle")
    assert middle.tolist()[19:] == column(candles, "EMA", source="hlc3").tolist()[19:]


def test_vwap_restarts_at_each_session(market_data: Path) -> None:
    """The values are published for 1,564 one-minute bars of four days."""
    dates, columns = quotes(market_data / "oracle_si_intraday.csv.gz")
    times = np.array(dates, dtype="M8[s]").astype(np.int64) - 19800
    candles = Candles.build(times, **columns)
    vwap = column(candles, "VWAP")
    assert [round(float(vwap[bar]), 4) for bar in (0, 1, 369, 390)] == [
        367.4800,
        367.4223,
        367.9494,
        368.1804,
    ]
    first = candles.slice(391, 392)
    assert vwap[391] == pytest.approx((first.high + first.low + first.close)[0] / 3)


def sessions_of(*highs_and_lows: list[tuple[float, float]]) -> Candles:
    """Return days of minute bars that open at their low and close at their high."""
    rows = [
        (day * 86400 + 33300 - 19800 + minute * 60, high, low)
        for day, bars in enumerate(highs_and_lows, start=19_724)
        for minute, (high, low) in enumerate(bars)
    ]
    time, high, low = (list(values) for values in zip(*rows, strict=True))
    return Candles.build(time, open=low, high=high, low=low, close=high, volume=[1.0] * len(rows))


def test_levels_of_the_previous_session_come_from_the_last_date_with_candles() -> None:
    candles = sessions_of([(12, 8), (11, 9)], [(20, 15)], [(30, 25), (31, 24)])
    levels = {
        name: column(candles, "PREVIOUS_DAY", name).tolist()[2:]
        for name in ("open", "high", "low", "close")
    }
    assert levels == {
        "open": [8, 15, 15],
        "high": [12, 20, 20],
        "low": [8, 15, 15],
        "close": [11, 20, 20],
    }
    assert np.isnan(column(candles, "PREVIOUS_DAY")[:2]).all()


def test_pivot_points_are_the_floor_traders() -> None:
    """High 12, low 8 and close 11 give a pivot of 31 / 3."""
    candles = sessions_of([(12, 8), (11, 9)], [(20, 15)])
    names = ("pivot", "r1", "r2", "r3", "s1", "s2", "s3")
    pivot = 31 / 3
    expected = [pivot, 2 * pivot - 8, pivot + 4, 12 + 2 * (pivot - 8)]
    expected += [2 * pivot - 12, pivot - 4, 8 - 2 * (12 - pivot)]
    levels = [float(column(candles, "PIVOT_POINTS", name)[-1]) for name in names]
    assert levels == pytest.approx(expected)


def test_the_opening_range_is_known_once_it_is_over() -> None:
    candles = sessions_of([(12, 8), (13, 9), (30, 1)], [(5, 4), (7, 3), (9, 2)], [(6, 5)])
    for output, expected in (("high", [13, 7]), ("low", [8, 3])):
        values = column(candles, "OPENING_RANGE", output, minutes=2)
        assert np.flatnonzero(~np.isnan(values)).tolist() == [2, 5]
        assert values[[2, 5]].tolist() == expected


@pytest.mark.parametrize(("smoothing", "d"), [(3, 3), (5, 2), (1, 1)])
def test_the_smoothed_stochastic_of_the_rsi_is_tradingviews(smoothing: int, d: int) -> None:
    """k = sma(stoch(rsi, rsi, rsi, 14), smoothing); d = sma(k, d)."""
    candles = random_candles(400)
    rsi = talib.RSI(candles.close, 14)
    windows = np.lib.stride_tricks.sliding_window_view(rsi[14:], 14)
    low, high = windows.min(axis=1), windows.max(axis=1)
    stochastic = 100 * (windows[:, -1] - low) / (high - low)
    k = np.convolve(stochastic, np.full(smoothing, 1 / smoothing), "valid")
    average = np.convolve(k, np.full(d, 1 / d), "valid")
    given: dict[str, Any] = {"smoothing": smoothing, "dPeriod": d}
    for output, expected in (("smoothK", k[d - 1 :]), ("smoothD", average)):
        values = column(candles, "STOCHRSI", output, **given)
        unknown = 14 + 13 + smoothing - 1 + d - 1
        assert np.isnan(values[:unknown]).all()
        np.testing.assert_allclose(values[unknown:], expected, rtol=0, atol=1e-7)
    talibs = talib.STOCHRSI(candles.close, 14, 14, d)
    for output, expected in zip(("k", "d"), talibs, strict=True):
        assert column(candles, "STOCHRSI", output, **given).tobytes() == expected.tobytes()


def test_dpo_is_the_earlier_value_less_the_average_now() -> None:
    close = random_candles(100).close
    expected = close[39 - 11 : -11] - talib.SMA(close, 20)[39:]
    np.testing.assert_allclose(column(random_candles(100), "DPO")[39:], expected, atol=1e-9)


def test_ichimoku_equals_another_librarys(
    published: tuple[Candles, dict[str, list[dict[str, Any]]]],
) -> None:
    candles, results = published
    for output, field in (
        ("conversion", "tenkanSen"),
        ("base", "kijunSen"),
        ("spanA", "senkouSpanA"),
        ("spanB", "senkouSpanB"),
    ):
        expected = np.array([row[field] for row in results["ichimoku"]], dtype=float)
        values = column(candles, "ICHIMOKU", output)
        np.testing.assert_allclose(values[77:], expected[77:], rtol=0, atol=1e-9, err_msg=output)


def test_the_catalogue_has_every_function_of_talib_but_patterns_and_averages_of_any_period() -> (
    None
):
    groups = talib.get_function_groups()  # type: ignore[no-untyped-call]
    patterns = groups.pop("Pattern Recognition")
    functions = {name for names in groups.values() for name in names}
    assert functions - set(CATALOGUE) == {"MAVP"}
    assert not set(patterns) & set(CATALOGUE)


# Properties of every row


OF_MANY_SESSIONS = {"PREVIOUS_WEEK", "PREVIOUS_MONTH", "RELATIVE_VOLUME"}


def candles_for(row: Indicator, count: int, seed: int = 0) -> Candles:
    """Return random candles, with few a day for indicators of many sessions."""
    return random_candles(count, seed, a_day=5 if row.type in OF_MANY_SESSIONS else 375)


def test_no_value_depends_on_a_later_bar() -> None:
    for row in CATALOGUE.values():
        candles = candles_for(row, 900)
        for output in row.outputs:
            whole = column(candles, row.type, output.name)
            for bars in (1, 2, 25, 60, 374, 375, 376, 500, 777):
                part = column(candles.slice(0, bars), row.type, output.name)
                assert part.tobytes() == whole[:bars].tobytes(), (row.type, output.name)


OF_SESSIONS = {"VWAP", "OPENING_RANGE", "PREVIOUS_DAY", "PIVOT_POINTS", "RENKO"} | OF_MANY_SESSIONS
UNKNOWN_OF_PRICES = {"EXP", "SINH", "COSH", "ASIN", "ACOS"}
"""Unknown of what costs a thousand rupees."""


def test_values_begin_where_the_look_back_says() -> None:
    for row, output in EVERY_OUTPUT:
        values = column(candles_for(row, 400), row.type, output.name)
        defaults = {parameter.name: parameter.default for parameter in row.parameters}
        first = series_lookback(series(row.type, output.name, "close", defaults))
        begun = np.isfinite(values[first:]).all()
        if row.type in OF_SESSIONS:
            assert first == 0
            begun = np.isfinite(values[390:]).all()  # 15 minutes into the second session
        assert np.isnan(values[:first]).all(), row.type
        assert begun == (row.type not in UNKNOWN_OF_PRICES), row.type


def test_no_value_leaves_the_range_of_its_output() -> None:
    for row, output in EVERY_OUTPUT:
        calm, wild = candles_for(row, 2000), upside_down(candles_for(row, 2000, seed=3), level=2100)
        for candles in (calm, wild):
            values = column(candles, row.type, output.name)
            values = values[np.isfinite(values)]
            assert (values >= output.range.low - 1e-6).all(), row.type
            assert (values <= output.range.high + 1e-6).all(), row.type


def test_a_range_is_its_own_mirror() -> None:
    for row, output in EVERY_OUTPUT:
        if output.inversion not in (Inversion.SAME, Inversion.NONE):
            low, high = output.range
            assert (output.inversion.level(high), output.inversion.level(low)) == (low, high), (
                row.type
            )


def test_both_ends_of_every_range_are_computable() -> None:
    for row in CATALOGUE.values():
        candles = candles_for(row, 3100)
        options = sorted({number for p in row.parameters for _, number in p.names})
        lowest = {p.name: p.low for p in row.parameters if not p.names}
        tries: list[dict[str, Any]] = [
            {p.name: end} for p in row.parameters for end in (p.low, p.high) if not p.names
        ]
        kinds = [p.name for p in row.parameters if p.names]
        tries += [lowest | dict.fromkeys(kinds, number) for number in options]
        for changes in tries:
            for output in row.outputs:
                values = column(candles, row.type, output.name, **changes)
                assert np.isfinite(values[-1]) == computable(row, output.name, changes), (
                    row.type,
                    changes,
                    output,
                )


def computable(row: Indicator, output: str, changes: dict[str, float]) -> bool:
    """No session of these has 720 minutes, no price moves by 20 percent, and the pivot points of
    Fibonacci have no fourth level.
    """
    never = changes.get("minutes") == 720 or changes.get("percentage") == 20
    lacks = changes.get("method") == FIBONACCI and output in ("r4", "s4")
    return row.type not in UNKNOWN_OF_PRICES and not never and not lacks


def test_defaults_lie_in_their_ranges_and_names_are_distinct() -> None:
    for row in CATALOGUE.values():
        assert all(p.low <= p.default <= p.high for p in row.parameters), row.type
        names = [p.name for p in row.parameters]
        names += ["type", "output", "source", "offset", "timeframe"]
        assert len(set(names)) == len(names), row.type
        assert len({output.name for output in row.outputs}) == len(row.outputs), row.type


def test_the_opposite_of_the_opposite_is_the_output_itself() -> None:
    for row, output in EVERY_OUTPUT:
        opposite = CATALOGUE[row.opposite]
        back = opposite.output(output.opposite)
        assert (opposite.opposite, back.opposite) == (row.type, output.name)
        assert back.inversion is output.inversion


INEXACT = set(
    """
    ACCBANDS ADD ATAN CEIL COPPOCK FLOOR FOSC LN LOG10 MFI MULT NATR NVI PERCENTILE PPO PVI PVT ROC
    ROCP ROCR ROCR100 SQRT SUM TRIX BBANDS.width PIVOT_POINTS.width
""".split()
)
"""Ratios to the price's own level, and scales that are not the price's: their mirror is the usual
one, which runs the same way, and not an equation."""
WITHOUT_DIRECTION = {
    "BETA",
    "CUMSUM",
    "DIV",
    "HT_DCPHASE",
    "HT_TRENDMODE",
    "SIN",
    "COS",
    "TAN",
    "TANH",
    "RENKO",
}
"""A market upside down shows something else (the hyperbolic tangent of a price is 1, and bricks of
a percentage have another size there)."""


def test_the_mirror_equals_an_inverted_market() -> None:
    for row, output in EVERY_OUTPUT:
        candles = candles_for(row, 1500)
        turned = upside_down(candles)
        if row.type in WITHOUT_DIRECTION | UNKNOWN_OF_PRICES:
            continue
        defaults = {parameter.name: parameter.default for parameter in row.parameters}
        mirrored: dict[str, Any] = row.turned(defaults)
        inverted = column(turned, row.opposite, output.opposite, **mirrored)
        values = column(candles, row.type, output.name)
        expected = np.array([output.inversion.level(value) for value in values])
        if output.inversion is Inversion.SAME:
            expected = 3000.0 - values
        if row.type in ("OBV", "AD", "WAD"):  # The level of these is arbitrary.
            expected, inverted = np.diff(expected), np.diff(inverted)
        # Parabolic stops find their direction in the first bars.
        expected, inverted = expected[600:], inverted[600:]
        if INEXACT & {row.type, f"{row.type}.{output.name}"}:
            assert np.corrcoef(expected, inverted)[0, 1] > 0.9, row.type
        else:
            np.testing.assert_allclose(inverted, expected, rtol=0, atol=1e-6, err_msg=row.type)


def test_unequal_accelerations_of_the_sides_change_places() -> None:
    candles, changes = random_candles(1500), {"accelerationLong": 0.05, "percentile": 20.0}
    for type in ("SAREXT", "PERCENTILE"):
        row = CATALOGUE[type]
        given: dict[str, Any] = {p.name: changes.get(p.name, p.default) for p in row.parameters}
        mirrored: dict[str, Any] = row.turned(given)
        inverted = column(upside_down(candles), type, **mirrored)
        values = column(candles, type, **given)
        assert np.corrcoef(3000 - values[600:], inverted[600:])[0, 1] > 0.999
        assert row.turned(row.turned(given)) == given


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_is_a_column_of_prices_or_volumes(source: str) -> None:
    candles = random_candles(30)
    values = compute_series(series("PRICE", "value", source, {}), candles)[0]
    high, low, close, opened = candles.high, candles.low, candles.close, candles.open
    combined = {
        "hl2": (high + low) / 2,
        "hlc3": (high + low + close) / 3,
        "ohlc4": (opened + high + low + close) / 4,
    }
    expected = combined[source] if source in combined else getattr(candles, source)
    assert values.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "type", [row.type for row in CATALOGUE.values() if "volume" in row.inputs] + ["SMA"]
)
def test_rule_11_indicators_of_volume_are_unknown_until_there_is_some(type: str) -> None:
    candles = candles_for(CATALOGUE[type], 900)
    source = {"source": "volume"} if type == "SMA" else {}
    for silent in (900, 400):
        volume = np.where(np.arange(900) < silent, 0.0, candles.volume)
        given = replace(candles, volume=frozen(volume))
        for output in CATALOGUE[type].outputs:
            values = column(given, type, output.name, **source)
            assert np.isnan(values[:silent]).all()
            assert np.isfinite(values[silent + 100 :]).all()


def test_computing_leaves_the_candles_alone() -> None:
    candles = random_candles(50)
    with pytest.raises(ValueError, match="read-only"):
        column(candles, "PRICE")[:] = 0.0
