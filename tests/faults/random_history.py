"""Two years of random minutes in the sessions of the exchange."""

import zlib
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles
from apps.market import services
from apps.market.rulebook.sessions import sessions_of

SYMBOLS: Final = tuple(f"NSE:WALK{letter}" for letter in "ABCDEFGHIJKL")
FIRST, LAST = "2024-01-01", "2025-12-31"
NOW: Final = datetime(2026, 11, 2, 4, 0, tzinfo=UTC)


def store_random_walks() -> None:
    """Store the minutes of every symbol."""
    for symbol in SYMBOLS:
        services.append(symbol=symbol, timeframe="1m", candles=_walk(symbol), now=NOW)


def _walk(symbol: str) -> Candles:
    rng = np.random.default_rng(zlib.crc32(symbol.encode()))
    times = _minutes(symbol)
    close = np.round(1000 * np.exp(np.cumsum(rng.normal(0, 0.0004, len(times)))), 2)
    opened = np.r_[close[:1], close[:-1]]
    return Candles.build(
        times,
        open=opened,
        high=np.maximum(opened, close),
        low=np.minimum(opened, close),
        close=close,
        volume=rng.integers(1, 5000, len(times)),
    )


def _minutes(symbol: str) -> NDArray[np.int64]:
    sessions = sessions_of(symbol)
    span = np.arange(np.datetime64(FIRST), np.datetime64(LAST) + 1).astype(np.int64)
    days = span.astype(np.int32)
    opens, closes = sessions.hours(days[sessions.is_session(days)])
    return np.concatenate([np.arange(o, c, 60) for o, c in zip(opens, closes, strict=True)])
