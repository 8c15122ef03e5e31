"""Prices of one share across its corporate actions, adjusted to one day.

Stored prices are as traded. On the ex-date of a split one share becomes `ratio` shares. A bar of an
earlier day has its prices divided and its volume multiplied by the ratios of all later ex-dates, up
to the day of the adjustment. Rights and demergers take a part of the price and leave the number of
shares: only prices are multiplied, by their factor.
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
    """A change from `day` on (a number since 1970, Asia/Kolkata): one old share is `ratio` shares,
    and earlier prices are multiplied by `price_factor` to compare with later ones.
    """

    day: int
    ratio: Fraction = Fraction(1)
    price_factor: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, eq=False)
class Adjustment:
    """The divisors of a share's prices and the factors of its volume, for bars from days[i-1] up to
    days[i].

    `days` i4[k] are ascending, `divisors` and `volume_factors` are f8[k+1].
    """

    days: Days
    divisors: NDArray[np.float64]
    volume_factors: NDArray[np.float64]

    @classmethod
    def to(cls, newest: int, changes: Iterable[RatioChange]) -> "Adjustment":
        """Return the adjustment to the day `newest`; later changes are left out."""
        known = sorted(
            (change for change in changes if change.day <= newest), key=lambda change: change.day
        )
        newest_first = known[::-1]
        return cls(
            np.array([change.day for change in known], dtype=np.int32),
            _products(change.ratio / change.price_factor for change in newest_first),
            _products(change.ratio for change in newest_first),
        )

    def apply(self, candles: Candles) -> Candles:
        """Return the bars with their prices and volumes adjusted."""
        if not len(candles) or not len(self.days) or ist_day(candles.time[:1])[0] >= self.days[-1]:
            return candles
        index = np.searchsorted(self.days, ist_day(candles.time), side="right")
        divisor = self.divisors[index]
        return Candles.build(
            candles.time,
            open=candles.open / divisor,
            high=candles.high / divisor,
            low=candles.low / divisor,
            close=candles.close / divisor,
            volume=candles.volume * self.volume_factors[index],
        )

    def crossed_by_week(self, candles: Candles) -> NDArray[np.bool_]:
        """Return the week bars with days on both sides of a change: their prices are mixed."""
        monday = ist_day(candles.time)
        before = np.searchsorted(self.days, monday, side="right")
        after = np.searchsorted(self.days, monday + _WEEK - 1, side="right")
        return np.asarray(before != after)


def _products(ratios: Iterable[Fraction]) -> NDArray[np.float64]:
    """Return the products of the first ratios, with most of them first and none of them last."""
    products = [*accumulate(ratios, mul, initial=Fraction(1))]
    return np.array([float(product) for product in reversed(products)])


UNADJUSTED: Final = Adjustment.to(0, ())
