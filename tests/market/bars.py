"""Small series for tests: minutes of a session, days, and files of them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from apps.engine.candles import Candles
from apps.market import services
from apps.market.candles import writing

NOW = datetime(2026, 11, 2, 4, 0, tzinfo=UTC)


def at(text: str) -> int:
    """Epoch seconds of a moment in Asia/Kolkata such as 2024-01-01 09:15."""
    return int(datetime.fromisoformat(text + "+05:30").timestamp())


def flat_candles(times: Sequence[int], prices: Sequence[float] | float = 100.0) -> Candles:
    """Return bars with four equal prices, volume 10."""
    price = np.broadcast_to(np.asarray(prices, dtype=np.float64), (len(times),))
    volume = np.full(len(times), 10.0)
    return Candles.build(times, open=price, high=price, low=price, close=price, volume=volume)


def rising_minutes(
    start: str, count: int, *, step: int = 60, first_price: float = 100.0
) -> Candles:
    """Return `count` bars from a moment on, each 0.05 above the one before."""
    times = [at(start) + step * i for i in range(count)]
    return flat_candles(times, [round(first_price + 0.05 * i, 2) for i in range(count)])


def store_candles(
    symbol: str, timeframe: str, candles: Candles, *, synthetic: bool = False
) -> None:
    kind = writing.CandleKind(synthetic=synthetic, prices_known=True)
    services.append(symbol=symbol, timeframe=timeframe, candles=candles, kind=kind, now=NOW)


def are_same_candles(left: Candles, right: Candles) -> bool:
    """Return whether two series are equal, bit for bit."""
    names = ("time", "open", "high", "low", "close", "volume")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names)


def write_file(folder: Path, text: str, name: str = "NIFTY_1m_2024.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path
