"""The figures of a result, broken down: by group, by month, and the trades that mattered most.

`trades` are TRADE records, `curve` CURVE records, as the engine left them; amounts are rupees,
profits net of charges.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import IST, ist_day
from apps.engine.reasons import EXIT_REASONS
from apps.engine.records import Array
from apps.engine.trade_figures import net_profits, trade_returns

WEEKDAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
SIDES: Final = ("long", "short")
LARGEST: Final = 10


class Group(NamedTuple):
    """Trades that have something in common; `share`: its profit in percent of the largest, by size,
    of all groups of the table.
    """

    name: str
    trades: int
    won: int
    lost: int
    profit: float
    charges: float
    share: float

    @property
    def win_rate(self) -> float | None:
        """Percent of those that won or lost."""
        decided = self.won + self.lost
        return self.won / decided * 100 if decided else None

    @property
    def width(self) -> float:
        return abs(self.share)

    @property
    def average(self) -> float:
        return self.profit / self.trades


def by_symbol(trades: Array, symbols: Sequence[str]) -> list[Group]:
    return _groups(trades, trades["symbol"], symbols)


def by_weekday(trades: Array) -> list[Group]:
    """The weekday of the entry in Asia/Kolkata; 1970-01-01 was a Thursday."""
    return _groups(trades, (ist_day(trades["entry_time"]) + 3) % 7, WEEKDAYS)


def by_reason(trades: Array) -> list[Group]:
    return _groups(trades, trades["reason"], EXIT_REASONS)


def by_side(trades: Array) -> list[Group]:
    return _groups(trades, (trades["side"] < 0).astype(np.int64), SIDES)


def _groups(trades: Array, place: NDArray[np.integer], names: Sequence[str]) -> list[Group]:
    """One for each name that any trade has, in the order of the names."""
    profit = net_profits(trades)
    size = len(names)
    counts, won, lost, sums, charges = (
        np.bincount(place, weights=weights, minlength=size)
        for weights in (None, profit > 0, profit < 0, profit, trades["charges"])
    )
    largest = max(np.abs(sums).max(initial=0.0), 1e-9)
    return [
        Group(
            names[i], int(counts[i]), int(won[i]), int(lost[i]),
            float(sums[i]), float(charges[i]), float(sums[i] / largest * 100),
        )
        for i in np.flatnonzero(counts).tolist()
    ]  # fmt: skip


class Year(NamedTuple):
    """Returns of equity in percent: twelve months, None where the range has no bar, and the whole
    year.
    """

    year: int
    months: list[float | None]
    total: float


def by_month(curve: Array, capital: float) -> list[Year]:
    """From the last close before a month, or the capital, to its own last close (Asia/Kolkata)."""
    if not len(curve):
        return []
    month = (curve["time"] + IST).astype("M8[s]").astype("M8[M]").astype(np.int64)
    last = np.flatnonzero(np.diff(month, append=month[-1] + 1))
    closes = np.concatenate([[capital], curve["equity"][last]])
    months: dict[int, dict[int, float]] = defaultdict(dict)
    begun: dict[int, float] = {}
    totals: dict[int, float] = {}
    for place, (before, after) in zip(month[last].tolist(), pairwise(closes.tolist()), strict=True):
        year, number = 1970 + place // 12, place % 12
        begun.setdefault(year, before)
        months[year][number] = _change(before, after)
        totals[year] = _change(begun[year], after)
    return [
        Year(year, [found.get(number) for number in range(12)], totals[year])
        for year, found in months.items()
    ]


def _change(before: float, after: float) -> float:
    """Percent; of nothing, nothing can be lost any more."""
    return (after / before - 1) * 100 if before > 0 else 0.0


class Row(NamedTuple):
    """One trade as the report lists it; times are epoch seconds."""

    symbol: str
    side: str
    quantity: float
    entry_time: int
    entry_price: float
    exit_time: int
    exit_price: float
    reason: str
    profit: float
    percent: float


def largest_wins(trades: Array, symbols: Sequence[str]) -> list[Row]:
    """Largest first."""
    profit = net_profits(trades)
    order = np.argsort(-profit, kind="stable")[:LARGEST]
    return _rows(trades[order[profit[order] > 0]], symbols)


def largest_losses(trades: Array, symbols: Sequence[str]) -> list[Row]:
    """Largest first."""
    profit = net_profits(trades)
    order = np.argsort(profit, kind="stable")[:LARGEST]
    return _rows(trades[order[profit[order] < 0]], symbols)


def _rows(trades: Array, symbols: Sequence[str]) -> list[Row]:
    columns = (
        [symbols[place] for place in trades["symbol"]],
        [SIDES[int(side < 0)] for side in trades["side"]],
        trades["quantity"].tolist(),
        trades["entry_time"].tolist(),
        trades["entry_price"].tolist(),
        trades["exit_time"].tolist(),
        trades["exit_price"].tolist(),
        [EXIT_REASONS[code] for code in trades["reason"]],
        net_profits(trades).tolist(),
        (trade_returns(trades) * 100).tolist(),
    )
    return [Row(*row) for row in zip(*columns, strict=True)]
