"""Proofs over 200 seeds that the sample is a fair game and moves as a market does.

The seeds were chosen before any result was seen. The measurements are printed (`-s`).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.algorithms.services import BUILT_IN_TEMPLATES, BuiltInTemplate
from apps.engine.candles import Candles, ist_day
from apps.engine.language.strategy import Strategy, parse
from apps.market.importers import ImportOptions, read_one_series
from tests.market.sample_backtests import backtest_on_sample, sample_market

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

Floats = NDArray[np.float64]
Series = tuple[str, str]

SEEDS: Final = range(200)
CAPITAL: Final = 1_000_000.0
# Each template is a chance to leave two standard errors by luck: of twelve in a fair game one or
# more do in 43 of 100 proofs. So all together may err as often as one test at two standard errors,
# in 4.55 of 100: each stays within this many (Šidák; 2.89 for twelve), and at most a sixth of them
# leave two. That holds for profit in both directions. A Sharpe ratio must not lie above; where
# losses are cut and gains run its mean lies a little below 0 although the profit's does not, as the
# deviation that it is divided by is larger after gains.
MOST_ERRORS: Final = NormalDist().inv_cdf((1 + 0.9545 ** (1 / len(BUILT_IN_TEMPLATES))) / 2)
LAGS: Final = 20
SPANS: Final = (2, 4, 8, 16, 32, 64)
# At 1 %: of the sum of twenty squares, and of the largest of six (Chow and Denning).
AUTOCORRELATION_LIMIT: Final = 37.57
VARIANCE_RATIO_LIMIT: Final = 3.14
SESSION: Final = 375
LIKENESS: Final = (1, 10, 60, SESSION)


def test_no_template_earns_or_loses_before_costs() -> None:
    strategies = [_without_costs(template) for template in BUILT_IN_TEMPLATES]
    results = np.array(
        [[_result(strategy, bars) for strategy in strategies] for bars in _markets()]
    )
    errors = results.std(axis=0, ddof=1) / np.sqrt(len(results))
    sharpe, profit = (results.mean(axis=0) / errors).T
    for n, template in enumerate(BUILT_IN_TEMPLATES):
        mean, error = results[:, n, 0].mean(), errors[n, 0]
        print(
            f"{template.slug:22} Sharpe {mean:+.3f} ± {error:.3f} ({sharpe[n]:+.2f} errors),"
            f" profit {profit[n]:+.2f} errors"
        )
    outside = int((np.abs(sharpe) > 2).sum())
    count = len(BUILT_IN_TEMPLATES)
    print(f"{outside} of {count} beyond two standard errors, expected {0.0455 * count:.1f}")
    assert (results[:, :, 1].std(axis=0) > 0).all()  # each of them trades
    assert max(sharpe.max(), np.abs(profit).max()) < MOST_ERRORS
    assert max((sharpe > 2).sum(), (np.abs(profit) > 2).sum()) <= count // 6


def test_returns_do_not_predict_the_next_returns() -> None:
    correlated: dict[Series, list[bool]] = {}
    spread: dict[Series, list[bool]] = {}
    for bars in _markets():
        for series, candles in bars.items():
            returns = np.diff(np.log(candles.close))
            passes = autocorrelation(returns) < AUTOCORRELATION_LIMIT
            correlated.setdefault(series, []).append(passes)
            passes = max(map(abs, variance_ratios(returns))) < VARIANCE_RATIO_LIMIT
            spread.setdefault(series, []).append(passes)
    for series, passed in correlated.items():
        shares = np.mean(passed), np.mean(spread[series])
        print(f"{' '.join(series):26} autocorrelation {shares[0]:.1%}, variance {shares[1]:.1%}")
        assert min(shares) >= 0.95, series


def test_moves_look_like_a_market(market_data: Path) -> None:
    file = market_data / "NIFTY_1m_2024.csv.gz"
    _, real = read_one_series(file, ImportOptions(symbol="NSE:NIFTY"))
    made = [bars["NSE:NIFTY", "1m"] for bars in _markets(SEEDS[:20])]
    rows = {"NIFTY of 2024": _figures([real.candles]), "the sample": _figures(made)}
    for name, figures in rows.items():
        likeness = ", ".join(f"{figures[f'likeness {lag}']:.2f} at {lag}" for lag in LIKENESS)
        print(
            f"{name}: kurtosis of minutes {figures['kurtosis']:.0f}, of days {figures['days']:.0f}"
        )
        print(f"  autocorrelation of their size {likeness}")
        print(f"  gaps {figures['gaps']:.0%} of the variance")
        print("  size by 25 minutes:", np.round(figures["size"], 2))
    for figures in rows.values():
        assert figures["kurtosis"] > 10
        assert figures["days"] > 4
        assert figures["likeness 60"] > 0.05
        assert figures["size"][0] > 1.5 * figures["size"][7]
    assert np.allclose(rows["NIFTY of 2024"]["size"], rows["the sample"]["size"], atol=0.35)


def test_volume_is_a_u() -> None:
    volume = np.mean(
        [
            bars["NSE:INFY", "1m"].volume.reshape(-1, 15, 25).mean(axis=(0, 2))
            for bars in _markets(SEEDS[:20])
        ],
        axis=0,
    )
    print("volume by 25 minutes:", np.round(volume / volume.mean(), 2))
    assert min(volume[0], volume[-1]) > 2 * volume[5:10].max()


def autocorrelation(returns: Floats) -> float:
    """Return the sum of the squared statistics of LAGS autocorrelations, robust to changing
    volatility: for unpredictable returns it is chi squared with as many degrees of freedom.
    """
    x = returns - returns.mean()
    pairs = [x[lag:] * x[:-lag] for lag in range(1, LAGS + 1)]
    return sum(float(pair.sum() ** 2 / (pair**2).sum()) for pair in pairs)


def variance_ratios(returns: Floats) -> Iterator[float]:
    """Yield the statistics of Lo and MacKinlay that are robust to changing volatility."""
    x = returns - returns.mean()
    squares, total = x**2, (x**2).sum()
    longest = max(SPANS)
    lags = range(1, longest)
    rho = np.array([(x[lag:] * x[:-lag]).sum() / total for lag in lags])
    delta = np.array([(squares[lag:] * squares[:-lag]).sum() / total**2 for lag in lags])
    for span in SPANS:
        weights = 2 * (1 - np.arange(1, span) / span)
        yield float(weights @ rho[: span - 1] / np.sqrt(weights**2 @ delta[: span - 1]))


def _markets(seeds: Iterable[int] = SEEDS) -> Iterator[Mapping[Series, Candles]]:
    yield from map(sample_market, seeds)


def _without_costs(template: BuiltInTemplate) -> Strategy:
    execution = {**template.steps["executionSettings"], "slippage": 0, "charges": "none"}
    return parse({**template.steps, "executionSettings": execution})


def _result(strategy: Strategy, bars: Mapping[Series, Candles]) -> tuple[float, float]:
    """Return the annual Sharpe ratio of a backtest, 0 without a trade, and its profit."""
    figures: Mapping[str, Any] = backtest_on_sample(strategy, bars).performance
    return figures["sharpeRatioAnnualized"] or 0.0, figures["netProfit"]


def _figures(markets: list[Candles]) -> dict[str, Any]:
    """Return the means, over histories of minutes, of figures that distinguish a market from a
    random walk.
    """
    by_market = [_figures_of(minutes) for minutes in markets]
    return {
        name: np.mean([figures[name] for figures in by_market], axis=0) for name in by_market[0]
    }


def _figures_of(minutes: Candles) -> dict[str, Any]:
    day = ist_day(minutes.time)
    days, counts = np.unique(day, return_counts=True)
    whole = np.isin(day, days[counts == SESSION])
    opened = minutes.open[whole].reshape(-1, SESSION)
    close = np.log(minutes.close[whole].reshape(-1, SESSION))
    before = np.column_stack([np.log(opened[:, 0]), close[:, :-1]])
    returns, gaps = close - before, before[1:, 0] - close[:-1, -1]
    size = np.abs(returns)
    usual = size / size.mean(axis=0)  # at the time of day
    by_minutes = size.reshape(-1, 15, 25).mean(axis=(0, 2))
    blocks = returns.reshape(-1, 15, 25).std(axis=(0, 2))
    likeness = {f"likeness {lag}": _correlation(usual.ravel(), lag) for lag in LIKENESS}
    return {
        "kurtosis": _kurtosis((returns.reshape(-1, 15, 25) / blocks[:, None]).ravel()),
        "days": _kurtosis(np.diff(close[:, -1])),
        "gaps": gaps.var() / np.diff(close[:, -1]).var(),
        "size": by_minutes / by_minutes.mean(),
        **likeness,
    }


def _correlation(values: Floats, lag: int) -> float:
    x = values - values.mean()
    return float((x[lag:] * x[:-lag]).mean() / x.var())


def _kurtosis(values: Floats) -> float:
    x = values - values.mean()
    return float((x**4).mean() / x.var() ** 2)
