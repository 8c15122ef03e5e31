"""The table of candle patterns: its directions and mirrors are TA-Lib's."""

from functools import cache

import numpy as np
import talib

from apps.engine.candles import Candles
from apps.engine.indicators.patterns import (
    BOTH,
    BULLISH,
    PATTERNS,
    Pattern,
    inverted,
    pattern_series,
)
from apps.engine.indicators.series import compute_series


@cache
def random_shapes(count: int) -> Candles:
    """Draw bodies, shadows and gaps of a few exact sizes, so that many patterns come about."""
    rng = np.random.default_rng(1)
    gap = rng.choice([0, 0, 0, -2, -0.5, 0.5, 2], count)
    body = rng.choice([0, 0.25, 0.5, 1, 4, -0.25, -0.5, -1, -4], count)
    opens = 4096 + np.cumsum(gap + np.r_[0, body[:-1]])
    closes = opens + body
    up, down = (rng.choice([0, 0, 0.25, 2, 6], count) for _ in range(2))
    return Candles.build(
        60 * np.arange(count),
        open=opens,
        close=closes,
        volume=np.ones(count),
        high=np.maximum(opens, closes) + up,
        low=np.minimum(opens, closes) - down,
    )


def test_patterns_with_their_own_inverted_name_match_in_an_inverted_market() -> None:
    candles = random_shapes(200_000)
    turned = Candles.build(
        candles.time,
        open=8192 - candles.open,
        high=8192 - candles.low,
        low=8192 - candles.high,
        close=8192 - candles.close,
        volume=candles.volume,
    )
    for name in (
        "CDLMORNINGSTAR",
        "CDLEVENINGDOJISTAR",
        "CDLDRAGONFLYDOJI",
        "CDLDOJI",
        "CDLKICKING",
    ):
        values = compute_series(pattern_series(name), candles)[0]
        inverted_name, sign = inverted(name, 1)
        expected = compute_series(pattern_series(inverted_name), turned)[0]
        assert np.nansum(np.abs(values)) > 0
        np.testing.assert_array_equal(values[20:], sign * expected[20:], err_msg=name)


def test_no_pattern_depends_on_a_later_bar_and_each_mirrors_back() -> None:
    candles = random_shapes(300)
    for name in PATTERNS:
        (whole,) = compute_series(pattern_series(name), candles)
        for bars in (40, 150, 299):
            (part,) = compute_series(pattern_series(name), candles.slice(0, bars))
            assert part.tobytes() == whole[:bars].tobytes(), name
        assert inverted(*inverted(name, 1)) == (name, 1)


def test_the_table_has_every_pattern_of_talib() -> None:
    functions = talib.get_function_groups()  # type: ignore[no-untyped-call]
    assert list(PATTERNS) == functions["Pattern Recognition"]
    assert {row.opposite for row in PATTERNS.values()} <= set(PATTERNS)


def test_a_pattern_has_the_directions_that_its_row_says() -> None:
    drawn = {name: directions(row) for name, row in PATTERNS.items()}
    assert drawn == {name: row.directions or BULLISH for name, row in PATTERNS.items()}


def directions(row: Pattern) -> tuple[str, ...]:
    """Return the directions in which a pattern is seen; one without a direction counts as
    bullish.
    """
    (signs,) = compute_series(pattern_series(row.name), random_shapes(200_000))
    seen = (bool((signs > 0).any()), bool((signs < 0).any()))
    return tuple(name for name, is_seen in zip(BOTH, seen, strict=True) if is_seen)
