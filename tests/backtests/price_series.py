"""Price series for backtests: candles in waves, so that averages cross and trades happen."""

import numpy as np

from apps.engine.candles import IST, Candles

DAY = 86400


def wave_candles(first_day: str, days: int, *, step: int = 900) -> Candles:
    """Return bars of `days` weekdays from 09:15 to 15:30, a sine of 40 bars around 1,000 rupees."""
    start = int(np.datetime64(first_day, "s").astype(np.int64)) - IST
    weekdays = [d for d in (start + i * DAY for i in range(2 * days)) if (d // DAY + 4) % 7 < 5]
    times = [d + 33_300 + i * step for d in weekdays[:days] for i in range(22_500 // step)]
    middle = np.round(1000 + 20 * np.sin(np.arange(len(times) + 1) * 2 * np.pi / 40), 2)
    before, after = middle[:-1], middle[1:]
    return Candles.build(
        times,
        open=before,
        high=np.maximum(before, after) + 1,
        low=np.minimum(before, after) - 1,
        close=after,
        volume=np.full(len(times), 1_000_000.0),
    )
