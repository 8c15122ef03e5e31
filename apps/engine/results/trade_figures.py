"""Figures of a list of trades: each formula alone, on plain columns.

`won` and `lost` are the profits of the winning trades and, as amounts above 0, the losses of the
others, in rupees net of charges. A ratio with an empty denominator is None, never NaN or infinite.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.records import Array
from apps.engine.results.equity import NEGLIGIBLE
from apps.engine.results.sharpe import sharpe_ratio

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

SECONDS_AN_HOUR = 3600


def net_profits(trades: Array) -> Floats:
    """Return the rupees of each trade, after charges; 0 if only NEGLIGIBLE of its value is left."""
    profits: Floats = trades["gross"] - trades["charges"]
    profits[np.abs(profits) <= NEGLIGIBLE * trades["value"]] = 0.0
    return profits


def trade_returns(trades: Array) -> Floats:
    """Return profit over average entry x quantity x contract multiplier, a fraction (rule 15)."""
    returns: Floats = net_profits(trades) / trades["value"]
    return returns


def total(amounts: NDArray[np.number]) -> float:
    return float(np.add.reduce(amounts))


def ratio(part: float, whole: float) -> float | None:
    """Return the quotient; None if the divisor is 0."""
    return part / whole if whole else None


def win_rate(won: Floats, lost: Floats) -> float | None:
    """Return winningTrades / totalTrades x 100; trades without profit or loss count on neither
    side.
    """
    share = ratio(len(won), len(won) + len(lost))
    return None if share is None else share * 100


def risk_reward(won: Floats, lost: Floats) -> float | None:
    """Return averageWin / averageLoss; None without winners or without losers."""
    if not len(won) or not len(lost):
        return None
    return float(won.mean() / lost.mean())


def expectancy(won: Floats, lost: Floats) -> float | None:
    """Return winRate x averageWin - lossRate x averageLoss: rupees a trade."""
    return ratio(total(won) - total(lost), len(won) + len(lost))


def expectancy_ratio(won: Floats, lost: Floats) -> float | None:
    """Return expectancy over the average loss: rupees earned for each rupee risked (freqtrade).

    None without winners or without losers.
    """
    rewarded, share = risk_reward(won, lost), win_rate(won, lost)
    return None if rewarded is None or share is None else (1 + rewarded) * share / 100 - 1


def kelly_share(won: Floats, lost: Floats) -> float | None:
    """Return the percent of the capital that grows it fastest: W - (1 - W) / R, W the share of
    winners and R averageWin over averageLoss (Kelly 1956, as in backtesting.py); below 0, bet
    nothing. None without winners or without losers.
    """
    rewarded, share = risk_reward(won, lost), win_rate(won, lost)
    return None if rewarded is None or share is None else share - (100 - share) / rewarded


def system_quality(profit: Floats) -> float | None:
    """Return Van Tharp's SQN: sqrt(trades) x mean profit over its sample deviation.

    None for fewer than two trades, or if all profits are equal.
    """
    quality = sharpe_ratio(profit)
    return None if quality is None else quality * float(len(profit) ** 0.5)


def mean(values: NDArray[np.number]) -> float | None:
    """Return the mean; None without values."""
    return total(values) / len(values) if len(values) else None


def median(values: Floats) -> float | None:
    """Return the median; None without values."""
    if not len(values):
        return None
    middle = (len(values) - 1) // 2, len(values) // 2
    return float(np.partition(values, middle)[list(middle)].sum() / 2)


def largest(values: NDArray[np.number]) -> float | None:
    """Return the largest value; None for no values."""
    return float(values.max()) if len(values) else None


def holding_hours(trades: Array) -> Floats:
    """Return the hours from the start of the entry's bar to the start of the exit's, including
    nights and holidays.
    """
    hours: Floats = (trades["exit_time"] - trades["entry_time"]) / SECONDS_AN_HOUR
    return hours


def turnover(trades: Array) -> float:
    """Return the rupees bought and sold: the value of each position at its entry and at
    its exit.
    """
    value = trades["value"]
    return float((value + value / trades["entry_price"] * trades["exit_price"]).sum())


def longest_run(truth: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of true trades."""
    ends = np.flatnonzero(~np.concatenate([[False], truth, [False]]))
    return int(np.diff(ends).max()) - 1


def exposed_percent(first: Indices, end: Indices, rows: int) -> float:
    """Return the percent of rows with a position open for any part (as in backtesting.py).

    Each trade was open in the rows from `first` to before `end`.
    """
    order = np.argsort(first, kind="stable")
    begins, ends = first[order], end[order]
    before = np.maximum.accumulate(np.concatenate([[0], ends[:-1]]))
    held = np.maximum(ends - np.maximum(begins, before), 0)
    return float(held.sum() / rows * 100)
