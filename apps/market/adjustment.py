"""Prices of one share across its splits and bonuses, all in the terms of one day.

Stored prices are as traded. On the day from which a split counts (the ex-date) one share becomes
`ratio` shares, so a bar of an earlier day has its prices divided and its volume multiplied by the
ratios of all such days after it, up to the day in whose terms the prices are wanted.
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
    """One share of before `day` (a number since 1970, Asia/Kolkata) is `ratio` shares from then."""

    day: int
    ratio: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Adjustment:
    """`days` i4[k] ascending; bars of days[i-1] up to days[i] have factors[i] f8[k+1]."""

    days: Days
    factors: NDArray[np.float64]

    @classmethod
    def to(cls, newest: int, changes: Iterable[RatioChange]) -> "Adjustment":
        """Into the terms of the day `newest`: changes after it are left out."""
        known = sorted((one for one in changes if one.day <= newest), key=lambda one: one.day)
        ratios = [one.ratio for one in reversed(known)]
        factors = [*accumulate(ratios, mul, initial=Fraction(1))]
        return cls(
            np.array([one.day for one in known], dtype=np.int32),
            np.array([float(factor) for factor in reversed(factors)]),
        )

    def apply(self, candles: Candles) -> Candles:
        """The bars with their prices and volumes adjusted."""
        if not len(candles) or not len(self.days) or ist_day(candles.time[:1])[0] >= self.days[-1]:
            return candles
        place = np.searchsorted(self.days, ist_day(candles.time), side="right")
        factor = self.factors[place]
        return Candles.build(
            candles.time,
            open=candles.open / factor,
            high=candles.high / factor,
            low=candles.low / factor,
            close=candles.close / factor,
            volume=candles.volume * factor,
        )

    def crossed_by_week(self, candles: Candles) -> NDArray[np.bool_]:
        """Which week bars have days on both sides of a change: their prices are of two kinds."""
        monday = ist_day(candles.time)
        before = np.searchsorted(self.days, monday, side="right")
        after = np.searchsorted(self.days, monday + _WEEK - 1, side="right")
        return np.asarray(before != after)


UNADJUSTED: Final = Adjustment.to(0, ())
