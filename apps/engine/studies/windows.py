"""The training and test days of a walk-forward (rule 19)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from apps.engine.errors import EngineError


class TooFewSessions(EngineError):
    """The range has too few session days for its windows to test on one each."""

    is_insufficient = True

    def __init__(self, *, sessions: int, needed: int) -> None:
        super().__init__(
            f"The range has {sessions} session days; {needed} are needed for these windows."
        )
        self.sessions = sessions
        self.needed = needed


class Window(NamedTuple):
    """Session days, counted from 0: trained on [train, test), tested on [test, end)."""

    train: int
    test: int
    end: int


def sessions_needed(windows: int, train_ratio: float, *, days: int = 1) -> int:
    """Return the least number of session days for testing on this many in each window."""
    ratio = _exact(train_ratio)
    return ceil(days * (windows + ratio / (1 - ratio)))


def windows_of(sessions: int, *, windows: int, train_ratio: float, anchored: bool) -> list[Window]:
    """Return the windows.

    Of T session days, r to train, N windows: each tests floor(T (1 - r) / (r + N (1 - r))) days,
    the first after all days that no window tests. Both ends move on by as many; anchored, the start
    stays. Raises TooFewSessions if that is less than a day.
    """
    ratio = _exact(train_ratio)
    length = floor(sessions * (1 - ratio) / (ratio + windows * (1 - ratio)))
    if length < 1:
        raise TooFewSessions(sessions=sessions, needed=sessions_needed(windows, train_ratio))
    first = sessions - windows * length
    return [
        Window(0 if anchored else moved, first + moved, first + moved + length)
        for moved in range(0, windows * length, length)
    ]


def _exact(ratio: float) -> Fraction:
    """Return the written decimal: 0.7 is seven tenths, so that floors are exact."""
    return Fraction(repr(ratio))
