"""The worst and best prices of each trade, and the profit of buying and holding."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST, Candles
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import CURVE, TRADE
from apps.engine.results.benchmark import buy_and_hold
from apps.engine.results.excursions import excursions_of
from apps.engine.results.result_data import ResultData
from apps.engine.results.table import performance
from apps.engine.results.trade_bars import trades_by_symbol

BARS = Candles.build(
    np.arange(5) * DAY - IST,
    open=[100, 100, 100, 100, 110],
    high=[100, 108, 120, 130, 115],
    low=[100, 95, 90, 70, 105],
    close=[100, 100, 100, 110, 112],
    volume=np.zeros(5),
)


def trade_of_ten(
    *, entry: int, leave: int, bars: int, reason: str, price: float, side: int = 1
) -> Any:
    """Return a trade of ten shares at 100."""
    made = np.zeros(1, TRADE)
    made["entry_time"], made["exit_time"] = BARS.time[entry], BARS.time[leave]
    made["bars"], made["reason"], made["side"] = bars, EXIT_REASONS.index(reason), side
    made["entry_price"], made["exit_price"], made["value"] = 100, price, 1000
    made["gross"] = (price - 100) * 10 * side
    return made


def furthest(*trades: NDArray[Any], by_limit: bool = False) -> list[tuple[float, float]]:
    records = np.concatenate(trades)
    excursions = excursions_of(records, trades_by_symbol(records, [BARS]), by_limit=by_limit)
    return [(round(a, 9), round(f, 9)) for a, f in zip(*excursions, strict=True)]


def test_extremes_count_whole_bars_and_both_fills() -> None:
    """The position left at the open of bar 3 counts bars 1 and 2.

    A position stopped inside bar 3 counts its fill, not its range.
    """
    at_open = trade_of_ten(entry=1, leave=3, bars=2, reason="signal", price=100)
    stopped = trade_of_ten(entry=1, leave=3, bars=3, reason="stop_loss", price=80)
    at_close = trade_of_ten(entry=1, leave=3, bars=3, reason="end_of_data", price=110)
    assert furthest(at_open) == [(0.1, 0.2)]
    assert furthest(stopped) == [(0.2, 0.2)]
    assert furthest(at_close) == [(0.3, 0.3)]


def test_a_gap_through_the_stop_is_an_exit_at_the_open() -> None:
    assert furthest(trade_of_ten(entry=1, leave=2, bars=1, reason="stop_loss", price=94)) == [
        (0.06, 0.08)
    ]


def test_a_trade_that_is_stopped_inside_its_entry_bar_has_its_fills_alone() -> None:
    assert furthest(trade_of_ten(entry=1, leave=1, bars=1, reason="stop_loss", price=97)) == [
        (0.03, 0)
    ]


def test_a_bar_that_a_limit_entered_below_its_open_counts_by_its_fill_alone() -> None:
    limit = trade_of_ten(entry=1, leave=3, bars=2, reason="signal", price=100)
    limit["entry_price"] = 96
    assert furthest(limit, by_limit=True) == [(round(6 / 96, 9), 0.25)]


def test_an_add_that_lowers_the_average_leaves_the_entry_bar_whole() -> None:
    averaged = trade_of_ten(entry=1, leave=2, bars=1, reason="signal", price=100)
    averaged["entry_price"] = 96
    assert furthest(averaged) == [(round(1 / 96, 9), 0.125)]
    assert furthest(averaged, by_limit=True) == [(0, round(4 / 96, 9))]


def test_a_short_trade_is_mirrored() -> None:
    short = trade_of_ten(entry=2, leave=3, bars=1, reason="signal", price=100, side=-1)
    assert furthest(short) == [(0.2, 0.1)]


def test_extremes_of_consecutive_trades_within_a_bar_and_to_the_last_bar() -> None:
    first = trade_of_ten(entry=1, leave=3, bars=2, reason="opposite_signal", price=100)
    second = trade_of_ten(entry=3, leave=4, bars=2, reason="end_of_data", price=112)
    stopped = trade_of_ten(entry=4, leave=4, bars=1, reason="stop_loss", price=105)
    assert furthest(first, second, stopped) == [(0.1, 0.2), (0.3, 0.3), (0, 0.05)]


def test_excursions_equal_a_loop_over_the_bars() -> None:
    rng = np.random.default_rng(3)
    close = 100 * np.cumprod(1 + rng.normal(0, 0.01, 400))
    bars = Candles.build(
        np.arange(400) * 60,
        open=close,
        close=close,
        high=close * 1.01,
        low=close * 0.99,
        volume=np.zeros(400),
    )
    edges = np.sort(rng.choice(399, 60, replace=False)).reshape(-1, 2)
    made = np.zeros(30, TRADE)
    made["entry_time"], made["exit_time"] = bars.time[edges[:, 0]], bars.time[edges[:, 1]]
    made["bars"], made["side"] = edges[:, 1] - edges[:, 0], 1
    made["reason"] = EXIT_REASONS.index("signal")
    made["entry_price"] = made["exit_price"] = close[edges[:, 0]]
    lows = [bars.low[first:last].min() for first, last in edges]
    expected = (made["entry_price"] - lows) / made["entry_price"]
    excursions = excursions_of(made, trades_by_symbol(made, [bars]), by_limit=False)
    assert excursions.adverse == pytest.approx(expected)


def test_buying_and_holding_parts_the_money_equally_and_waits_for_the_first_bar() -> None:
    later = Candles.build(
        BARS.time[2:],
        open=[10, 10, 10],
        high=[20, 20, 20],
        low=[10, 10, 10],
        close=[10, 15, 20],
        volume=np.zeros(3),
    )
    held = buy_and_hold([BARS, later], int(BARS.time[0]), BARS.time)
    assert held.tolist() == [1, 1, 1, 1.3, 1.56]
    assert buy_and_hold([BARS], int(BARS.time[4]), BARS.time[4:]).tolist() == [112 / 110]


def test_figures_of_who_only_holds_are_the_benchmarks_own() -> None:
    close = 100 * np.cumprod(1 + np.random.default_rng(4).normal(0.001, 0.01, 60))
    opens = np.r_[100.0, close[:-1]]
    bars = Candles.build(
        np.arange(60) * DAY - IST,
        open=opens,
        close=close,
        high=np.maximum(opens, close),
        low=np.minimum(opens, close),
        volume=np.zeros(60),
    )
    curve = np.zeros(60, CURVE)
    curve["time"], curve["equity"] = bars.time, close * 10
    trade = trade_of_ten(entry=0, leave=4, bars=60, reason="end_of_data", price=float(close[-1]))
    trade["exit_time"] = bars.time[-1]
    metrics: Any = performance(
        ResultData(trade, curve, 1000.0, [bars]), rejected={}, reduced={}, waited={}, paid={}
    )
    assert [metrics["beta"], metrics["correlation"]] == pytest.approx([1, 1])
    assert metrics["alpha"] == pytest.approx(0, abs=1e-9)
    assert metrics["trackingError"] == pytest.approx(0, abs=1e-9)
    assert metrics["informationRatio"] is None
    assert metrics["benchmarkReturn"] == pytest.approx(close[-1] - 100)
    assert metrics["benchmarkMaxDrawdown"] == pytest.approx(metrics["maxDrawdown"])
    assert metrics["treynorRatio"] == pytest.approx(metrics["cagr"])
    assert metrics["averageAdverseExcursion"] == pytest.approx(max(0, 100 - bars.low.min()))
    best = float(bars.high.max())
    assert metrics["largestFavorableExcursion"] == pytest.approx(best - 100)
    assert metrics["averageEndTradeDrawdown"] == pytest.approx(best - close[-1])
