"""Whether prices are as traded or were adjusted by their source, as corporate actions prove it.

On the ex-date of a split or bonus the price of a share falls by the ratio if prices are as traded,
and not if they were adjusted. A move of the market beside it may hide a small ratio.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles, ist_days
from apps.market.candles.adjustment import RatioChange

# Share of the ratio, in logarithms, by which a price may miss a fall or a level price.
_TOLERANCE: Final = 0.35
# Days further apart are not consecutive: much may have happened between them.
_LONGEST_BREAK: Final = 7


class PriceKind(StrEnum):
    """Prices as traded, or as their source adjusted them."""

    RAW = "raw"
    ADJUSTED = "adjusted"


@dataclass(frozen=True, slots=True)
class PriceProof:
    """The ex-dates (numbers since 1970) inside a series: on `falls` its prices fall by the ratio,
    on `level` they do not, and on `unclear` bars lie too far apart or between both.
    """

    falls: tuple[int, ...] = ()
    level: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()

    @property
    def kind(self) -> PriceKind | None:
        """What the series is, None where nothing proves it or proofs contradict each other."""
        if bool(self.falls) == bool(self.level):
            return None
        return PriceKind.RAW if self.falls else PriceKind.ADJUSTED


def compare_with_changes(candles: Candles, changes: Iterable[RatioChange]) -> PriceProof:
    """Compare bars (of a day or less) with the splits and bonuses between the first and last."""
    ratios: dict[int, Fraction] = defaultdict(lambda: Fraction(1))
    for change in changes:
        ratios[change.day] *= change.ratio
    days = ist_days(candles.time)
    seen: dict[str, list[int]] = {"falls": [], "level": [], "unclear": []}
    for day, ratio in sorted(ratios.items()):
        first = int(np.searchsorted(days, day))
        if ratio != 1 and 0 < first < len(days):
            seen[_on_ex_date(candles, days, first, float(ratio))].append(day)
    return PriceProof(**{name: tuple(seen[name]) for name in seen})


def _on_ex_date(candles: Candles, days: NDArray[np.int32], first: int, ratio: float) -> str:
    if days[first] - days[first - 1] > _LONGEST_BREAK:
        return "unclear"
    fall = log(candles.close[first - 1] / candles.open[first]) / log(ratio)
    if abs(fall - 1) <= _TOLERANCE:
        return "falls"
    return "level" if abs(fall) <= _TOLERANCE else "unclear"
