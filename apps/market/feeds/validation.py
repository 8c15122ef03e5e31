"""Validation of received bars, before they are compared with the stored ones.

A bar that has not ended, or that does not start at a start of its timeframe, is rejected: its feed
is wrong about the clock or the session, and half a bar would decide a rule. Bars outside the
session are accepted and counted, as in the import of a file (engine rule 9).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES, Candles, Sessions, buckets, in_session
from apps.market.candles.buffer import CandleRow, candles_of

# Seconds that a feed's clock may be ahead of ours.
SKEW: Final = 5


class BarRejectReason(StrEnum):
    """The reason why a bar is rejected."""

    UNALIGNED = "unaligned"
    NOT_CLOSED = "not_closed"


@dataclass(frozen=True, slots=True)
class RejectedBar:
    """A rejected bar: its index in the batch, its start and the reason."""

    index: int
    time: int
    reason: BarRejectReason


@dataclass(frozen=True, slots=True)
class ValidatedBars:
    """The accepted bars in order, for each time the last one sent.

    `repeated` bars were sent again, `out_of_order` bars start before the previous one,
    `off_session` bars are accepted ones outside sessions.
    """

    candles: Candles
    rejected: tuple[RejectedBar, ...]
    repeated: int
    out_of_order: int
    off_session: int


@dataclass(frozen=True, slots=True)
class IntakeCounts:
    """The result of receiving bars: each is added, repeated, changed or rejected.

    Among the added, `late` bars start before the newest stored bar. `out_of_order` and
    `off_session` bars are included in the other counts. `dropped` bars of a generated sample were
    removed.
    """

    added: int
    repeated: int
    changed: int
    late: int
    out_of_order: int
    off_session: int
    dropped: int
    rejected: tuple[RejectedBar, ...]


def validate_bars(
    rows: Sequence[CandleRow], timeframe: str, sessions: Sessions, *, now: int
) -> ValidatedBars:
    """Validate rows in the order sent."""
    times = np.array([row[0] for row in rows], dtype=np.int64)
    rejected = _rejected(times, timeframe, sessions, now)
    left_out = {bar.index for bar in rejected}
    last = {row[0]: row for index, row in enumerate(rows) if index not in left_out}
    candles = candles_of(sorted(last.values()))
    return ValidatedBars(
        candles=candles,
        rejected=rejected,
        repeated=len(rows) - len(rejected) - len(last),
        out_of_order=int(np.count_nonzero(np.diff(times) < 0)),
        off_session=_off_session(candles, timeframe, sessions),
    )


def _rejected(
    times: NDArray[np.int64], timeframe: str, sessions: Sessions, now: int
) -> tuple[RejectedBar, ...]:
    starts, ends = buckets(times, TIMEFRAMES[timeframe], sessions)
    reasons = {
        BarRejectReason.UNALIGNED: starts != times,
        BarRejectReason.NOT_CLOSED: ends > now + SKEW,
    }
    rejected = {
        index: RejectedBar(index, int(times[index]), reason)
        for reason, mask in reasons.items()
        for index in np.flatnonzero(mask).tolist()
    }
    return tuple(rejected[index] for index in sorted(rejected))


def _off_session(candles: Candles, timeframe: str, sessions: Sessions) -> int:
    return int(np.count_nonzero(~in_session(candles.time, timeframe, sessions)))
