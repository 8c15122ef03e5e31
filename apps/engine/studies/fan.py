"""The spread of a Monte Carlo's paths from trade to trade, for a chart.

The paths are additional ones, drawn by NumPy in the same way as the study's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.studies.configs import MonteCarloConfig
from apps.engine.units import Unit, each_rounded

Floats = NDArray[np.float64]

FAN_PATHS: Final = MonteCarloConfig.FAN_PATHS
MOST_POINTS: Final = 100
FAN_PERCENTILES: Final = (5, 25, 50, 75, 95)
_DRAWS_AT_A_TIME: Final = 2_000_000


def fan(
    profits: Floats, *, capital: float, method: str, block: int, seed: int
) -> dict[str, object]:
    """Return percentiles of equity after these numbers of `trades`, and the equity `asTraded`,
    rupees.
    """
    points = np.unique(np.linspace(0, len(profits), MOST_POINTS + 1).astype(int))
    drawn = np.empty((FAN_PATHS, len(points)))
    row = 0
    for orders in _orders(len(profits), method=method, block=block, seed=seed):
        drawn[row : row + len(orders)] = _equity(profits[orders], capital)[:, points]
        row += len(orders)
    bands = np.percentile(drawn, FAN_PERCENTILES, axis=0)
    traded = _equity(profits[np.newaxis], capital)[0, points]
    return {
        "trades": points.tolist(),
        **{
            f"p{percent}": each_rounded(band, Unit.RUPEES)
            for percent, band in zip(FAN_PERCENTILES, bands, strict=True)
        },
        "asTraded": each_rounded(traded, Unit.RUPEES),
    }


def _equity(profits: Floats, capital: float) -> Floats:
    """Return the equity of each path, from the capital on."""
    begin = np.full((len(profits), 1), capital)
    return np.cumsum(np.concatenate([begin, profits], axis=1), axis=1)


def _orders(trades: int, *, method: str, block: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield the trades of FAN_PATHS paths, some paths at a time."""
    random = np.random.default_rng(seed)
    paths = min(max(_DRAWS_AT_A_TIME // trades, 1), FAN_PATHS)
    for first in range(0, FAN_PATHS, paths):
        count = min(paths, FAN_PATHS - first)
        if method == "shuffle":
            yield random.permuted(np.tile(np.arange(trades), (count, 1)), axis=1)
            continue
        length = block if method == "block_bootstrap" else 1
        starts = random.integers(trades, size=(count, -(-trades // length)))
        runs = (starts[:, :, np.newaxis] + np.arange(length)) % trades
        yield runs.reshape(count, -1)[:, :trades]
