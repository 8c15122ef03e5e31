"""Higher timeframes: their closed candles at each bar of the lower one (rule 17)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAMES, Candles, day_start, ist_day
from apps.engine.candles.resampling import bar_ends
from apps.engine.candles.sessions import Sessions


class HigherTimeframe(NamedTuple):
    """Candles of a longer timeframe beside the bars of a strategy's own.

    `seen` i8[bars] is the index of the last closed longer candle at each bar, -1 for none.
    """

    timeframe: str
    candles: Candles
    seen: NDArray[np.int64]

    @classmethod
    def of(
        cls, bars: Candles, timeframe: str, candles: Candles, longer: str, sessions: Sessions | None
    ) -> HigherTimeframe:
        """Return `candles` in the timeframe `longer`, aligned to `bars` of `timeframe`.

        A candle counts at a bar when it ends no later; a day counts from the next date on, a week
        from the next Monday on.
        """
        if TIMEFRAMES[longer] >= DAY:
            counts_from, moment = _next_day(candles.time, longer), bars.time
        else:
            counts_from = bar_ends(candles.time, longer, sessions)
            moment = bar_ends(bars.time, timeframe, sessions)
        seen = np.searchsorted(counts_from, moment, side="right") - 1
        return cls(longer, candles, seen.astype(np.int64))


def _next_day(time: NDArray[np.int64], timeframe: str) -> NDArray[np.int64]:
    """Return midnight in Asia/Kolkata after a day, or after the Sunday of a week."""
    day = ist_day(time)
    later = 7 - (day + 3) % 7 if timeframe == "1w" else 1  # 1970-01-01 was a Thursday
    return day_start(day + later)
