"""Prices of one share across its splits and bonuses, adjusted to one day.

Stored prices are as traded. On the day from which a split counts (the ex-date) one share becomes
`ratio` shares. A bar of an earlier day has its prices divided and its volume multiplied by the
ratios of all such days after it, up to the day to which prices are adjusted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles, ist_day

Days = NDArray[np.int32]

_WEEK: Final = 7


@dataclass(frozen=True, slots=True)
class RatioChange:
    """From `day` on (a number since 1970, Asia/Kolkata) one old share is `ratio` shares."""

    day: int
    ratio: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Adjustment:
    """The factors of a share's prices: bars from days[i-1] up to days[i] have factors[i].

    `days` i4[k] are ascending, `factors` are f8[k+1].
    """

    days: Days
    factors: NDArray[np.float64]

    @classmethod
    def to(cls, newest: int, changes: Iterable[RatioChange]) -> "Adjustment":
        """Return the adjustment to the day `newest`; later changes are left out."""
        known = sorted(
            (change for change in changes if change.day <= newest), key=lambda change: change.day
        )
        ratios = [change.ratio for change in reversed(known)]
        factors = [*accumulate(ratios, mul, initial=Fraction(1))]
        return cls(
            np.array([change.day for change in known], dtype=np.int32),
            np.array([float(factor) for factor in reversed(factors)]),
        )

    def apply(self, candles: Candles) -> Candles:
        """Return the bars with their prices and volumes adjusted."""
        if not len(candles) or not len(self.days) or ist_day(candles.time[:1])[0] >= self.days[-1]:
            return candles
        index = np.searchsorted(self.days, ist_day(candles.time), side="right")
        factor = self.factors[index]
        return Candles.build(
            candles.time,
            open=candles.open / factor,
            high=candles.high / factor,
            low=candles.low / factor,
            close=candles.close / factor,
            volume=candles.volume * factor,
        )

    def crossed_by_week(self, candles: Candles) -> NDArray[np.bool_]:
        """Return which week bars have days on both sides of a change: their prices are mixed."""
        monday = ist_day(candles.time)
        before = np.searchsorted(self.days, monday, side="right")
        after = np.searchsorted(self.days, monday + _WEEK - 1, side="right")
        return np.asarray(before != after)


UNADJUSTED: Final = Adjustment.to(0, ())
