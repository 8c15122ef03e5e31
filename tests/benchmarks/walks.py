"""A year of minutes that walk at random."""

import numpy as np

from apps.engine.candles import Candles


def minutes(bars: int) -> Candles:
    """A random walk of minute bars from 2024 on, around the clock."""
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
