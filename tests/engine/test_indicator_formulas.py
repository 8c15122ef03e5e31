"""Formulas beyond TA-Lib: published values, a second implementation of each, and their edges.

Published values are those that the tests of Stock.Indicators (DaveSkender/Stock.Indicators, 2.4)
assert for its 502 daily bars and for one-minute bars. The second implementations are written apart,
in plain Python, bar by bar, from the published formulas.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from operator import mul
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
import talib

from apps.engine.candles import Candles
from apps.engine.candles.candles import IST, frozen
from tests.engine.test_indicators import Column, column, quotes, random_candles, upside_down

NAN = math.nan
Values = Sequence[float] | Column


def daily(*closes: float) -> Candles:
    """Return days with a single price each."""
    days = [1_767_551_400 + i * 86400 for i in range(len(closes))]  # from 2026-01-05 on, a Monday
    return Candles.build(
        days, open=closes, high=closes, low=closes, close=closes, volume=[10.0] * len(closes)
    )


def at(*bars: tuple[str, float, float, float, float, float]) -> Candles:
    """Return bars at times in Asia/Kolkata."""
    time, *columns = zip(*bars, strict=True)
    epochs = [int(datetime.fromisoformat(f"{t}+05:30").timestamp()) for t in time]
    names = ("open", "high", "low", "close", "volume")
    return Candles.build(epochs, **dict(zip(names, columns, strict=True)))


def same(values: Column, expected: Values, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


# Examples of the language


def test_renko_counts_the_bricks_of_a_run() -> None:
    candles = daily(100, 101.2, 102.3, 103.5, 102.6, 101.4, 100.2, 99.1, 100.4, 102.6)
    bricks = [NAN, 1, 2, 3, 3, 3, -1, -3, -3, 2]
    same(column(candles, "RENKO", "bricks"), bricks)
    same(column(candles, "RENKO", "trend"), [NAN, *np.sign(bricks[1:])])


def test_the_central_range_is_that_of_the_previous_session() -> None:
    candles = at(
        ("2026-01-05T15:20", 100, 103, 99, 101, 10),
        ("2026-01-05T15:25", 101, 102, 98, 102, 10),
        ("2026-01-06T09:15", 102, 102, 102, 102, 10),
    )
    levels = {"pivot": 101.0, "tc": 101.5, "bc": 100.5, "width": 0.990099}
    for output, expected in levels.items():
        for method in range(3):
            values = column(candles, "PIVOT_POINTS", output, method=method)
            same(values, [NAN, NAN, expected], 1e-6)


def test_a_zscore_without_deviation_is_unknown() -> None:
    candles = daily(100, 102, 104, 103, 103, 103)
    expected = [NAN, NAN, 1.224745, 0, -0.707107, NAN]
    same(column(candles, "ZSCORE", period=3), expected, 1e-6)


# Published values


@pytest.fixture(scope="module")
def published_days(market_data: Path) -> tuple[list[str], Candles]:
    dates, columns = quotes(market_data / "oracle_si_quotes_502.csv.gz")
    midnights = [datetime.fromisoformat(f"{day[:10]}T00:00+05:30") for day in dates]
    return dates, Candles.build([int(day.timestamp()) for day in midnights], **columns)


@pytest.mark.parametrize(
    ("type", "output", "changes", "expected"),
    [
        (
            "ALMA",
            "",
            {"period": 10},
            {9: 214.1839, 24: 216.0619, 149: 235.8609, 249: 257.5787, 501: 242.1871},
        ),
        ("CHOP", "", {}, {14: 69.9967, 249: 41.8499, 501: 38.6526}),
        ("BBANDS", "percentB", {}, {249: 0.8039, 501: 0.3494}),
        ("BBANDS", "width", {}, {249: 3.1416, 501: 17.3433}),
        ("ZSCORE", "", {}, {249: 1.2157, 501: -0.6026}),
        ("FISHER", "", {}, {9: 1.3324, 10: 0.9790, 149: 1.0349, 249: 1.3496, 501: -1.2876}),
        ("FISHER", "trigger", {}, {9: 1.4704, 10: 1.3324, 149: 0.7351, 249: 1.4408, 501: -2.0071}),
    ],
)
def test_indicators_equal_those_of_stock_indicators(
    published_days: tuple[list[str], Candles],
    type: str,
    output: str,
    changes: dict[str, Any],
    expected: dict[int, float],
) -> None:
    """Fisher's x jumps from 0.99 to 0.999 there and is clipped here, so peaks differ."""
    values = column(published_days[1], type, output, **changes)
    assert np.isnan(values[: min(*expected, 14)]).all()
    assert {bar: round(float(values[bar]), 4) for bar in expected} == expected


def sessions_of(groups: Sequence[object], candles: Candles) -> Candles:
    """Return the same bars with each run of an equal group as a session."""
    runs = [len(list(run)) for _, run in groupby(groups)]
    time = [day * 86400 + bar * 60 for day, bars in enumerate(runs) for bar in range(bars)]
    return replace(candles, time=frozen(np.array(time, np.int64)))


LEVELS = ("pivot", "r1", "r2", "r3", "s1", "s2", "s3")


def test_classic_pivots_equal_published_ones_of_months(
    published_days: tuple[list[str], Candles],
) -> None:
    dates, days = published_days
    months = sessions_of([day[:7] for day in dates], days)
    levels = [column(months, "PIVOT_POINTS", name) for name in LEVELS]
    for bar, expected in (
        (20, (214.5, 217.48, 220.0, 222.98, 211.98, 209.0, 206.48)),
        (149, (233.64, 238.12, 240.95, 245.43, 230.81, 226.33, 223.5)),
        (501, (266.6767, 276.6733, 284.3867, 294.3833, 258.9633, 248.9667, 241.2533)),
    ):
        assert [float(values[bar]) for values in levels] == pytest.approx(expected, abs=6e-5)
    assert all(np.isnan(values[:20]).all() for values in levels)


def test_camarilla_pivots_equal_published_ones_of_weeks(
    published_days: tuple[list[str], Candles],
) -> None:
    """Weeks begin on Sunday there, which no bar can tell from Monday."""
    dates, days = published_days
    numbers = [date.fromisoformat(day[:10]).isocalendar()[:2] for day in dates]
    weeks = sessions_of(numbers[464:], days.slice(464, 502))
    names = ("r1", "r2", "r3", "r4", "s1", "s2", "s3", "s4")
    levels = [column(weeks, "PIVOT_POINTS", name, method=1) for name in names]
    for bar, expected in (
        (5, (271.9028, 272.7855, 273.66825, 276.3165, 270.13725, 269.2545, 268.3718, 265.7235)),
        (23, (258.7760, 260.3820, 261.9880, 266.8060, 255.5640, 253.9580, 252.3520, 247.5340)),
        (37, (244.7368, 246.3235, 247.91025, 252.6705, 241.56325, 239.9765, 238.3898, 233.6295)),
    ):
        assert [float(values[bar]) for values in levels] == pytest.approx(expected, abs=6e-5)


def test_fibonacci_pivots_equal_published_ones_of_hours(market_data: Path) -> None:
    dates, columns = quotes(market_data / "oracle_si_intraday.csv.gz")
    last = {name: values[-300:] for name, values in columns.items()}
    hours = sessions_of([time[:13] for time in dates[-300:]], Candles.build(range(300), **last))
    levels = [column(hours, "PIVOT_POINTS", name, method=2) for name in LEVELS]
    for bar, expected in (
        (59, (368.4967, 369.0697, 369.4237, 369.9967, 367.9237, 367.5697, 366.9967)),
        (149, (369.0000, 369.4240, 369.6860, 370.1100, 368.5760, 368.3140, 367.8900)),
        (299, (368.8200, 370.0768, 370.8532, 372.1100, 367.5632, 366.7868, 365.5300)),
    ):
        assert [float(values[bar]) for values in levels] == pytest.approx(expected, abs=6e-5)
    assert np.isnan(column(hours, "PIVOT_POINTS", "r4", method=2)).all()


def test_the_previous_month_makes_the_published_pivots(
    published_days: tuple[list[str], Candles],
) -> None:
    """January 2017 began on a Tuesday here, after a holiday, so it may lack a day."""
    _, days = published_days
    high, low, close = (column(days, "PREVIOUS_MONTH", name) for name in ("high", "low", "close"))
    pivot = (high + low + close) / 3
    for bar, expected in ((149, 233.64), (250, 251.2767), (251, 255.1967), (501, 266.6767)):
        assert float(pivot[bar]) == pytest.approx(expected, abs=6e-5)
    assert np.isnan(pivot[:39]).all()
    assert np.isfinite(pivot[39:]).all()


# Second implementations


def windows(values: Values, period: int) -> Iterator[Values | None]:
    """Yield the last values at each bar, None before there are enough."""
    for bar in range(len(values)):
        yield values[bar - period + 1 : bar + 1] if bar + 1 >= period else None


def plain_zscore(candles: Candles, period: int) -> list[float]:
    return [
        NAN if window is None else (window[-1] - fmean(window)) / pstdev(window)
        for window in windows(candles.close.tolist(), period)
    ]


def plain_alma(candles: Candles, period: int, offset: float, sigma: float) -> list[float]:
    m, s = offset * (period - 1), period / sigma
    weights = [math.exp(-((i - m) ** 2) / (2 * s * s)) for i in range(period)]
    return [
        NAN if window is None else math.fsum(map(mul, weights, window)) / math.fsum(weights)
        for window in windows(candles.close.tolist(), period)
    ]


def true_ranges(candles: Candles) -> list[float]:
    high, low, close = candles.high.tolist(), candles.low.tolist(), candles.close.tolist()
    return [NAN] + [
        max(high[i], close[i - 1]) - min(low[i], close[i - 1]) for i in range(1, len(close))
    ]


def plain_chop(candles: Candles, period: int) -> list[float]:
    ranges, values = true_ranges(candles), []
    for bar in range(len(candles)):
        if bar < period:
            values.append(NAN)
            continue
        part = slice(bar - period + 1, bar + 1)
        moved = math.fsum(ranges[part])
        span = max(candles.high[part]) - min(candles.low[part])
        values.append(100 * math.log10(moved / span) / math.log10(period))
    return values


def plain_fisher(candles: Candles, period: int) -> tuple[list[float], list[float]]:
    middle = [(h + low) / 2 for h, low in zip(candles.high, candles.low, strict=True)]
    xs, fishers = [0.0], [0.0]
    for bar in range(1, len(middle)):
        window = middle[max(bar - period + 1, 0) : bar + 1]
        span = max(window) - min(window)
        x = 0.0
        if span:
            x = 0.66 * ((middle[bar] - min(window)) / span - 0.5) + 0.67 * xs[-1]
        x = min(max(x, -0.999), 0.999)
        xs.append(x)
        fishers.append(0.5 * math.log((1 + x) / (1 - x)) + 0.5 * fishers[-1])
    unknown = [NAN] * (period - 1)
    return unknown + fishers[period - 1 :], unknown + fishers[period - 2 : -1]


def plain_squeeze(
    candles: Candles, period: int, bollinger: float, keltner: float
) -> tuple[list[float], list[float]]:
    high, low, close = candles.high.tolist(), candles.low.tolist(), candles.close.tolist()
    ranges, on, apart, momentum = true_ranges(candles), [], [], []
    for bar in range(len(close)):
        part = slice(bar - period + 1, bar + 1)
        if bar < period - 1:
            apart.append(NAN)
        else:
            average = fmean(close[part])
            apart.append(close[bar] - ((max(high[part]) + min(low[part])) / 2 + average) / 2)
        if bar < period:
            on.append(NAN)
        else:
            average, deviation = fmean(close[part]), bollinger * pstdev(close[part])
            reach = keltner * fmean(ranges[part])
            upper, lower = (
                average + deviation < average + reach,
                average - deviation > average - reach,
            )
            on.append(float(upper and lower))
        momentum.append(regression_end(apart[part]) if bar >= 2 * period - 2 else NAN)
    return on, momentum


def regression_end(values: Values) -> float:
    """Return the least squares line at its last value."""
    x = range(len(values))
    mean_x, mean_y = fmean(x), fmean(values)
    slope: float = sum((i - mean_x) * (y - mean_y) for i, y in zip(x, values, strict=True)) / sum(
        (i - mean_x) ** 2 for i in x
    )
    return mean_y + slope * (len(values) - 1 - mean_x)


def plain_renko(candles: Candles, percentage: float) -> list[float]:
    step, run, bricks = math.log(1 + percentage / 100), 0, []
    b = math.floor(math.log(candles.close[0]) / step + 1e-9)
    for close in candles.close.tolist():
        x = math.log(close) / step
        while x + 1e-9 >= b + 2:
            b, run = b + 1, run + 1 if run > 0 else 1
        while x - 1e-9 <= b - 1:
            b, run = b - 1, run - 1 if run < 0 else -1
        bricks.append(float(run) if run else NAN)
    return bricks


def local(time: int) -> datetime:
    return datetime.fromtimestamp(time, UTC) + timedelta(seconds=IST)


PERIODS: tuple[Callable[[date], object], ...] = (
    lambda day: day,
    lambda day: day.isocalendar()[:2],
    lambda day: (day.year, day.month),
)
"""A session, an ISO week, a calendar month of a date."""


def plain_vwap(candles: Candles, anchor: int, multiplier: float) -> list[tuple[float, ...]]:
    rows: list[tuple[float, ...]] = []
    held: list[tuple[float, float]] = []
    period: object = None
    for bar, time in enumerate(candles.time.tolist()):
        now = PERIODS[anchor](local(time).date())
        if now != period:
            period, held = now, []
        price = (candles.high[bar] + candles.low[bar] + candles.close[bar]) / 3
        held.append((float(price), float(candles.volume[bar])))
        traded = math.fsum(volume for _, volume in held)
        if not traded:
            rows.append((NAN, NAN, NAN))
            continue
        average = math.fsum(p * v for p, v in held) / traded
        width = multiplier * math.sqrt(math.fsum(v * (p - average) ** 2 for p, v in held) / traded)
        rows.append((average, average + width, average - width))
    return rows


def plain_previous(candles: Candles, anchor: int) -> list[tuple[float, ...]]:
    """Return close, high, low and open of the last period before, whole or not."""
    parts: dict[object, list[int]] = {}
    rows: list[tuple[float, ...]] = []
    for bar, time in enumerate(candles.time.tolist()):
        now = PERIODS[anchor](local(time).date())
        parts.setdefault(now, []).append(bar)
        before = list(parts.values())[:-1]
        if not before:
            rows.append((NAN,) * 4)
            continue
        bars = before[-1]
        rows.append(
            (
                float(candles.close[bars[-1]]),
                float(max(candles.high[bars])),
                float(min(candles.low[bars])),
                float(candles.open[bars[0]]),
            )
        )
    return rows


def plain_relative_volume(candles: Candles, period: int) -> list[float]:
    moments = [local(time) for time in candles.time.tolist()]
    days = sorted({moment.date() for moment in moments})
    held = {moment: float(v) for moment, v in zip(moments, candles.volume, strict=True)}
    values = []
    for moment in moments:
        index = days.index(moment.date())
        before = [datetime.combine(day, moment.time()) for day in days[:index][-period:]]
        before = [then.replace(tzinfo=UTC) for then in before]
        if len(before) < period or before[0] < moments[0]:
            values.append(NAN)
            continue
        volumes = [held[then] for then in before if then in held]
        mean = fmean(volumes) if volumes else 0.0
        values.append(held[moment] / mean if mean else NAN)
    return values


CANDLES = random_candles(400, seed=5)


@pytest.mark.parametrize("period", [2, 3, 20, 77])
def test_windows_equal_a_second_implementation(period: int) -> None:
    same(column(CANDLES, "ZSCORE", period=period), plain_zscore(CANDLES, period), 1e-7)
    same(column(CANDLES, "CHOP", period=period), plain_chop(CANDLES, period))
    for offset, sigma in ((0.0, 1.0), (0.85, 6.0), (1.0, 20.0)):
        values = column(CANDLES, "ALMA", period=period, peakOffset=offset, sigma=sigma)
        same(values, plain_alma(CANDLES, period, offset, sigma))
    fisher, trigger = plain_fisher(CANDLES, period)
    same(column(CANDLES, "FISHER", period=period), fisher, 1e-7)
    same(column(CANDLES, "FISHER", "trigger", period=period), trigger, 1e-7)
    for bollinger, keltner in ((2.0, 1.5), (0.5, 0.5), (1.0, 1.0)):
        on, momentum = plain_squeeze(CANDLES, period, bollinger, keltner)
        given: dict[str, Any] = {"period": period, "bollinger": bollinger, "keltner": keltner}
        same(column(CANDLES, "SQUEEZE", "on", **given), on)
        same(column(CANDLES, "SQUEEZE", "momentum", **given), momentum, 1e-7)


def test_a_squeeze_is_on_and_off() -> None:
    on = column(CANDLES, "SQUEEZE", keltner=2.0)
    assert {0.0, 1.0} == set(on[np.isfinite(on)].tolist())


@pytest.mark.parametrize("average", [0, 1, 4])
def test_bollinger_ratios_come_from_talibs_bands(average: int) -> None:
    upper, middle, lower = talib.BBANDS(CANDLES.close, 20, 2.0, 2.0, average)  # type: ignore[arg-type]
    given: dict[str, Any] = {"maType": average}
    percent = (CANDLES.close - lower) / (upper - lower)
    same(column(CANDLES, "BBANDS", "percentB", **given), percent)
    same(column(CANDLES, "BBANDS", "width", **given), (upper - lower) / middle * 100)


def test_bollinger_ratios_of_values_below_0() -> None:
    """A spread of two symbols as the source can be negative."""
    spread = replace(CANDLES, close=frozen(-CANDLES.close))
    same(column(spread, "BBANDS", "width"), -column(CANDLES, "BBANDS", "width"))
    same(column(spread, "BBANDS", "percentB"), 1 - column(CANDLES, "BBANDS", "percentB"), 1e-7)


@pytest.mark.parametrize("percentage", [0.01, 0.1, 1.0, 3.3])
def test_renko_equals_bricks_laid_one_by_one(percentage: float) -> None:
    expected = plain_renko(CANDLES, percentage)
    bricks = column(CANDLES, "RENKO", "bricks", percentage=percentage)
    assert bricks.tolist() == pytest.approx(expected, nan_ok=True)
    same(column(CANDLES, "RENKO", percentage=percentage), np.sign(expected))


def test_renko_upside_down_on_its_own_scale_is_its_negative() -> None:
    """Prices around 1 have their inverse on the same grid."""
    around = replace(CANDLES, close=frozen(CANDLES.close / 1000.37))
    inverse = replace(CANDLES, close=frozen(1 / around.close))
    for output in ("trend", "bricks"):
        values = column(around, "RENKO", output, percentage=0.1)
        same(column(inverse, "RENKO", output, percentage=0.1), (-values).tolist())


WEEKS = random_candles(700, seed=9, a_day=6)
"""A hundred days and more, weekends too."""


@pytest.mark.parametrize("anchor", [0, 1, 2])
def test_vwap_begins_anew_with_its_anchor(anchor: int) -> None:
    for candles in (WEEKS, CANDLES):
        rows = np.array(plain_vwap(candles, anchor, 2.5)).T
        given: dict[str, Any] = {"anchor": anchor, "multiplier": 2.5}
        for output, expected in zip(("vwap", "upper", "lower"), rows, strict=True):
            same(column(candles, "VWAP", output, **given), expected, 1e-9)
        value = column(candles, "VWAP", "value", **given)
        assert value.tobytes() == column(candles, "VWAP", "vwap", **given).tobytes()


@pytest.mark.parametrize(("type", "anchor"), [("PREVIOUS_WEEK", 1), ("PREVIOUS_MONTH", 2)])
def test_levels_of_a_whole_period_before(type: str, anchor: int) -> None:
    """The bars begin on Monday, 1 January 2024."""
    rows = np.array(plain_previous(WEEKS, anchor)).T
    for output, expected in zip(("close", "high", "low", "open"), rows, strict=True):
        assert column(WEEKS, type, output).tolist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("period", [2, 5, 20])
def test_relative_volume_equals_a_second_implementation(period: int) -> None:
    gaps = np.random.default_rng(2).random(len(WEEKS)) > 0.2
    for candles in (WEEKS, WEEKS.select(gaps)):
        expected = plain_relative_volume(candles, period)
        values = column(candles, "RELATIVE_VOLUME", period=period)
        assert values.tolist() == pytest.approx(expected, nan_ok=True)
        assert np.isfinite(values).sum() > 300


def test_relative_volume_of_days_is_over_the_days_before() -> None:
    days = replace(daily(*[100.0] * 40), volume=frozen(np.arange(1.0, 41)))
    before = talib.SMA(days.volume, 4)
    values = column(days, "RELATIVE_VOLUME", period=4)
    same(values[4:], days.volume[4:] / before[3:-1])
    assert np.isnan(values[:4]).all()


# Where an array begins


@pytest.mark.parametrize(
    ("begin", "known"),
    [
        ("2026-01-05T09:15", True),  # a Monday
        ("2026-01-06T09:15", False),  # perhaps a holiday, perhaps a part
        ("2026-01-05T11:00", False),  # inside of the session
    ],
)
def test_a_week_that_an_array_begins_inside_of_is_not_whole(begin: str, known: bool) -> None:
    bars = [(begin, 100.0, 103.0, 99.0, 101.0, 1.0)]
    bars += [(f"2026-01-{day:02}T09:15", 101.0, 102.0, 98.0, 100.0, 1.0) for day in (7, 12, 19)]
    high = column(at(*bars), "PREVIOUS_WEEK", "high")
    assert high.tolist() == pytest.approx([NAN, NAN, 103.0 if known else NAN, 102.0], nan_ok=True)


@pytest.mark.parametrize(
    ("first", "known"),
    [("2026-02-02", True), ("2026-02-03", False), ("2026-06-01", True), ("2026-06-15", False)],
)
def test_a_month_is_whole_from_its_first_weekday_on(first: str, known: bool) -> None:
    """1 February 2026 is a Sunday."""
    begin = date.fromisoformat(first)
    days = [begin + timedelta(days) for days in range(70)]
    bars = [(f"{day}T00:00", 100.0, 103.0, 99.0, 101.0, 1.0) for day in days if day.weekday() < 5]
    high = column(at(*bars), "PREVIOUS_MONTH", "high")
    months = np.array([bar[0][5:7] for bar in bars])
    second = months == f"{begin.month + 1:02}"
    assert np.isfinite(high[second]).all() == np.isfinite(high[second]).any() == known
    assert np.isfinite(high[months == f"{begin.month + 2:02}"]).all()


def test_a_special_session_is_of_its_own_week_and_month() -> None:
    """Sunday, 1 February 2026, had a session for the budget."""
    bars = [
        (f"{day}T09:15", 100.0, 100.0 + high, 99.0, 100.0, 1.0)
        for high, day in enumerate(
            ("2026-01-19", "2026-01-30", "2026-02-01", "2026-02-02", "2026-03-02"), start=1
        )
    ]
    week = column(at(*bars), "PREVIOUS_WEEK", "high").tolist()
    assert week == pytest.approx([NAN, 101, 101, 103, 104], nan_ok=True)
    month = column(at(*bars), "PREVIOUS_MONTH", "high").tolist()
    assert month == pytest.approx([NAN, NAN, NAN, NAN, 104], nan_ok=True)


MEMORIES: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("ZSCORE", {"period": 20}, 20),
    ("ALMA", {"period": 50}, 50),
    ("CHOP", {"period": 14}, 15),
    ("BBANDS", {"period": 20}, 20),
    ("SQUEEZE", {"period": 20}, 39),
    ("FISHER", {"period": 10}, 120),
    ("VWAP", {"anchor": 1}, 42),
    ("PIVOT_POINTS", {"method": 1}, 12),
    ("PREVIOUS_WEEK", {}, 120),
    ("PREVIOUS_MONTH", {}, 420),
    ("RELATIVE_VOLUME", {"period": 5}, 36),
    ("RENKO", {"percentage": 0.2}, 250),
)
"""Types, parameters, and the bars of WEEKS after which an earlier start changes nothing."""


@pytest.mark.parametrize(("type", "given", "memory"), MEMORIES)
def test_an_earlier_start_of_an_array_is_forgotten(
    type: str, given: dict[str, Any], memory: int
) -> None:
    for output in OUTPUTS[type]:
        whole = column(WEEKS, type, output, **given)
        for start in (1, 33, 100, 150):
            values = column(WEEKS.slice(start, len(WEEKS)), type, output, **given)
            same(values[memory:], whole[start + memory :], 1e-9)


OUTPUTS = {
    "ZSCORE": ("value",),
    "ALMA": ("value",),
    "CHOP": ("value",),
    "BBANDS": ("percentB", "width"),
    "SQUEEZE": ("on", "momentum"),
    "FISHER": ("fisher", "trigger"),
    "VWAP": ("vwap", "upper", "lower"),
    "PIVOT_POINTS": ("pivot", "r1", "r4", "s1", "s4", "tc", "bc", "width"),
    "PREVIOUS_WEEK": ("close", "high", "low", "open"),
    "PREVIOUS_MONTH": ("close", "high", "low", "open"),
    "RELATIVE_VOLUME": ("value",),
    "RENKO": ("trend", "bricks"),
}


# Later candles


def later_changed(candles: Candles, first: int) -> Iterator[Candles]:
    """Yield the candles with those from `first` on cut, unknown, shuffled, and without volume."""
    names = ("open", "high", "low", "close", "volume")
    yield candles.slice(0, first)
    order = np.arange(len(candles))
    np.random.default_rng(first).shuffle(order[first:])
    for change in (
        lambda values: np.where(np.arange(len(values)) < first, values, NAN),
        lambda values: values[order],
        lambda values: np.where(np.arange(len(values)) < first, values, 1.0),
    ):
        columns: dict[str, Any] = {name: frozen(change(getattr(candles, name))) for name in names}
        yield replace(candles, **columns)
    silent = np.where(np.arange(len(candles)) < first, candles.volume, 0.0)
    yield replace(candles, volume=frozen(silent))


@pytest.mark.parametrize("type", OUTPUTS)
def test_later_candles_change_no_value(type: str) -> None:
    given: dict[str, Any] = {"percentage": 0.2} if type == "RENKO" else {}
    if type == "VWAP":
        given = {"anchor": 2}
    for output in OUTPUTS[type]:
        whole = column(WEEKS, type, output, **given)
        for first in (1, 2, 3, 31, 200, 333, 600):
            for changed in later_changed(WEEKS, first):
                values = column(changed, type, output, **given)
                assert values[:first].tobytes() == whole[:first].tobytes(), (output, first)


# Edges


def flat(count: int, price: float = 1290.65, volume: float = 7.0) -> Candles:
    """Return candles of a single price after a few that move."""
    candles = random_candles(count + 40, a_day=6)
    after = np.arange(len(candles)) >= 40
    names = ("open", "high", "low", "close")
    prices: dict[str, Any] = {
        name: frozen(np.where(after, price, getattr(candles, name))) for name in names
    }
    return replace(candles, **prices, volume=frozen(np.where(after, volume, candles.volume)))


def test_windows_of_a_single_price() -> None:
    candles = flat(200)
    for type, output in (
        ("ZSCORE", "value"),
        ("BBANDS", "percentB"),
        ("CHOP", "value"),
        ("FISHER", "fisher"),
        ("FISHER", "trigger"),
    ):
        assert np.isnan(column(candles, type, output)[80:]).all(), type
    for type, output, expected in (
        ("BBANDS", "width", 0.0),
        ("SQUEEZE", "on", 0.0),
        ("PIVOT_POINTS", "width", 0.0),
        ("PREVIOUS_WEEK", "high", 1290.65),
    ):
        assert column(candles, type, output)[150:].tolist() == [expected] * 90, type
    same(column(candles, "SQUEEZE", "momentum")[150:], [0.0] * 90, 1e-7)
    same(column(candles, "ALMA")[150:], [1290.65] * 90)
    for output in ("vwap", "upper", "lower"):
        same(column(candles, "VWAP", output)[150:], [1290.65] * 90, 1e-12)
    bricks = column(candles, "RENKO", "bricks", percentage=0.2)
    assert len(set(bricks[40:].tolist())) == 1


def test_a_fisher_transform_continues_from_the_middle_after_a_single_price() -> None:
    level = (np.arange(400) >= 100) & (np.arange(400) < 118)
    names = ("high", "low")
    columns: dict[str, Any] = {
        name: frozen(np.where(level, 1000.0, getattr(CANDLES, name))) for name in names
    }
    candles = replace(CANDLES, **columns)
    fisher, trigger = (np.array(values) for values in plain_fisher(candles, 5))
    fisher[104:118], trigger[105:119] = NAN, NAN
    same(column(candles, "FISHER", period=5), fisher, 1e-7)
    same(column(candles, "FISHER", "trigger", period=5), trigger, 1e-7)


def test_nothing_traded_has_neither_average_nor_relative_volume() -> None:
    candles = flat(200, volume=0.0)
    sixth = len(candles) - 60
    assert np.isnan(column(candles, "RELATIVE_VOLUME", period=5)[sixth:]).all()
    for output in ("value", "vwap", "upper", "lower"):
        assert np.isnan(column(candles, "VWAP", output)[sixth:]).all()
    silent = replace(candles, volume=frozen(np.zeros(len(candles))))
    for output in ("value", "upper"):
        assert np.isnan(column(silent, "VWAP", output, anchor=2)).all()


def test_a_bar_without_volume_has_a_relative_volume_of_0() -> None:
    days = replace(daily(*[100.0] * 6), volume=frozen(np.array([4.0, 6, 0, 5, 0, 0])))
    expected = [NAN, NAN, 0, 5 / 3, 0, 0]
    values = column(days, "RELATIVE_VOLUME", period=2).tolist()
    assert values == pytest.approx(expected, nan_ok=True)


def test_sessions_of_one_bar_are_sessions() -> None:
    """Monday to Wednesday, with the prices of each day at once."""
    candles = at(
        ("2026-01-05T09:15", 10, 12, 8, 11, 5),
        ("2026-01-06T09:15", 11, 14, 10, 12, 5),
        ("2026-01-07T18:15", 12, 13, 11, 12, 5),
    )
    assert column(candles, "PIVOT_POINTS", "r1").tolist()[1:] == pytest.approx(
        [2 * 31 / 3 - 8, 2 * 12 - 10]
    )
    assert column(candles, "VWAP", "upper").tolist() == pytest.approx([31 / 3, 12, 12])
    week = column(candles, "VWAP", "vwap", anchor=1).tolist()
    assert week == pytest.approx([31 / 3, (31 / 3 + 12) / 2, (31 / 3 + 24) / 3])
    # The evening session has no bar of the same time before it.
    assert np.isnan(column(candles, "RELATIVE_VOLUME", period=2)).all()


@pytest.mark.parametrize("type", OUTPUTS)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_short_arrays_have_a_value_for_each_bar(type: str, count: int) -> None:
    for output in OUTPUTS[type]:
        assert column(WEEKS.slice(0, count), type, output).shape == (count,)


def test_a_camarilla_market_upside_down_changes_places() -> None:
    turned = upside_down(WEEKS)
    for method in range(3):
        for output, opposite in (("r1", "s1"), ("r3", "s3"), ("tc", "bc"), ("pivot", "pivot")):
            values = column(WEEKS, "PIVOT_POINTS", output, method=method)
            mirrored = column(turned, "PIVOT_POINTS", opposite, method=method)
            same(mirrored[6:], (3000 - values)[6:])
