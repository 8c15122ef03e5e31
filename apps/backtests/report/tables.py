"""The tables of a report: breakdowns, all metrics, and the largest wins and losses.

Amounts are rupees, profits net of charges.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.backtests.report import formats
from apps.backtests.results import Trades
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.metrics.breakdowns import Group, Period
from apps.engine.metrics.fill_quality import unknown_fill_quality, volume_shares
from apps.engine.metrics.table import BENCHMARK, EQUITY, TRADES
from apps.engine.metrics.trades import net_profits, trade_returns
from apps.engine.units import Unit

MAX_LARGEST: Final = 10


class GroupBar(NamedTuple):
    """A group of trades, and its profit in percent of the largest profit or loss of the table."""

    group: Group
    percent: float

    @property
    def width(self) -> float:
        return abs(self.percent)


def group_bars(groups: Sequence[Group]) -> list[GroupBar]:
    largest = max([abs(group.profit) for group in groups], default=0.0) or 1.0
    return [GroupBar(group, group.profit / largest * 100) for group in groups]


class YearRow(NamedTuple):
    """The returns of twelve months in percent, None where the range has no bar, and of the year."""

    year: str
    months: list[float | None]
    total: float


def monthly_returns(months: Sequence[Period], years: Sequence[Period]) -> list[YearRow]:
    """Return one row of monthly returns for each year."""
    returns = {month.group.name: month.percent for month in months}
    return [
        YearRow(
            year.group.name,
            [returns.get(f"{year.group.name}-{number:02}") for number in range(1, 13)],
            year.percent,
        )
        for year in years
    ]


class MetricRow(NamedTuple):
    """A metric with its formatted value and its meaning."""

    name: str
    value: str
    text: str


def all_metrics(performance: Mapping[str, object]) -> dict[str, list[MetricRow]]:
    """Return every metric of the result, in the order of the tables of metrics."""
    return {
        title: [
            MetricRow(
                formats.humanize(name), _format_metric(performance[name], metric.unit), metric.text
            )
            for name, metric in metrics.items()
            if name in performance
        ]
        for title, metrics in (("Trades", TRADES), ("Equity", EQUITY), ("Benchmark", BENCHMARK))
    }


def _format_metric(value: object, unit: Unit) -> str:
    if isinstance(value, int | float):
        return formats.format_metric(value, unit)
    return formats.NO_VALUE


class TradeRow(NamedTuple):
    """A trade as the report lists it, with times in epoch seconds.

    `mae` and `mfe` are its maximum adverse and favorable excursion in percent of the entry price,
    `entry_delay` the bars by which its entry was late, and `volume_share` its quantity in percent
    of the volume of the entry's bar; each is None when it is not known.
    """

    symbol: str
    side: str
    quantity: float
    entry_time: int
    entry_price: float
    exit_time: int
    exit_price: float
    reason: str
    mae: float | None
    mfe: float | None
    entry_delay: float | None
    volume_share: float | None
    profit: float
    percent: float


def largest_wins(trades: Trades, symbols: Sequence[str]) -> list[TradeRow]:
    """Return the trades with the largest profits, largest first."""
    profit = net_profits(trades.records)
    order = np.argsort(-profit, kind="stable")[:MAX_LARGEST]
    return _trade_rows(trades.select(order[profit[order] > 0]), symbols)


def largest_losses(trades: Trades, symbols: Sequence[str]) -> list[TradeRow]:
    """Return the trades with the largest losses, largest first."""
    profit = net_profits(trades.records)
    order = np.argsort(profit, kind="stable")[:MAX_LARGEST]
    return _trade_rows(trades.select(order[profit[order] < 0]), symbols)


def _trade_rows(chosen: Trades, symbols: Sequence[str]) -> list[TradeRow]:
    trades = chosen.records
    unknown = [None] * len(trades)
    mae, mfe = (
        (unknown, unknown)
        if chosen.excursions is None
        else ((distances * 100).tolist() for distances in chosen.excursions)
    )
    fills = chosen.fills or unknown_fill_quality(len(trades))
    volume_share = volume_shares(trades["quantity"], fills.entry_volume) * 100
    columns = (
        [symbols[index] for index in trades["symbol"]],
        ["long" if side > 0 else "short" for side in trades["side"]],
        trades["quantity"].tolist(),
        trades["entry_time"].tolist(),
        trades["entry_price"].tolist(),
        trades["exit_time"].tolist(),
        trades["exit_price"].tolist(),
        [EXIT_REASONS[code] for code in trades["reason"]],
        mae,
        mfe,
        _none_for_nan(fills.entry_delay_bars),
        _none_for_nan(volume_share),
        net_profits(trades).tolist(),
        (trade_returns(trades) * 100).tolist(),
    )
    return [TradeRow(*row) for row in zip(*columns, strict=True)]


def _none_for_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
