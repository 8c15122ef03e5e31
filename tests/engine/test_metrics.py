"""Figures against hand-made trades, and against published vectors where definitions agree."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST
from apps.engine.kernel.records import CURVE, TRADE
from apps.engine.results import equity as of_equity
from apps.engine.results import trade_figures as of_trades
from apps.engine.results.drawdowns import largest_falls, max_drawdown
from apps.engine.results.result_data import ResultData
from apps.engine.results.sharpe import sharpe_ratio
from apps.engine.results.table import performance

PERCENT = [1.0, 10.0, -4.0, 2.0, 3.0, 2.0, 1.0, -10.0]


def trades(*profits: float, charges: float = 0.0, value: float = 100.0) -> NDArray[Any]:
    """Make a trade for each profit, net of its charges, entered and left on rows 0, 1, 2, ..."""
    made = np.zeros(len(profits), TRADE)
    made["gross"] = np.array(profits) + charges
    made["charges"], made["value"], made["bars"] = charges, value, 3
    made["side"], made["entry_price"], made["exit_price"] = 1, 100.0, 101.0
    made["entry_time"] = made["exit_time"] = np.arange(len(profits)) * DAY - IST
    return made


def curve(*equity: float) -> NDArray[Any]:
    """Make a curve with one row a day."""
    made = np.zeros(len(equity), CURVE)
    made["time"], made["equity"] = np.arange(len(equity)) * DAY - IST, equity
    return made


def figures(*profits: float, equity: tuple[float, ...] = (1000.0,) * 40, **given: float) -> Any:
    result_data = ResultData(trades(*profits, **given), curve(*equity), 1000.0)
    return performance(
        result_data,
        rejected={"both_sides": 2},
        reduced={"volume": 3},
        waited={"exits": 1},
        paid={"gst": 0.18},
    )


def of_curve(made: NDArray[Any]) -> Any:
    """Compute the figures of a curve beside one trade without result."""
    return performance(
        ResultData(trades(0.0), made, 1000.0), rejected={}, reduced={}, waited={}, paid={}
    )


def test_counts_and_sums_are_of_net_profits() -> None:
    metrics = figures(30.0, -10.0, 0.0, 20.0, -5.0, charges=1.0)
    assert metrics["totalTrades"] == 4
    assert metrics["winningTrades"] == 2
    assert metrics["losingTrades"] == 2
    assert metrics["breakevenTrades"] == 1
    assert metrics["totalProfit"] == 50
    assert metrics["totalLoss"] == 15
    assert metrics["netProfit"] == 35
    assert metrics["grossProfit"] == 40
    assert metrics["charges"] == 5
    assert metrics["roi"] == pytest.approx(3.5)
    assert metrics["bestTrade"] == 30
    assert metrics["worstTrade"] == -10


def test_ratios() -> None:
    metrics = figures(30.0, -10.0, 0.0, 20.0, -5.0)
    assert metrics["winRate"] == 50
    assert metrics["profitFactor"] == 50 / 15
    assert metrics["averageWin"] == 25
    assert metrics["averageLoss"] == 7.5
    assert metrics["riskRewardRatio"] == 25 / 7.5
    assert metrics["expectancy"] == 0.5 * 25 - 0.5 * 7.5
    assert metrics["averageBars"] == 3


def test_a_ratio_without_a_denominator_is_none() -> None:
    metrics = figures(30.0)
    for name in ("profitFactor", "averageLoss", "riskRewardRatio", "sharpeRatio"):
        assert metrics[name] is None
    metrics = figures(0.0)
    for name in ("winRate", "profitFactor", "averageWin", "averageLoss", "expectancy"):
        assert metrics[name] is None


def test_before_the_first_trade_every_figure_is_zero() -> None:
    metrics = figures()
    assert metrics.pop("rejectedSignals") == {"both_sides": 2}
    assert metrics.pop("reducedEntries") == {"volume": 3}
    assert metrics.pop("waitingExits") == {"exits": 1}
    assert metrics.pop("chargesByKind") == {"gst": 0.18}
    assert metrics.pop("initialCapital") == metrics.pop("finalEquity") == 1000
    assert set(metrics.values()) == {0}


def test_no_figure_is_ever_nan_or_infinite() -> None:
    for profits in ((), (0.0,), (1.0,), (-1.0,), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)):
        for equity in ((1000.0,) * 2, (1000.0,) * 40, (1000.0, 0.0), (*(1000.0,) * 39, -5.0)):
            metrics = figures(*profits, equity=equity)
            numbers = [n for n in metrics.values() if isinstance(n, int | float)]
            assert np.isfinite(numbers).all()


def test_a_rest_of_binary_fractions_is_breakeven() -> None:
    """3 x (100.20 - 100.10) less charges of 0.30 are 2.6e-14 in binary."""
    made = trades(0.0, value=300.3)
    made["gross"], made["charges"] = 3 * (100.2 - 100.1), 0.3
    assert of_trades.net_profits(made).tolist() == [0.0]
    result_data = ResultData(made, curve(1000.0, 1000.0), 1000.0)
    metrics = performance(result_data, rejected={}, reduced={}, waited={}, paid={})
    assert (metrics["breakevenTrades"], metrics["winningTrades"]) == (1, 0)
    made["gross"] = 0.3001
    assert of_trades.net_profits(made).tolist() == [pytest.approx(0.0001)]


def test_streaks_end_with_a_trade_of_the_other_kind() -> None:
    metrics = figures(1.0, 1.0, 0.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0)
    assert metrics["winStreak"] == 3
    assert metrics["lossStreak"] == 2


def test_exposure_counts_rows_with_a_position_once() -> None:
    made = trades(1.0, 1.0)
    made["entry_time"] = np.array([2, 3]) * DAY - IST
    made["exit_time"] = np.array([4, 5]) * DAY - IST
    assert ResultData(made, curve(*[1.0] * 10), 1000.0).exposure == 40


def test_turnover_is_beside_the_mean_of_equity_at_the_end_of_days() -> None:
    """The capital of 1000 ends no day."""
    metrics = figures(0.0, equity=(2000.0, 4000.0))
    assert metrics["turnover"] > 0
    assert metrics["turnoverRatio"] == pytest.approx(metrics["turnover"] / 3000)


def test_sharpe_ratio_is_mean_over_sample_deviation_of_trade_returns() -> None:
    returns = np.array([0.1, 0.2, 0.3])
    assert sharpe_ratio(returns) == pytest.approx(0.2 / 0.1)
    assert sharpe_ratio(returns[:1]) is None
    assert sharpe_ratio(np.array([0.1, 0.1, 0.1])) is None
    one_percent = np.array([(98.01 - 99) / 99, (97.02 - 98) / 98, (104.94 - 106) / 106])
    assert len(set(one_percent.tolist())) > 1
    assert sharpe_ratio(one_percent) is None


def test_a_trades_return_is_its_profit_over_the_value_of_its_entry() -> None:
    assert of_trades.trade_returns(trades(30.0, charges=7.0, value=600.0)).tolist() == [0.05]


def test_annual_sharpe_ratio_equals_empyricals_on_its_own_vector() -> None:
    """The vector is the mixed returns of empyrical-reloaded, tests/test_stats.py:
    1.7238613961706866.
    """
    returns = np.array(PERCENT) / 100
    daily = sharpe_ratio(returns)
    assert daily is not None
    assert daily * of_equity.SESSIONS_A_YEAR**0.5 == pytest.approx(1.7238613961706866)


def test_annual_sharpe_ratio_reads_the_last_row_of_each_day_from_the_capital_on() -> None:
    rng = np.random.default_rng(1)
    closes = 1000 * np.cumprod(1 + rng.normal(0, 0.01, 40))
    rows = np.repeat(closes, 3) + np.tile([50.0, -50.0, 0.0], 40)
    minutes = curve(*rows)
    minutes["time"] = np.repeat(np.arange(40), 3) * DAY - IST + np.tile([0, 60, DAY - 1], 40)
    returns = np.diff(np.r_[1000.0, closes]) / np.r_[1000.0, closes[:-1]]
    expected = returns.mean() / returns.std(ddof=1) * 252**0.5
    assert of_curve(minutes)["sharpeRatioAnnualized"] == pytest.approx(expected)


def test_weekly_bars_make_52_returns_a_year_and_last_to_the_end_of_their_week() -> None:
    rng = np.random.default_rng(1)
    closes = 1000 * np.cumprod(1 + rng.normal(0, 0.01, 40))
    weeks = curve(*closes)
    weeks["time"] = np.arange(40) * 7 * DAY - IST
    returns = np.diff(np.r_[1000.0, closes]) / np.r_[1000.0, closes[:-1]]
    metrics, spread = of_curve(weeks), returns.std(ddof=1)
    assert metrics["sharpeRatioAnnualized"] == pytest.approx(returns.mean() / spread * 52**0.5)
    assert metrics["annualVolatility"] == pytest.approx(spread * 52**0.5 * 100)
    growth = (closes[-1] / 1000) ** (52 / 40) - 1
    assert metrics["cagr"] == pytest.approx(growth * 100)
    assert of_curve(weeks[:4])["cagr"] is None
    assert of_curve(weeks[:5])["cagr"] is not None  # 35 days


def test_figures_under_thirty_days_are_not_annualised() -> None:
    short, enough = curve(*np.linspace(1000, 1010, 20)), curve(*np.linspace(1000, 1010, 21))
    assert of_curve(short)["sharpeRatioAnnualized"] is None
    assert of_curve(short)["cagr"] is None
    assert of_curve(enough)["sharpeRatioAnnualized"] is not None
    assert of_curve(enough)["cagr"] is not None


def test_figures_of_a_year_rest_on_the_dates_that_have_a_row() -> None:
    two_years = curve(*[1000.0] * 503, 1210.0)
    assert of_curve(two_years)["cagr"] == pytest.approx(10, abs=0.01)
    scattered = two_years.copy()
    scattered["time"] = two_years["time"][0] + np.arange(504) * 4 * DAY
    scattered_metrics, same = of_curve(scattered), of_curve(two_years)
    for name in ("cagr", "sharpeRatioAnnualized", "annualVolatility", "calmarRatio"):
        assert scattered_metrics[name] == same[name], name
    few = curve(*np.linspace(1000, 1010, 20))
    few["time"] = few["time"][0] + np.arange(20) * 300 * DAY
    assert of_curve(few)["cagr"] is None
    assert of_curve(few)["sharpeRatioAnnualized"] is None


def test_annual_growth_is_a_loss_of_all_at_most() -> None:
    assert of_curve(curve(*[1000.0] * 39, -5.0))["cagr"] == -100


@pytest.mark.parametrize(
    ("percent", "drawdown"),
    [
        (PERCENT, 10.0),
        ([0.0, -6.0, -7.0, -1.0, -9.0, -2.0, -6.0, -8.0, -5.0], 36.590730),
        ([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.0),
        ([10.0, -10.0, 10.0], 10.0),
    ],
)
def test_max_drawdown_equals_empyricals_on_its_own_vectors(
    percent: list[float], drawdown: float
) -> None:
    """The vectors are empyrical-reloaded's, tests/test_stats.py: mixed, negative, positive,
    up-down-up returns.
    """
    equity = np.r_[1.0, np.cumprod(1 + np.array(percent) / 100)]
    assert max_drawdown(equity) == pytest.approx(drawdown, abs=1e-6)


def test_max_drawdown_in_rupees_may_be_another_fall_than_in_percent() -> None:
    equity = np.array([100.0, 80.0, 1000.0, 900.0])
    assert max_drawdown(equity) == pytest.approx(20)
    assert largest_falls(equity)[1] == 100


def test_profit_factor_equals_the_gain_to_loss_ratio_of_bacons_book(market_data: Path) -> None:
    """The numbers are Practical Portfolio Performance's, 24 months: Bernardo-Ledoit 1.78, drawdown
    0.1447.
    """
    with (market_data / "oracle_bacon_24m.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    returns = np.array([float(row[1]) for row in rows])
    assert len(returns) == 24
    metrics = figures(*(returns * 1000))
    assert metrics["profitFactor"] == pytest.approx(1.779783, abs=5e-7)
    equity = np.r_[1.0, np.cumprod(1 + returns)]
    assert max_drawdown(equity) == pytest.approx(14.4673, abs=1e-4)


def test_a_day_ends_with_its_last_row_or_with_the_curve() -> None:
    equity, ends = np.array([100.0, 110.0, 105.0, 99.0]), np.array([1, 3, 5])
    assert of_equity.daily_returns(equity, ends, 100.0).tolist() == pytest.approx([0.1, -0.1])
    assert of_equity.daily_returns(equity[:3], ends, 100.0)[-1] == pytest.approx(105 / 110 - 1)
    assert not len(of_equity.daily_returns(np.array([-1.0, 5.0]), np.array([0, 1]), 100.0))


def test_figures_of_equity_that_was_nearly_gone_are_finite() -> None:
    for end in (1e9, -1.0):
        metrics = of_curve(curve(*[1000.0] * 20, 1e-9, *[1e9] * 30, end))
        numbers = [n for n in metrics.values() if isinstance(n, int | float)]
        assert np.isfinite(numbers).all()
