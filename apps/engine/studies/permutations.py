"""The permutation test of timing: would entries at other times have done as well?

Each symbol's positions are laid anew over its bars: equally many and long, on the same sides and of
the same values, in any order and with any gaps of the same total. The market's effect on everybody
stays: in a rising market random long positions gain too. (The test of Fisher, "The Design of
Experiments", 1935; for trading rules: Aronson, "Evidence-Based Technical Analysis", 2006, chapter
5.)
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles, ist_day
from apps.engine.kernel.jit import entry_point, step
from apps.engine.results.trade_bars import SymbolTrades
from apps.engine.studies.monte_carlo import GOLDEN, below, mixed

Floats = NDArray[np.float64]

PERMUTATIONS: Final = 1_000
LEAST_FREE: Final = 20
"""Bars without a position: with fewer one has too few places for any to be the best by luck."""
_11: Final = np.uint64(11)


class Positions(NamedTuple):
    """The positions of one symbol: the number of bars of each, its rupees at the entry, negative
    when short, and the number of bars without a position.
    """

    bars: NDArray[np.int64]
    values: Floats
    free: int


class TimingTest(NamedTuple):
    """`gross` is the rupees that the positions made before charges, `permuted` the rupees at random
    places. `p_value` is the share of all of these, including the real one, that made at least as
    much.
    """

    gross: float
    permuted: Floats
    p_value: float

    @property
    def z_value(self) -> float:
        """The p-value as a value of the normal distribution, half a draw from its ends."""
        least = 0.5 / (PERMUTATIONS + 1)
        return -NormalDist().inv_cdf(min(self.p_value, 1 - least))


@step
def waited(drawn: np.uint64) -> float:
    """Return a draw of the exponential distribution."""
    return float(-np.log(((drawn >> _11) + 0.5) * 2.0**-53))


@entry_point
def place_at_random(
    opens: Floats, closes: Floats, positions: Positions, seed: np.uint64, gross: Floats
) -> None:
    """Add to each of `gross` the result of positions at random places: entered at an open, left at
    the close of the last of their bars.
    """
    size, bars = np.uint64(positions.bars.size), positions.bars
    order, gaps = np.empty(bars.size, np.uint64), np.empty(bars.size)
    for number in range(gross.size):
        state = seed ^ mixed(np.uint64(number + 1) * GOLDEN)
        for k in range(size):
            order[k] = k
        elapsed = 0.0
        for k in range(size):  # Durstenfeld 1964; gaps are spacings of uniform places
            state += GOLDEN
            j = k + below(size - k, mixed(state))
            order[k], order[j] = order[j], order[k]
            state += GOLDEN
            elapsed += waited(mixed(state))
            gaps[k] = elapsed
        state += GOLDEN
        places = (positions.free + 1) / (elapsed + waited(mixed(state)))
        held = 0
        for k in range(bars.size):
            position = order[k]
            entry = held + np.int64(gaps[k] * places)
            held += bars[position]
            close = closes[entry + bars[position] - 1]
            gross[number] += positions.values[position] * (close / opens[entry] - 1)


def timing_test(
    by_symbol: Sequence[SymbolTrades], *, slippage: float = 0.0, intraday: bool, seed: int
) -> TimingTest | None:
    """Return the test of all trades; None if a symbol has fewer than LEAST_FREE bars without a
    position.

    `slippage` (a fraction) is paid at both ends of a random position too. For an `intraday`
    strategy random positions do not earn the moves between two dates.
    """
    permuted, gross, seeds = np.zeros(PERMUTATIONS), 0.0, np.random.default_rng(seed)
    for trades in by_symbol:
        bars = trades.trades["bars"].astype(np.int64)
        values = trades.trades["value"] * trades.trades["side"]
        free = len(trades.candles) - int(bars.sum())
        if free < LEAST_FREE:
            return None
        opens, closes = tradable_prices(trades.candles, intraday=intraday)
        positions = Positions(bars, values, free)
        place_at_random(opens, closes, positions, seeds.integers(2**63, dtype=np.uint64), permuted)
        permuted -= 2 * slippage * float(np.abs(values).sum())
        gross += float(trades.trades["gross"].sum())
    as_good = int(np.count_nonzero(permuted >= gross))
    return TimingTest(gross, permuted, (as_good + 1) / (PERMUTATIONS + 1))


def tradable_prices(candles: Candles, *, intraday: bool) -> tuple[Floats, Floats]:
    """Return opens and closes; intraday without moves from one date to the next."""
    opens, closes = np.ascontiguousarray(candles.open), np.ascontiguousarray(candles.close)
    if not intraday:
        return opens.copy(), closes.copy()
    nights = np.flatnonzero(np.diff(ist_day(candles.time))) + 1
    jumps = np.ones(len(opens))
    jumps[nights] = closes[nights - 1] / opens[nights]
    factors = np.cumprod(jumps)
    return opens * factors, closes * factors


def warm_up() -> None:
    """Compile, or load from the cache."""
    positions = Positions(np.ones(1, np.int64), np.ones(1), 1)
    place_at_random(np.ones(2), np.ones(2), positions, np.uint64(0), np.zeros(1))
