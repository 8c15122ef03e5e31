"""Formulas of figures against published numbers.

They are empyrical's vectors, the tables of Bacon's book and the managers of PerformanceAnalytics.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from apps.engine.results import benchmark as benchmark_figures
from apps.engine.results import equity as equity_figures
from apps.engine.results import trade_figures
from apps.engine.results.drawdowns import (
    DrawdownEpisode,
    drawdown_episodes,
    drawdowns,
    largest_falls,
    max_drawdown,
    recovery_days,
    ulcer_index,
    worst_drawdowns,
)
from apps.engine.results.sharpe import (
    moments,
    sharpe_estimate,
    sharpe_ratio,
)
from tests.engine.market_files import rows_of

MIXED = np.array([1.0, 10.0, -4.0, 2.0, 3.0, 2.0, 1.0, -10.0]) / 100
BENCHMARK = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]) / 100
A_YEAR = 252**0.5


def column(
    rows: Sequence[dict[str, str]], name: str
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([float(row[name]) for row in rows])


def test_daily_figures_are_empyricals_on_its_own_vector() -> None:
    """The vector is the mixed returns of empyrical-reloaded, tests/test_stats.py."""
    deviation, sortino = equity_figures.deviation(MIXED), equity_figures.sortino_ratio(MIXED)
    assert deviation is not None
    assert sortino is not None
    assert deviation / 100 * A_YEAR == pytest.approx(0.9136465399704637)
    assert sortino * A_YEAR == pytest.approx(2.605531251673693)
    below = equity_figures.downside_deviation
    assert below(MIXED) * A_YEAR == pytest.approx(0.60448325038829653)
    assert below(MIXED, 0.1) * A_YEAR == pytest.approx(1.7161730681956295)


def test_growth_a_year_is_empyricals_for_days_weeks_and_months() -> None:
    """The first of the mixed returns is missing and counts as a period."""
    equity = np.r_[1.0, np.cumprod(1 + MIXED)]
    for a_year, expected in (
        (252, 1.9135925373194231),
        (52, 0.24690830513998208),
        (12, 0.052242061386048144),
    ):
        growth = equity_figures.annual_growth(equity, 9 / a_year)
        assert growth / 100 == pytest.approx(expected)
        calmar = growth / max_drawdown(equity)
        assert calmar == pytest.approx(expected / 0.1)


def test_the_information_ratio_is_empyricals_sharpe_ratio_against_a_benchmark() -> None:
    ratio = benchmark_figures.information_ratio(MIXED, BENCHMARK, 252)
    assert ratio == pytest.approx(0.34111411441060574)


def test_figures_of_bacons_24_months(market_data: Path) -> None:
    """The numbers are Practical Portfolio Performance's, as PerformanceAnalytics' pages print them;
    the book's Martin ratio uses rounded parts.
    """
    rows = rows_of(market_data / "oracle_bacon_24m.csv")
    returns = column(rows, "portfolio monthly return (%)")
    assert equity_figures.downside_deviation(returns, 0.005) == pytest.approx(0.025537, abs=5e-7)
    assert equity_figures.omega_ratio(returns) == pytest.approx(1.779783, abs=5e-7)
    n = len(returns)
    of_a_sample = (n + 1) * (n - 1) / ((n - 2) * (n - 3))
    assert moments(returns)[1] * of_a_sample == pytest.approx(3.03, abs=0.005)
    equity = np.r_[1.0, np.cumprod(1 + returns)]
    growth = equity[-1] ** (12 / 24) - 1
    sharpe, skewness, kurtosis = growth / (returns.std(ddof=1) * 12**0.5), *moments(returns)
    adjusted = sharpe * (1 + skewness / 6 * sharpe - (kurtosis - 3) / 24 * sharpe**2)
    assert adjusted == pytest.approx(0.7591435, abs=5e-8)
    assert growth / (ulcer_index(drawdowns(equity)) / 100) == pytest.approx(1.70, abs=0.01)


def test_figures_beside_a_benchmark_are_performance_analytics_own(market_data: Path) -> None:
    """Its table.SFM of HAM1 against the S&P 500, less the three months' rate: monthly alpha
    0.0058, beta 0.3901, correlation 0.6587; tracking error 0.1132 for a year of months.
    """
    rows = rows_of(market_data / "oracle_managers_1996-2006.csv")
    free = column(rows, "US 3m TR")
    fund, index = column(rows, "HAM1") - free, column(rows, "SP500 TR") - free
    assert benchmark_figures.beta(fund, index) == pytest.approx(0.3901, abs=5e-5)
    assert benchmark_figures.correlation(fund, index) == pytest.approx(0.6587, abs=5e-5)
    alpha = benchmark_figures.alpha(fund, index, benchmark_figures.beta(fund, index), 12)
    error = benchmark_figures.tracking_error(fund, index, 12)
    assert alpha is not None
    assert error is not None
    assert (1 + alpha / 100) ** (1 / 12) - 1 == pytest.approx(0.0058, abs=5e-5)
    assert error / 100 == pytest.approx(0.1132, abs=5e-5)


def test_a_constant_benchmark_has_no_comparison() -> None:
    still = np.zeros(8)
    assert benchmark_figures.alpha(MIXED, still, None, 252) is None
    for name in ("beta", "correlation"):
        assert getattr(benchmark_figures, name)(MIXED, still) is None
    assert benchmark_figures.correlation(still, MIXED) is None
    assert benchmark_figures.information_ratio(MIXED, MIXED, 252) is None


def test_spells_under_the_peak() -> None:
    """Two spells recover and one does not; a point at the peak ends one and begins the next."""
    equity = np.array([100.0, 90.0, 100.0, 110.0, 99.0, 88.0, 110.0, 121.0, 60.5])
    episodes = drawdown_episodes(drawdowns(equity))
    assert episodes.begin.tolist() == [0, 3, 7]
    assert episodes.end.tolist() == [2, 6, 8]
    assert episodes.depth.tolist() == pytest.approx([0.1, 0.2, 0.5])
    assert not len(drawdown_episodes(drawdowns(np.array([1.0, 2.0, 2.0]))).depth)
    assert drawdown_episodes(drawdowns(np.array([2.0, 1.0]))).end.tolist() == [1]


def test_the_worst_drawdowns_have_their_dates() -> None:
    """The deepest comes first, the older first among equals; the last one has not recovered."""
    equity = np.array([100.0, 90.0, 95.0, 100.0, 110.0, 99.0, 110.0, 220.0, 200.0, 110.0, 120.0])
    days = np.array([0, 0, 1, 4, 5, 6, 7, 8, 11, 12, 13], np.int32)
    deepest, older = worst_drawdowns(equity, days, 2)
    assert deepest == DrawdownEpisode(date(1970, 1, 9), date(1970, 1, 13), None, 50.0, 5)
    assert older.percent == pytest.approx(10)
    dates = (date(1970, 1, 1), date(1970, 1, 1), date(1970, 1, 5))
    assert older == DrawdownEpisode(*dates, percent=older.percent, days=4)
    assert worst_drawdowns(np.array([1.0, 2.0]), days[:2], 2) == []


def test_rounding_errors_of_equity_are_no_drawdown() -> None:
    """The last point is one ulp below the close before, from rounding of the closing trade."""
    equity = np.array([1e6, 1.1e6, 1.2e6, np.nextafter(1.2e6, 0)])
    assert largest_falls(equity) == (0, 0)
    assert ulcer_index(drawdowns(equity)) == 0
    assert not len(drawdown_episodes(drawdowns(equity)).depth)
    returns = equity_figures.returns_of(equity)
    assert equity_figures.sortino_ratio(returns) is None
    assert equity_figures.omega_ratio(returns) is None


def test_days_to_recover_count_from_the_bottom() -> None:
    days = np.array([0, 0, 3, 4, 10], np.int32)
    assert recovery_days(drawdowns(np.array([10.0, 9.0, 5.0, 8.0, 11.0])), days) == 7
    assert recovery_days(drawdowns(np.array([10.0, 9.0, 5.0, 8.0, 9.0])), days) is None
    assert recovery_days(drawdowns(np.array([1.0, 1.0, 2.0, 2.0, 3.0])), days) is None


def test_the_loss_on_the_worst_days() -> None:
    returns = np.arange(-10, 90) / 1000
    assert equity_figures.value_at_risk(returns, 0.05) == pytest.approx(0.505)
    assert equity_figures.expected_shortfall(returns, 0.05) == pytest.approx(0.8)
    assert equity_figures.value_at_risk(returns[:99], 0.01) is None
    assert equity_figures.expected_shortfall(returns[:19], 0.05) is None


def test_a_long_sure_record_is_probably_skill() -> None:
    """Two equally frequent values have skewness 0 and kurtosis 1: the formula's noise is then 1,
    and these are 1.25 deviations above 0.
    """
    two = np.array([0.02, -0.01] * 8)
    estimate = sharpe_estimate(sharpe_ratio(two), two)
    assert estimate is not None
    assert estimate.probability(0.0) == pytest.approx(NormalDist().cdf(1.25))
    assert sharpe_estimate(sharpe_ratio(two[:1]), two[:1]) is None


def test_ratios_of_trades() -> None:
    """Kelly is backtesting.py's and the ratio freqtrade's: 60 % won, twice as much as is lost."""
    won, lost = np.full(6, 200.0), np.full(4, 100.0)
    assert trade_figures.kelly_share(won, lost) == pytest.approx(40)
    assert trade_figures.expectancy_ratio(won, lost) == pytest.approx(0.8)
    assert trade_figures.kelly_share(won, lost[:0]) is None
    assert trade_figures.expectancy_ratio(won[:0], lost) is None
    assert trade_figures.system_quality(np.array([1.0, 2.0, 3.0])) == pytest.approx(2 * 3**0.5)


def test_an_impossible_alpha_is_none() -> None:
    """The equity was nearly gone and came back, with a daily mean of thousands of percent."""
    wild = np.r_[MIXED, -0.9999, 5000.0]
    benchmark = np.r_[BENCHMARK, 0.01, -0.01]
    for returns in (wild, -wild):
        beta = benchmark_figures.beta(returns, benchmark)
        assert benchmark_figures.alpha(returns, benchmark, beta, 252) is None
