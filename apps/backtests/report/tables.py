"""The tables of a report: breakdowns as it lays them out, and the trades that mattered most.

Amounts are rupees, profits net of charges.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.backtests.report import words
from apps.backtests.results import Trades
from apps.engine.figures.breakdowns import Group, Period
from apps.engine.figures.fills import unknown_fills, volume_shares
from apps.engine.figures.metrics import BENCHMARK, EQUITY, TRADES
from apps.engine.figures.trades import net_profits, trade_returns
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.units import Unit

LARGEST: Final = 10


class Share(NamedTuple):
    """A group, and its profit in percent of the largest, by size, of all groups of the table."""

    group: Group
    percent: float

    @property
    def width(self) -> float:
        return abs(self.percent)


def shares(groups: Sequence[Group]) -> list[Share]:
    largest = max([abs(group.profit) for group in groups], default=0.0) or 1.0
    return [Share(group, group.profit / largest * 100) for group in groups]


class Year(NamedTuple):
    """Returns of equity in percent: twelve months, None where the range has no bar, and the whole
    year.
    """

    year: str
    months: list[float | None]
    total: float


def by_month(months: Sequence[Period], years: Sequence[Period]) -> list[Year]:
    """One row a year."""
    found = {month.group.name: month.percent for month in months}
    return [
        Year(
            year.group.name,
            [found.get(f"{year.group.name}-{number:02}") for number in range(1, 13)],
            year.percent,
        )
        for year in years
    ]


class Told(NamedTuple):
    """A figure in words, and what it means."""

    name: str
    value: str
    text: str


def all_figures(performance: Mapping[str, object]) -> dict[str, list[Told]]:
    """Every figure that the result has, as its tables order them."""
    return {
        title: [
            Told(words.named(name), _in_words(performance[name], metric.unit), metric.text)
            for name, metric in metrics.items()
            if name in performance
        ]
        for title, metrics in (("Trades", TRADES), ("Equity", EQUITY), ("Benchmark", BENCHMARK))
    }


def _in_words(value: object, unit: Unit) -> str:
    return words.figure(value, unit) if isinstance(value, int | float) else words.NOTHING


class Row(NamedTuple):
    """One trade as the report lists it; times are epoch seconds, how far prices went against it
    and for it percent of its entry, the bars that its entry came late, and its quantity in percent
    of the volume of the entry's bar; None where one of them is not known.
    """

    symbol: str
    side: str
    quantity: float
    entry_time: int
    entry_price: float
    exit_time: int
    exit_price: float
    reason: str
    against: float | None
    going_for: float | None
    late: float | None
    share: float | None
    profit: float
    percent: float


def largest_wins(trades: Trades, symbols: Sequence[str]) -> list[Row]:
    """Largest first."""
    profit = net_profits(trades.records)
    order = np.argsort(-profit, kind="stable")[:LARGEST]
    return _rows(trades.select(order[profit[order] > 0]), symbols)


def largest_losses(trades: Trades, symbols: Sequence[str]) -> list[Row]:
    """Largest first."""
    profit = net_profits(trades.records)
    order = np.argsort(profit, kind="stable")[:LARGEST]
    return _rows(trades.select(order[profit[order] < 0]), symbols)


def _rows(chosen: Trades, symbols: Sequence[str]) -> list[Row]:
    trades = chosen.records
    unknown = [None] * len(trades)
    against, going_for = (
        (unknown, unknown)
        if chosen.excursions is None
        else ((one * 100).tolist() for one in chosen.excursions)
    )
    fills = chosen.fills or unknown_fills(len(trades))
    shares = volume_shares(trades["quantity"], fills.entry_volume) * 100
    columns = (
        [symbols[place] for place in trades["symbol"]],
        ["long" if side > 0 else "short" for side in trades["side"]],
        trades["quantity"].tolist(),
        trades["entry_time"].tolist(),
        trades["entry_price"].tolist(),
        trades["exit_time"].tolist(),
        trades["exit_price"].tolist(),
        [EXIT_REASONS[code] for code in trades["reason"]],
        against,
        going_for,
        _known(fills.entry_delay_bars),
        _known(shares),
        net_profits(trades).tolist(),
        (trade_returns(trades) * 100).tolist(),
    )
    return [Row(*row) for row in zip(*columns, strict=True)]


def _known(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
