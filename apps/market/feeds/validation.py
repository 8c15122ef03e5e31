"""What is to be said of bars that come in one by one, before they meet what is held.

A bar that has not ended, and one that starts at no start of its timeframe, is left out: a feed that
sends it is wrong about the clock or the session, and a rule would be decided by half a bar. Bars
outside the session are kept and counted, as they are when a file is loaded (engine rule 9).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES, Candles, buckets
from apps.engine.sessions import Sessions, in_session
from apps.market.intraday_buffer import CandleRow, candles_of

SKEW: Final = 5
"""Seconds that a feed's clock may be ahead of ours."""


class RejectReason(StrEnum):
    """Why a bar is left out."""

    UNALIGNED = "unaligned"
    NOT_CLOSED = "not_closed"


@dataclass(frozen=True, slots=True)
class RejectedBar:
    """One bar that is left out: which of those sent, its start and why."""

    index: int
    time: int
    flaw: RejectReason


@dataclass(frozen=True, slots=True)
class ValidatedBars:
    """The bars that are taken, in order, one a moment: the last that was sent of it.

    `repeated` were sent once more, `out_of_order` start before the one sent before them,
    `off_session` are among those taken.
    """

    candles: Candles
    refused: tuple[RejectedBar, ...]
    repeated: int
    out_of_order: int
    off_session: int


@dataclass(frozen=True, slots=True)
class IntakeCounts:
    """What became of bars: each is added, repeated, changed or refused.

    Of those added, `late` start before the newest that was held. `out_of_order` were sent before
    an earlier one, and `off_session` are outside the hours; both are counted beside that.
    `dropped` bars of a generated sample made way.
    """

    added: int
    repeated: int
    changed: int
    late: int
    out_of_order: int
    off_session: int
    dropped: int
    refused: tuple[RejectedBar, ...]


def validate(
    rows: Sequence[CandleRow], timeframe: str, sessions: Sessions, *, now: int
) -> ValidatedBars:
    """Rows in the order in which they were sent, of which each is a bar."""
    times = np.array([row[0] for row in rows], dtype=np.int64)
    refused = _refused(times, timeframe, sessions, now)
    left_out = {each.index for each in refused}
    last = {row[0]: row for index, row in enumerate(rows) if index not in left_out}
    candles = candles_of(sorted(last.values()))
    return ValidatedBars(
        candles=candles,
        refused=refused,
        repeated=len(rows) - len(refused) - len(last),
        out_of_order=int(np.count_nonzero(np.diff(times) < 0)),
        off_session=_off_session(candles, timeframe, sessions),
    )


def _refused(
    times: NDArray[np.int64], timeframe: str, sessions: Sessions, now: int
) -> tuple[RejectedBar, ...]:
    starts, ends = buckets(times, TIMEFRAMES[timeframe], sessions)
    flaws = {RejectReason.UNALIGNED: starts != times, RejectReason.NOT_CLOSED: ends > now + SKEW}
    found = {
        index: RejectedBar(index, int(times[index]), flaw)
        for flaw, which in flaws.items()
        for index in np.flatnonzero(which).tolist()
    }
    return tuple(found[index] for index in sorted(found))


def _off_session(candles: Candles, timeframe: str, sessions: Sessions) -> int:
    return int(np.count_nonzero(~in_session(candles.time, timeframe, sessions)))
