"""Candles that walk at random, and files of them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import Candles


def random_minutes(bars: int) -> Candles:
    """Return a random walk of minute bars from 2024 on, around the clock."""
    rng = np.random.default_rng(1)
    close = np.round(1000 * np.exp(np.cumsum(rng.normal(0, 0.0005, bars))), 2)
    open_ = np.r_[close[:1], close[:-1]]
    time = 1_704_067_200 + 60 * np.arange(bars)
    return Candles.build(
        time,
        open=open_,
        high=np.maximum(open_, close),
        low=np.minimum(open_, close),
        close=close,
        volume=rng.integers(1, 5000, bars),
    )


def session_bars(sessions: int, *, length: int = 60, seed: int = 1) -> Candles:
    """Bars of `length` seconds in NSE's hours on weekdays from 2000 on, in ticks of 0.05."""
    rng = np.random.default_rng(seed)
    days = np.arange(10_957, 10_957 + 2 * sessions)
    days = days[(days + 3) % 7 < 5][:sessions]  # 1970-01-01 was a Thursday
    opens = days * 86_400 - 19_800 + 33_300
    time = (opens[:, None] + np.arange(0, 22_500, length)).ravel()
    deviation = 0.0005 * np.sqrt(length / 60)
    close = 1000 * np.exp(np.cumsum(rng.normal(0, deviation, len(time))))
    close *= np.exp(-np.linspace(0, np.log(close[-1] / 1000), len(time)))  # ends where it began
    open_ = np.r_[close[:1], close[:-1]]
    reach = np.abs(rng.normal(0, deviation / 2, (2, len(time))))
    return Candles.build(
        time,
        open=_ticks(open_),
        high=_ticks(np.maximum(open_, close) * (1 + reach[0])),
        low=_ticks(np.minimum(open_, close) * (1 - reach[1])),
        close=_ticks(close),
        volume=np.rint(5000 * rng.lognormal(0, 1, len(time))),
    )


def candles_file(folder: Path, bars: int, *, seed: int = 1) -> Path:
    """Write minutes of one symbol, a column a name."""
    path = folder / f"{bars}_{seed:02}.npz"
    walk = session_bars(-(-bars // 375), seed=seed).slice(0, bars)
    np.savez(path, **{name: getattr(walk, name) for name in ("time", *Candles.NUMBERS)})
    return path


def candles_folder(folder: Path, bars: int, *, symbols: int) -> Path:
    """Write a file of each symbol, over the same minutes."""
    folder.mkdir()
    for seed in range(1, symbols + 1):
        candles_file(folder, bars, seed=seed)
    return folder


def _ticks(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.round(np.rint(prices / 0.05) * 0.05, 2))
