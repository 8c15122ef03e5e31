"""The daily returns of an algorithm in a backtest, to compare its trading with.

The app of backtests is beside that of trading on the ladder, so it registers a function that finds
them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class BacktestedReturns:
    """Daily returns as fractions, and the seed for drawing paths from them."""

    backtest_id: str
    returns: NDArray[np.float64]
    seed: int


Find = Callable[[str, Mapping[str, Any]], BacktestedReturns | None]

_registered: list[Find] = []


def register_returns(find: Find) -> Find:
    """Register the function that finds the returns by the algorithm's id and its steps."""
    _registered.append(find)
    return find


def backtested_returns(algorithm_id: str, steps: Mapping[str, Any]) -> BacktestedReturns | None:
    """Return the returns of the newest backtest of exactly these steps; None without one."""
    return next(filter(None, (find(algorithm_id, steps) for find in _registered)), None)
