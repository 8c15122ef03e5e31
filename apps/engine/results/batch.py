"""Result data of many simulations: a search computes its figures for all at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.kernel.records import Array
from apps.engine.results.equity import Curve, returns_of
from apps.engine.results.result_data import ResultData
from apps.engine.results.sharpe import sharpe_ratios
from apps.engine.results.trade_figures import net_profits

NO_FLAGS: Final = np.empty(0, np.uint8)


class SimulationCurve(NamedTuple):
    """The curve of a simulation, and its points at the ends of days, if known."""

    curve: Curve
    day_ends: NDArray[np.int64] | None


def result_data_of(
    trades: Array,
    ends: Sequence[int],
    curves: Sequence[SimulationCurve],
    capital: float,
    candles: Sequence[Candles],
    *,
    by_limit: bool = False,
    flags: NDArray[np.uint8] = NO_FLAGS,
) -> list[ResultData]:
    """Return the data of each simulation, as if it were alone; `ends` are the ends of its
    trades.
    """
    profit, bounds = net_profits(trades), [0, *ends]
    gains, losses = np.flatnonzero(profit > 0), np.flatnonzero(profit < 0)
    won, lost = profit[gains], -profit[losses]
    slices = (
        [slice(*pair) for pair in pairwise(counts)]
        for counts in (
            bounds,
            gains.searchsorted(bounds).tolist(),
            losses.searchsorted(bounds).tolist(),
        )
    )
    results = []
    for rows, winners, losers, (curve, day_ends) in zip(*slices, curves, strict=True):
        result = ResultData(trades[rows], curve, capital, candles, day_ends, by_limit, flags)
        vars(result).update(profit=profit[rows], won=won[winners], lost=lost[losers])
        results.append(result)
    return results


def fill_in_returns(results: Sequence[ResultData]) -> None:
    """Compute the daily returns, and their ratio, for results with only points at ends of days."""
    by_length = defaultdict[int, list[ResultData]](list)
    for result in results:
        if result.day_ends is not None and len(result.day_ends) == len(result.curve["time"]):
            by_length[len(result.day_ends)].append(result)
    for points, alike in by_length.items():
        held = np.empty((len(alike), 1 + points))
        held[:, 0], held[:, 1:] = alike[0].capital, [result.curve["equity"] for result in alike]
        sound = np.flatnonzero(held[:, :-1].min(axis=1) > 0)
        returns = returns_of(held[sound])
        for k, daily, ratio in zip(sound, returns, sharpe_ratios(returns), strict=True):
            vars(alike[k]).update(daily=daily, sharpe=ratio)
