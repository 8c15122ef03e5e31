"""Candle patterns: TA-Lib's, with the mirror of each.

TA-Lib says at each bar whether the pattern ends there: above 0 a bullish one, below 0 a bearish
one. Turned upside down most patterns are themselves with the other sign; some have another name
there, some say nothing of direction and keep their sign. What is left has one direction alone and
is never seen in the other.
"""

from __future__ import annotations

import talib

from apps.engine.series import Series

PATTERNS: tuple[str, ...] = tuple(talib.get_function_groups()["Pattern Recognition"])  # type: ignore[no-untyped-call]

_PAIRS = (
    ("CDLMORNINGSTAR", "CDLEVENINGSTAR"),
    ("CDLMORNINGDOJISTAR", "CDLEVENINGDOJISTAR"),
    ("CDLPIERCING", "CDLDARKCLOUDCOVER"),
    ("CDL3WHITESOLDIERS", "CDL3BLACKCROWS"),
    ("CDLHAMMER", "CDLSHOOTINGSTAR"),
    ("CDLINVERTEDHAMMER", "CDLHANGINGMAN"),
    ("CDLDRAGONFLYDOJI", "CDLGRAVESTONEDOJI"),
)
_OPPOSITES = dict(_PAIRS) | {there: here for here, there in _PAIRS}
_WITHOUT_DIRECTION = frozenset(
    {
        "CDLDOJI", "CDLLONGLEGGEDDOJI", "CDLRICKSHAWMAN", "CDLDRAGONFLYDOJI",
        "CDLGRAVESTONEDOJI",
    }
)  # fmt: skip


def pattern_series(pattern: str) -> Series:
    return Series(pattern, ("open", "high", "low", "close"), ())


def mirrored(pattern: str, sign: int) -> tuple[str, int]:
    """The pattern and the sign that a market upside down shows in place of these."""
    return _OPPOSITES.get(pattern, pattern), sign if pattern in _WITHOUT_DIRECTION else -sign
