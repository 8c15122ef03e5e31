"""Result data of many plays: what a search reads of each is worked out for all in a few passes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.engine.kernel.records import Array
from apps.engine.metrics.equity import Curve, returns_of
from apps.engine.metrics.result_data import ResultData
from apps.engine.metrics.sharpe import sharpe_ratios
from apps.engine.metrics.trades import net_profits

NO_FLAGS: Final = np.empty(0, np.uint8)


class Told(NamedTuple):
    """The curve of a play, and the points of it that end days, where they are known."""

    curve: Curve
    day_ends: NDArray[np.int64] | None


def facts_of(
    trades: Array, ends: Sequence[int], told: Sequence[Told], capital: float,
    candles: Sequence[Candles], *, by_limit: bool = False,
    flags: NDArray[np.uint8] = NO_FLAGS,
) -> list[ResultData]:  # fmt: skip
    """One of each play, as if it were alone; its trades end at its place in `ends`."""
    profit = net_profits(trades)
    gains, losses = profit > 0, profit < 0
    won, lost = profit[gains], -profit[losses]
    bounds = pairwise([0, *ends])
    of_won, of_lost = (pairwise(_counted(one, ends)) for one in (gains, losses))
    found = []
    for of_all, of_gains, of_losses, one in zip(bounds, of_won, of_lost, told, strict=True):
        facts = ResultData(
            trades[slice(*of_all)], one.curve, capital, candles, one.day_ends, by_limit, flags
        )
        known = profit[slice(*of_all)], won[slice(*of_gains)], lost[slice(*of_losses)]
        vars(facts).update(zip(("profit", "won", "lost"), known, strict=True))
        found.append(facts)
    return found


def _counted(chosen: NDArray[np.bool_], ends: Sequence[int]) -> list[int]:
    """How many are chosen before 0 and before each end."""
    counts: list[int] = np.append(0, np.cumsum(chosen))[[0, *ends]].tolist()
    return counts


def know_returns(facts: Sequence[ResultData]) -> None:
    """Work out the daily returns, and their ratio, of those whose points all end days."""
    alike = defaultdict[int, list[ResultData]](list)
    for one in facts:
        if one.day_ends is not None and len(one.day_ends) == len(one.curve["time"]):
            alike[len(one.day_ends)].append(one)
    for points, some in alike.items():
        held = np.empty((len(some), 1 + points))
        held[:, 0], held[:, 1:] = some[0].capital, [one.curve["equity"] for one in some]
        sound = np.flatnonzero(held[:, :-1].min(axis=1) > 0)
        returns = returns_of(held[sound])
        for k, daily, ratio in zip(sound, returns, sharpe_ratios(returns), strict=True):
            vars(some[k]).update(daily=daily, sharpe=ratio)
