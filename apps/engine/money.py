"""Prices and rupees as people write them: what binary fractions owe is not told."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

DECIMALS: Final = 4
"""On the wire: a hundredth of a paisa, below which there is nothing but binary fractions."""


def rupees(amount: float) -> float:
    return round(amount, DECIMALS)


def all_rupees(amounts: NDArray[np.float64]) -> list[float]:
    written: list[float] = np.round(amounts, DECIMALS).tolist()
    return written
