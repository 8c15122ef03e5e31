"""Days on which a share seems to have been split: it opens at a clean ratio of its last close.

A suggestion is for somebody to look up. It is never applied by itself: a share can lose half of its
price in a night without one.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from apps.engine.candles import Candles, ist_days

RATIOS: Final = tuple(
    Fraction(after, before)
    for after, before in (
        (3, 2), (5, 3), (2, 1), (5, 2), (3, 1), (4, 1), (5, 1), (6, 1), (8, 1), (10, 1), (15, 1),
        (20, 1), (50, 1), (100, 1), (1, 2), (1, 5), (1, 10), (1, 20),
    )
)  # fmt: skip
"""Shares for one: the face values 10, 5, 2 and 1 divide so, and bonuses are given so."""

TOLERANCE: Final = 0.06
"""How far from the ratio the market may open, as a share: it moves overnight too."""

_LONGEST_BREAK: Final = 7
"""Days further apart are no two in a row: much may have happened between them."""


@dataclass(frozen=True, slots=True)
class SplitCandidate:
    """On `day` (a number since 1970) `close` of the day before seems to have become `open`."""

    day: int
    ratio: Fraction
    close: float
    open: float


def find_split_candidates(bars: Candles) -> list[SplitCandidate]:
    """Of a share's bars of a day or less."""
    day = ist_days(bars.time)
    last = np.flatnonzero(np.diff(day))
    close, opened = bars.close[last], bars.open[last + 1]
    fall, near = close / opened, day[last + 1] - day[last] <= _LONGEST_BREAK
    clean = np.array([float(ratio) for ratio in RATIOS])
    # In logarithms, so that two for one is as far from one for one as one for two is.
    apart = np.abs(np.log(fall)[:, None] - np.log(clean)[None, :])
    best = apart.argmin(axis=1) if len(fall) else np.empty(0, dtype=np.intp)
    found = np.flatnonzero(near & (apart.min(axis=1, initial=np.inf) <= np.log1p(TOLERANCE)))
    return [
        SplitCandidate(
            int(day[last[i] + 1]), RATIOS[int(best[i])], float(close[i]), float(opened[i])
        )
        for i in found.tolist()
    ]
