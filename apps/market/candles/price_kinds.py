"""The kind of prices, as traded or adjusted by their source, proven by corporate actions.

On the ex-date of a split or bonus the price of a share falls by the ratio if prices are as traded,
and does not if they were adjusted. A simultaneous move of the market may hide a small ratio.
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

from apps.engine.candles import Candles
from apps.market.candles.adjustment import RatioChange

# The tolerance for a fall or a level price, as a share of the ratio, in logarithms.
_TOLERANCE: Final = 0.35
# Days further apart are not consecutive: much may have happened between them.
_LONGEST_BREAK: Final = 7


class PriceKind(StrEnum):
    """Prices as traded, or as adjusted by their source."""

    RAW = "raw"
    ADJUSTED = "adjusted"


@dataclass(frozen=True, slots=True)
class PriceProof:
    """The ex-dates (numbers since 1970) inside a series: on `falls` its prices fall by the ratio,
    on `level` they do not, and on `unclear` bars are too far apart or the prices are in between.
    """

    falls: tuple[int, ...] = ()
    level: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()

    @property
    def kind(self) -> PriceKind | None:
        """Return the kind of the series, None without proof or with contradicting proofs."""
        if bool(self.falls) == bool(self.level):
            return None
        return PriceKind.RAW if self.falls else PriceKind.ADJUSTED


def compare_with_changes(candles: Candles, changes: Iterable[RatioChange]) -> PriceProof:
    """Compare bars (of a day or less) with the splits and bonuses between the first and last."""
    ratios: dict[int, Fraction] = defaultdict(lambda: Fraction(1))
    for change in changes:
        ratios[change.day] *= change.ratio
    days = candles.days
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
