"""Generated bars in the shape of a market, to try things out on. They are not a market's history.

There are five years of days, the last `SESSIONS` of them also as minutes; those days are the sum of
their minutes. A symbol always has the same bars.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles, day_start
from apps.engine.resampling import resample
from apps.engine.sessions import Sessions
from apps.market.candle_chunks import concat
from apps.market.rulebook.sessions import sessions_of

SESSIONS: Final = 56
_TICK: Final = 0.05
_FIRST_DAY: Final = date(2021, 7, 1)
_LAST_DAY: Final = date(2026, 6, 30)
_DAILY_DEVIATION: Final = 0.014


@dataclass(frozen=True, slots=True)
class Sample:
    """Bars of one symbol and timeframe."""

    symbol: str
    timeframe: str
    candles: Candles


@dataclass(frozen=True, slots=True)
class _Recipe:
    symbol: str
    price: float
    volume: float  # shares of an average day; 0 for an index


_RECIPES: Final = (
    _Recipe("NSE:RELIANCE", 1050.0, 9_000_000),
    _Recipe("NSE:INFY", 1550.0, 6_000_000),
    _Recipe("NSE:NIFTY", 15700.0, 0),
)


def samples() -> Iterator[Sample]:
    """Return days and minutes of each symbol of the sample."""
    for recipe in _RECIPES:
        yield from _samples_of(recipe)


def _samples_of(recipe: _Recipe) -> Iterator[Sample]:
    rng = np.random.default_rng(zlib.crc32(recipe.symbol.encode()))
    sessions = sessions_of(recipe.symbol)
    days = _session_days(sessions)
    early, late = days[:-SESSIONS], days[-SESSIONS:]
    daily = _bars(rng, day_start(early), recipe, recipe.price, parts=1)
    times = _minutes(sessions, late)
    minutes = _bars(rng, times, recipe, float(daily.close[-1]), parts=len(times) // SESSIONS)
    summed = resample(minutes, "1m", "1d", sessions)
    yield Sample(recipe.symbol, "1d", concat([daily, summed]))
    yield Sample(recipe.symbol, "1m", minutes)


def _session_days(sessions: Sessions) -> NDArray[np.int32]:
    span = np.arange(np.datetime64(_FIRST_DAY), np.datetime64(_LAST_DAY) + np.timedelta64(1, "D"))
    days = span.astype(np.int64).astype(np.int32)
    return days[sessions.is_session(days)]


def _minutes(sessions: Sessions, days: NDArray[np.int32]) -> NDArray[np.int64]:
    opens, closes = sessions.hours(days)
    return np.concatenate([np.arange(o, c, 60) for o, c in zip(opens, closes, strict=True)])


def _bars(
    rng: np.random.Generator,
    times: NDArray[np.int64],
    recipe: _Recipe,
    price: float,
    *,
    parts: int,
) -> Candles:
    """Return a random walk of `parts` bars a day, whose drifts turn, livelier near open and close.

    It ends at the price where it began, so that years of it stay plausible.
    """
    count = len(times)
    deviation = _DAILY_DEVIATION / np.sqrt(parts) * _liveliness(count, parts)
    drift = _turning(rng, count, span=max(parts // 5, 20)) * deviation * 0.15
    steps = rng.normal(0.0, 1.0, count) * deviation + drift
    close = price * np.exp(np.cumsum(steps - steps.mean()))
    opened = np.concatenate([[price], close[:-1]]) * (1 + rng.normal(0, 0.1, count) * deviation)
    top, bottom = np.maximum(opened, close), np.minimum(opened, close)
    reach = np.abs(rng.normal(0.0, 0.5, (2, count))) * deviation
    volume = recipe.volume / parts * _liveliness(count, parts) * rng.lognormal(0.0, 0.4, count)
    return Candles.build(
        times,
        open=_ticks(opened),
        high=_ticks(top * (1 + reach[0])),
        low=_ticks(bottom * (1 - reach[1])),
        close=_ticks(close),
        volume=np.rint(volume),
    )


def _liveliness(count: int, parts: int) -> NDArray[np.float64]:
    """Return weights, higher at both ends of a day than in its middle; 1 on average."""
    position = (np.arange(count) % parts + 0.5) / parts
    shape = 0.7 + 1.8 * (2 * position - 1) ** 4
    return np.asarray(shape / shape.mean())


def _turning(rng: np.random.Generator, count: int, *, span: int) -> NDArray[np.float64]:
    """Return a direction, kept for `span` bars on average, then drawn anew."""
    turns = np.cumsum(rng.random(count) < 1 / span)
    return np.asarray(rng.normal(0.0, 1.0, int(turns[-1]) + 1)[turns])


def _ticks(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.round(np.rint(prices / _TICK) * _TICK, 2))
