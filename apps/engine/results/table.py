"""The figures of a result: one table of their names, units and formulas. A ratio with an empty
denominator is None, never NaN or infinite.

Sources: the interface document's table of performance fields, rule 15 of README.md, and for figures
that other tools have too the definitions named by the functions, in `trade_figures`,
`equity_figures` and `benchmark_figures`. Drawdown is from the running peak of equity at closes,
with open positions marked (empyrical, backtesting.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.results import benchmark, drawdowns, equity
from apps.engine.results import trade_figures as trade
from apps.engine.results.result_data import ResultData
from apps.engine.results.sharpe import sharpe_ratio
from apps.engine.results.trade_figures import Floats, ratio, total
from apps.engine.units import Unit, rounded

Figure = float | int | None
Performance = dict[str, "Figure | dict[str, int] | dict[str, float]"]

LEAST_DAYS = 30
"""Calendar days under which nothing is annualised (rule 15)."""
DAYS_A_MONTH = equity.DAYS_A_YEAR / 12

_LEFT_OPEN: Final = EXIT_REASONS.index("end_of_data")


COUNT, RUPEES, PERCENT, RATIO = Unit.COUNT, Unit.RUPEES, Unit.PERCENT, Unit.RATIO
BARS, HOURS, DAYS = Unit.BARS, Unit.HOURS, Unit.DAYS


class Metric(NamedTuple):
    """A figure.

    `falls`: less of it is better. `annual`: it is an annual figure, None for a range under
    LEAST_DAYS; the metric of this name replaces it there. `within_days`: it reads the curve between
    the ends of days. `group` is the title of its table.
    """

    unit: Unit
    text: str
    formula: Callable[[ResultData], Figure]
    falls: bool = False
    annual: str = ""
    within_days: bool = False
    group: str = ""

    @property
    def description(self) -> str:
        """The definition of the figure, with its unit."""
        has_unit = self.unit not in (COUNT, RATIO) and f"in {self.unit}" not in self.text
        return f"{self.text} In {self.unit}." if has_unit else self.text

    def of(self, result_data: ResultData) -> Figure:
        """Return rupees as people write them, ratios unrounded."""
        value = (
            None if self.annual and is_too_short(result_data.years) else self.formula(result_data)
        )
        return rounded(value, RUPEES) if self.unit == RUPEES and value is not None else value


def least_dates(timeframe: str) -> int:
    """Return the dates with a row that an annual figure of the timeframe needs."""
    periods = equity.WEEKS_A_YEAR if timeframe == "1w" else equity.SESSIONS_A_YEAR
    return ceil(LEAST_DAYS / equity.DAYS_A_YEAR * periods)


def is_too_short(years: float) -> bool:
    """Return whether the held sessions, in years, are too few for an annual figure."""
    return years * equity.DAYS_A_YEAR < LEAST_DAYS


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else fraction * 100


def _over(part: float | None, whole: float | None) -> float | None:
    """Return the quotient; None if either is None, or the divisor is 0."""
    return None if part is None or not whole else part / whole


def _growth(f: ResultData) -> float:
    return equity.annual_growth(f.closes, f.years)


def _adverse(f: ResultData) -> Floats:
    return np.empty(0) if f.excursions is None else f.excursions.adverse * 100


def _favorable(f: ResultData) -> Floats:
    return np.empty(0) if f.excursions is None else f.excursions.favorable * 100


def _given_back(f: ResultData) -> Floats:
    """Return percent of the entry's value, from the best price of each trade to its exit."""
    if f.excursions is None:
        return np.empty(0)
    given_back: Floats = _favorable(f) - f.trades["gross"] / f.trades["value"] * 100
    return given_back


def _relative(f: ResultData, formula: Callable[[Floats, Floats], float | None]) -> float | None:
    return None if f.return_pairs is None else formula(*f.return_pairs)


def _relative_a_year(
    f: ResultData, formula: Callable[[Floats, Floats, int], float | None]
) -> float | None:
    return None if f.return_pairs is None else formula(*f.return_pairs, f.periods_a_year)


def _benchmark(f: ResultData, formula: Callable[[Floats], float]) -> float | None:
    return None if f.benchmark is None else formula(f.benchmark)


def _most(days: NDArray[np.int32]) -> int:
    return int(days.max(initial=0))


TRADES: Final[Mapping[str, Metric]] = {
    "totalTrades": Metric(COUNT, "Trades that won or lost.", lambda f: len(f.won) + len(f.lost)),
    "winningTrades": Metric(COUNT, "With a profit after charges.", lambda f: len(f.won)),
    "losingTrades": Metric(COUNT, "With a loss after charges.", lambda f: len(f.lost), falls=True),
    "breakevenTrades": Metric(COUNT, "With neither.",
        lambda f: len(f.profit) - len(f.won) - len(f.lost)),
    "totalProfit": Metric(RUPEES, "Of the winners, after charges.", lambda f: total(f.won)),
    "totalLoss": Metric(RUPEES, "Of the losers, after charges, above 0.",
        lambda f: total(f.lost), falls=True),
    "netProfit": Metric(RUPEES, "Profit less loss.", lambda f: f.net),
    "grossProfit": Metric(RUPEES, "Before charges.", lambda f: total(f.trades["gross"])),
    "charges": Metric(RUPEES, "All that fills were charged.",
        lambda f: total(f.trades["charges"]), falls=True),
    "roi": Metric(PERCENT, "Net profit of the capital.", lambda f: f.net / f.capital * 100),
    "winRate": Metric(PERCENT, "Winners of those that won or lost.",
        lambda f: trade.win_rate(f.won, f.lost)),
    "profitFactor": Metric(RATIO, "Profit over loss.",
        lambda f: ratio(total(f.won), total(f.lost))),
    "averageWin": Metric(RUPEES, "Of a winner.", lambda f: trade.mean(f.won)),
    "averageLoss": Metric(RUPEES, "Of a loser, above 0.", lambda f: trade.mean(f.lost), falls=True),
    "riskRewardRatio": Metric(RATIO, "Average win over average loss.",
        lambda f: trade.risk_reward(f.won, f.lost)),
    "expectancy": Metric(RUPEES, "Net profit a trade that won or lost.",
        lambda f: trade.expectancy(f.won, f.lost)),
    "expectancyRatio": Metric(RATIO, "Expectancy over average loss.",
        lambda f: trade.expectancy_ratio(f.won, f.lost)),
    "kellyCriterion": Metric(PERCENT, "Of the capital, that would grow it fastest.",
        lambda f: trade.kelly_share(f.won, f.lost)),
    "systemQuality": Metric(RATIO, "Van Tharp's SQN: sqrt(trades) x mean over deviation.",
        lambda f: trade.system_quality(f.profit)),
    "averageReturn": Metric(PERCENT, "Of a trade, on its entry's value.",
        lambda f: _percent(trade.mean(f.returns))),
    "bestTrade": Metric(RUPEES, "The largest profit.", lambda f: trade.largest(f.profit)),
    "worstTrade": Metric(RUPEES, "The smallest profit, or largest loss, below 0.",
        lambda f: float(f.profit.min()) if len(f.profit) else None),
    "winStreak": Metric(COUNT, "Most winners in a row.",
        lambda f: trade.longest_run(f.profit > 0)),
    "lossStreak": Metric(COUNT, "Most losers in a row.",
        lambda f: trade.longest_run(f.profit < 0), falls=True),
    "longTrades": Metric(COUNT, "Long positions.", lambda f: int(f.is_long.sum())),
    "shortTrades": Metric(COUNT, "Short positions.", lambda f: int((~f.is_long).sum())),
    "longProfit": Metric(RUPEES, "Net profit of the long ones.",
        lambda f: total(f.profit[f.is_long])),
    "shortProfit": Metric(RUPEES, "Net profit of the short ones.",
        lambda f: total(f.profit[~f.is_long])),
    "leftOpenTrades": Metric(COUNT, "Open at the end of the data, and closed there.",
        lambda f: int((f.trades["reason"] == _LEFT_OPEN).sum())),
    "averageBars": Metric(BARS, "That a position lived through.",
        lambda f: trade.mean(f.trades["bars"])),
    "averageHoldingHours": Metric(HOURS, "Of a trade, by the clock, nights too.",
        lambda f: trade.mean(f.hours)),
    "medianHoldingHours": Metric(HOURS, "Half of the trades took less.",
        lambda f: trade.median(f.hours)),
    "averageHoldingHoursWon": Metric(HOURS, "Of a winner.",
        lambda f: trade.mean(f.hours_won)),
    "medianHoldingHoursWon": Metric(HOURS, "Half of the winners took less.",
        lambda f: trade.median(f.hours_won)),
    "averageHoldingHoursLost": Metric(HOURS, "Of a loser.",
        lambda f: trade.mean(f.hours_lost), falls=True),
    "medianHoldingHoursLost": Metric(HOURS, "Half of the losers took less.",
        lambda f: trade.median(f.hours_lost), falls=True),
    "tradesPerDay": Metric(RATIO, "Entries a day that has bars.",
        lambda f: len(f.trades) / len(f.ends)),
    "tradesPerWeek": Metric(RATIO, "Entries in seven days of the calendar.",
        lambda f: len(f.trades) / f.days * equity.DAYS_A_WEEK),
    "tradesPerMonth": Metric(RATIO, "Entries in a twelfth of a year of the calendar.",
        lambda f: len(f.trades) / f.days * DAYS_A_MONTH),
    "turnover": Metric(RUPEES, "Bought and sold.", lambda f: f.turnover, falls=True),
    "turnoverRatio": Metric(RATIO, "Turnover over mean equity at the end of days.",
        lambda f: _over(f.turnover, float(f.closes[1:].mean())), falls=True),
    "exposure": Metric(PERCENT, "Bars with a position open for any part.",
        lambda f: f.exposure, within_days=True),
    "averageAdverseExcursion": Metric(PERCENT, "MAE: how far prices went against a trade.",
        lambda f: trade.mean(_adverse(f)), falls=True),
    "largestAdverseExcursion": Metric(PERCENT, "The largest MAE.",
        lambda f: trade.largest(_adverse(f)), falls=True),
    "averageFavorableExcursion": Metric(PERCENT, "MFE: how far prices went for a trade.",
        lambda f: trade.mean(_favorable(f))),
    "largestFavorableExcursion": Metric(PERCENT, "The largest MFE.",
        lambda f: trade.largest(_favorable(f))),
    "averageEndTradeDrawdown": Metric(PERCENT, "Given back from the best price to the exit.",
        lambda f: trade.mean(_given_back(f)), falls=True),
    "largestEndTradeDrawdown": Metric(PERCENT, "The most that was given back.",
        lambda f: trade.largest(_given_back(f)), falls=True),
}  # fmt: skip
"""Of the trades; a profit is net of charges, an excursion is of the average entry price."""

EQUITY: Final[Mapping[str, Metric]] = {
    "sharpeRatio": Metric(RATIO, "Mean return of a trade over its deviation.",
        lambda f: sharpe_ratio(f.returns)),
    "sharpeRatioAnnualized": Metric(RATIO, "Of daily equity.",
        lambda f: equity.of_a_year(f.sharpe, f.periods_a_year), annual="sharpeRatio"),
    "probabilisticSharpeRatio": Metric(PERCENT, "How likely the true Sharpe ratio is above 0.",
        lambda f: f.sharpe_estimate and _percent(f.sharpe_estimate.probability(0.0))),
    "sortinoRatio": Metric(RATIO, "Mean over downside deviation, of daily equity.",
        lambda f: equity.of_a_year(equity.sortino_ratio(f.daily), f.periods_a_year),
        annual="omegaRatio"),
    "calmarRatio": Metric(RATIO, "Growth a year over the largest drawdown.",
        lambda f: _over(_growth(f), f.largest_falls[0] * 100), annual="recoveryFactor",
        within_days=True),
    "martinRatio": Metric(RATIO, "Growth a year over the ulcer index.",
        lambda f: _over(_growth(f), drawdowns.ulcer_index(f.under)), annual="recoveryFactor"),
    "omegaRatio": Metric(RATIO, "Daily gains over daily losses.",
        lambda f: equity.omega_ratio(f.daily)),
    "recoveryFactor": Metric(RATIO, "Net profit over the largest drawdown in rupees.",
        lambda f: _over(f.net, f.largest_falls[1]), within_days=True),
    "cagr": Metric(PERCENT, "Growth a year, compounded.", _growth, annual="roi"),
    "annualVolatility": Metric(PERCENT, "Deviation of daily returns, for a year.",
        lambda f: equity.of_a_year(equity.deviation(f.daily), f.periods_a_year), falls=True,
        annual="ulcerIndex"),
    "skewness": Metric(RATIO, "Of daily returns.",
        lambda f: f.sharpe_estimate and f.sharpe_estimate.skewness),
    "kurtosis": Metric(RATIO, "Of daily returns; 3 is normal.",
        lambda f: f.sharpe_estimate and f.sharpe_estimate.kurtosis, falls=True),
    "maxDrawdown": Metric(PERCENT, "The largest fall, of the running peak.",
        lambda f: f.largest_falls[0] * 100, falls=True, within_days=True),
    "maxDrawdownAmount": Metric(RUPEES, "The largest fall in rupees.",
        lambda f: f.largest_falls[1], falls=True, within_days=True),
    "averageDrawdown": Metric(PERCENT, "The largest fall of each spell under the peak, by days.",
        lambda f: _percent(trade.mean(f.drawdown_episodes.depth)) or 0.0, falls=True),
    "maxDrawdownDays": Metric(DAYS, "The longest spell under the peak, by the calendar.",
        lambda f: _most(f.drawdown_days), falls=True),
    "averageDrawdownDays": Metric(DAYS, "Of a spell under the peak, by the calendar.",
        lambda f: trade.mean(f.drawdown_days) or 0.0, falls=True),
    "recoveryDays": Metric(DAYS, "From the largest fall's bottom to a new peak; null without one.",
        lambda f: drawdowns.recovery_days(f.under, f.dates), falls=True),
    "underwaterPercentage": Metric(PERCENT, "Days that end under the peak.",
        lambda f: float((f.under[1:] > 0).mean() * 100), falls=True),
    "ulcerIndex": Metric(PERCENT, "Root of the mean squared drawdown of days.",
        lambda f: drawdowns.ulcer_index(f.under), falls=True),
    "bestDay": Metric(PERCENT, "The largest daily return.",
        lambda f: _percent(trade.largest(f.daily))),
    "worstDay": Metric(PERCENT, "The smallest daily return.",
        lambda f: float(f.daily.min() * 100) if len(f.daily) else None),
    "valueAtRisk95": Metric(PERCENT, "Lost on a day that one in 20 is worse than; null under 20.",
        lambda f: equity.value_at_risk(f.daily, 0.05), falls=True),
    "valueAtRisk99": Metric(PERCENT, "Lost on a day that one in 100 is worse than; null under 100.",
        lambda f: equity.value_at_risk(f.daily, 0.01), falls=True),
    "expectedShortfall95": Metric(PERCENT, "Lost on average on the worst day of 20; null under 20.",
        lambda f: equity.expected_shortfall(f.daily, 0.05), falls=True),
    "initialCapital": Metric(RUPEES, "At the start.", lambda f: f.capital),
    "finalEquity": Metric(RUPEES, "At the end.", lambda f: float(f.closes[-1])),
}  # fmt: skip
"""Of equity; what is of days reads the last row of each date in Asia/Kolkata."""

BENCHMARK: Final[Mapping[str, Metric]] = {
    "benchmarkReturn": Metric(PERCENT, "Of buying all symbols in equal parts, and holding them.",
        lambda f: _benchmark(f, lambda held: float(held[-1] - 1) * 100), within_days=True),
    "benchmarkMaxDrawdown": Metric(PERCENT, "Its largest fall, by days.",
        lambda f: _benchmark(f, drawdowns.max_drawdown), falls=True, within_days=True),
    "alpha": Metric(PERCENT, "A year, beside beta x the benchmark.",
        lambda f: f.return_pairs
        and benchmark.alpha(*f.return_pairs, f.beta, f.periods_a_year), annual="roi",
        within_days=True),
    "beta": Metric(RATIO, "Movement with the benchmark's.",
        lambda f: f.beta, within_days=True),
    "correlation": Metric(RATIO, "With the benchmark, -1 to 1.",
        lambda f: _relative(f, benchmark.correlation), within_days=True),
    "trackingError": Metric(PERCENT, "Deviation from the benchmark, for a year.",
        lambda f: _relative_a_year(f, benchmark.tracking_error), falls=True, annual="ulcerIndex",
        within_days=True),
    "informationRatio": Metric(RATIO, "Mean difference to the benchmark over its deviation.",
        lambda f: _relative_a_year(f, benchmark.information_ratio), annual="sharpeRatio",
        within_days=True),
    "treynorRatio": Metric(PERCENT, "Growth a year for each unit of beta.",
        lambda f: _over(_growth(f), f.beta), annual="roi", within_days=True),
}  # fmt: skip
"""Beside buying and holding, without charges, by daily returns."""

METRICS: Final[Mapping[str, Metric]] = {
    name: metric._replace(group=title)
    for title, group in (("Trades", TRADES), ("Equity", EQUITY), ("Benchmark", BENCHMARK))
    for name, metric in group.items()
}
"""Every figure that is a number, by its name on the wire, in the order of the wire."""


def performance(
    result_data: ResultData,
    *,
    rejected: Mapping[str, int],
    reduced: Mapping[str, int],
    waited: Mapping[str, int],
    paid: Mapping[str, float],
) -> Performance:
    """Return every figure of METRICS; `rejected` counts signals and `reduced` entries by reason,
    `waited` exits and their bars, `paid` are charges by kind.
    """
    metrics: Performance = {**figures(result_data, METRICS)}
    return {
        **metrics,
        "chargesByKind": dict(paid),
        "rejectedSignals": dict(rejected),
        "reducedEntries": dict(reduced),
        "waitingExits": dict(waited),
    }


def figures(result_data: ResultData, names: Iterable[str]) -> dict[str, Figure]:
    """Return some of METRICS, by name; 0 for those without a denominator before the first trade."""
    metrics = {name: METRICS[name].of(result_data) for name in names}
    if len(result_data.trades):
        return metrics
    return {name: 0 if value is None else value for name, value in metrics.items()}
