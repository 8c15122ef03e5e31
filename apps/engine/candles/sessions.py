"""The trading hours of a market segment by date; the caller keeps the market's calendar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAME_SECONDS, day_start, ist_day
from apps.engine.errors import EngineError

MONDAY_TO_FRIDAY = 0b0011111
_LONGEST_MONTH = 31


class InvalidSessions(EngineError):
    """Overlapping regimes, or invalid hours."""


class Regime(NamedTuple):
    """Hours of the continuous session over a span of dates.

    Days count from 1970-01-01 in Asia/Kolkata, both ends included; hours are seconds since midnight
    there; `weekdays` is a mask, bit 0 Monday, of the days with a session.
    """

    first_day: int
    last_day: int
    opens: int
    closes: int
    weekdays: int = MONDAY_TO_FRIDAY


class Override(NamedTuple):
    """A special date: its own hours, or none (`opens` is None) for a holiday or, if not `known`, a
    session at unknown hours.
    """

    day: int
    opens: int | None = None
    closes: int | None = None
    known: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Sessions:
    """The calendar of one exchange segment; make it with `Sessions.build`.

    Columns of the regimes (i8[r], by date) and of the overrides (i8[k], by date, hours -1 for a
    closed date or unknown hours). `years` (i8[y], sorted) are those with listed holidays; None
    means all.
    """

    first_day: NDArray[np.int64]
    last_day: NDArray[np.int64]
    opens: NDArray[np.int64]
    closes: NDArray[np.int64]
    weekdays: NDArray[np.int64]
    override_day: NDArray[np.int64]
    override_opens: NDArray[np.int64]
    override_closes: NDArray[np.int64]
    override_known: NDArray[np.int64]
    years: NDArray[np.int64] | None

    @classmethod
    def build(
        cls,
        regimes: Iterable[Regime],
        overrides: Iterable[Override] = (),
        *,
        years: Iterable[int] | None = None,
    ) -> Sessions:
        """Build a calendar from non-overlapping regimes, and at most one override a date, in any
        order.
        """
        spans = sorted(regimes)
        dates = {override.day: override for override in overrides}
        for regime in spans:
            _check_hours(regime.opens, regime.closes)
        for before, after in pairwise(spans):
            if after.first_day <= before.last_day:
                raise InvalidSessions(f"Two regimes of hours hold on day {after.first_day}.")
        rows = [_override_row(dates[day]) for day in sorted(dates)]
        listed = None if years is None else np.array(sorted(years), np.int64)
        first_day, last_day, opens, closes, weekdays = _columns(spans, 5)
        day, day_opens, day_closes, known = _columns(rows, 4)
        return cls(
            first_day, last_day, opens, closes, weekdays, day, day_opens, day_closes, known, listed
        )

    @property
    def regimes(self) -> list[Regime]:
        """Return the regimes in order of date."""
        columns = (self.first_day, self.last_day, self.opens, self.closes, self.weekdays)
        return [Regime(*row) for row in np.stack(columns, axis=1).tolist()]

    def hours(self, day: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return opening and close (epoch seconds) of the continuous session of each date.

        Weekdays do not count, so that bars of an unlisted special day still have hours; a closed
        date has the hours of its regime. -1 outside all regimes.
        """
        regime, covered = self._regime(day)
        opens, closes = self._take(self.opens, regime), self._take(self.closes, regime)
        override, listed = self._override(day)
        special = listed & (self._take(self.override_opens, override) >= 0)
        opens = np.where(special, self._take(self.override_opens, override), opens)
        closes = np.where(special, self._take(self.override_closes, override), closes)
        known, midnight = covered | special, day_start(day)
        return np.where(known, midnight + opens, -1), np.where(known, midnight + closes, -1)

    def regular_hours(self, day: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return opening and close of the regime of each date, in seconds since midnight.

        Holidays and special sessions do not count. -1 outside all regimes.
        """
        regime, covered = self._regime(day)
        opens, closes = self._take(self.opens, regime), self._take(self.closes, regime)
        return np.where(covered, opens, -1), np.where(covered, closes, -1)

    def trading_hours(self, day: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return opening and close (epoch seconds) for deciding which bars of each date are in
        session.

        A listed holiday has no session: it closes when it opens. An unlisted date has the hours of
        its regime, and lasts from midnight to midnight if its hours are unknown.
        """
        opens, closes = self.hours(day)
        midnight = day_start(day)
        override, listed = self._override(day)
        no_hours = listed & (self._take(self.override_opens, override) < 0)
        known = self._take(self.override_known, override) == 1
        unknown = (opens < 0) | (no_hours & ~known)
        opens = np.where(unknown, midnight, opens)
        closes = np.where(unknown, midnight + DAY, closes)
        return opens, np.where(no_hours & known, opens, closes)

    def certain_closes(self, day: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the close of each date's session (epoch seconds) if the calendar is certain of it:
        -1 in a year without listed holidays, and for a special session at unknown hours.
        """
        return np.where(self.is_certain(day), self.hours(day)[1], -1)

    def is_certain(self, day: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether the calendar knows if each date has a session, and its hours."""
        override, listed = self._override(day)
        certain = ~listed | (self._take(self.override_known, override) == 1)
        if self.years is not None:
            year = day.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970
            certain &= np.isin(year, self.years)
        return np.asarray(certain)

    def is_session(self, day: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether the calendar has a session on each date."""
        regime, covered = self._regime(day)
        weekday = (day.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
        regular = covered & ((self._take(self.weekdays, regime) >> weekday) & 1).astype(bool)
        override, listed = self._override(day)
        special = self._take(self.override_opens, override) >= 0
        special |= self._take(self.override_known, override) == 0
        return np.where(listed, special, regular)

    def session_of_month(
        self, day: NDArray[np.int32], *, from_the_end: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of each date's session in its month, from 1, or from -1 backwards, 0
        for a date without a session; and whether the calendar is certain of it: of every date of
        the month up to it (from it on, backwards).
        """
        if not len(day):
            return np.zeros(0, np.int64), np.zeros(0, np.bool_)
        month = day.astype("M8[D]").astype("M8[M]")
        begin = month.min().astype("M8[D]").astype(np.int64)
        end = (month.max() + 1).astype("M8[D]").astype(np.int64)
        dates = np.arange(begin, end, dtype=np.int32)
        held, doubtful = self.is_session(dates), ~self.is_certain(dates)
        order = slice(None, None, -1 if from_the_end else 1)
        months = dates.astype("M8[D]").astype("M8[M]")[order]
        first = np.flatnonzero(np.concatenate(([True], months[1:] != months[:-1])))

        def counted(truth: NDArray[np.bool_]) -> NDArray[np.int64]:
            """Return the count of true dates of the month so far, in this order."""
            total = np.cumsum(truth[order])
            before = np.concatenate(([0], total))[first]
            counts: NDArray[np.int64] = total - np.repeat(before, np.diff(first, append=len(total)))
            return counts[order]

        number = np.where(held, counted(held), 0)[day - begin]
        certain = (counted(doubtful) == 0)[day - begin]
        return (-number if from_the_end else number), certain

    def is_last_session(
        self, day: NDArray[np.int32], period: Literal["week", "month"]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return whether each date is the last session of its ISO week or calendar month; and
        whether the calendar is certain of it: a later date is a session, or none may be.
        """
        if not len(day):
            return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        begin, end = int(day.min()) - _LONGEST_MONTH, int(day.max()) + _LONGEST_MONTH
        dates = np.arange(begin, end, dtype=np.int32)
        certain = self.is_certain(dates)
        held = self.is_session(dates) & certain
        number = _weeks(dates) if period == "week" else _months(dates)
        number -= number[0]
        last_held, last_doubtful = np.full((2, int(number[-1]) + 1), -1)
        np.maximum.at(last_held, number[held], dates[held])
        np.maximum.at(last_doubtful, number[~certain], dates[~certain])
        own = number[day - begin]
        return day == last_held[own], (day < last_held[own]) | (day > last_doubtful[own])

    def _regime(self, day: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        row = np.searchsorted(self.first_day, day, side="right") - 1
        return row, (row >= 0) & (day <= self._take(self.last_day, row))

    def _override(self, day: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        row = np.searchsorted(self.override_day, day, side="right") - 1
        return row, (row >= 0) & (day == self._take(self.override_day, row))

    @staticmethod
    def _take(column: NDArray[np.int64], row: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return column[row]; rows of -1 and empty columns give -1, which the caller must mask."""
        return np.append(column, -1)[row]


def _weeks(day: NDArray[np.int32]) -> NDArray[np.int64]:
    return (day.astype(np.int64) + 3) // 7  # 1970-01-01 was a Thursday


def _months(day: NDArray[np.int32]) -> NDArray[np.int64]:
    return day.astype("M8[D]").astype("M8[M]").astype(np.int64)


def in_session(
    time: NDArray[np.int64], timeframe: str, sessions: Sessions | None
) -> NDArray[np.bool_]:
    """Return whether any moment of each bar (ascending starts) is in the session of its date (rule
    9).

    Days and weeks are always in session, and so is every bar without a calendar. It takes a few
    searches a date for any number of bars.
    """
    length = TIMEFRAME_SECONDS[timeframe]
    if sessions is None or length >= DAY or not len(time):
        return np.ones(len(time), np.bool_)
    first, last = ist_day(time[[0, -1]]).tolist()
    days = np.arange(first, last + 1, dtype=np.int32)
    edges = np.searchsorted(time, day_start(np.append(days, days[-1:] + 1)))
    held = edges[1:] > edges[:-1]
    opens, closes = sessions.trading_hours(days[held])
    begin, end = edges[:-1][held], edges[1:][held]
    start = np.clip(np.searchsorted(time, opens - length, side="right"), begin, end)
    stop = np.clip(np.searchsorted(time, closes), start, end)
    stop = np.where(opens < closes, stop, start)
    lengths = np.stack([start - begin, stop - start, end - stop], axis=1).ravel()
    return np.repeat(np.tile(np.array([False, True, False]), len(begin)), lengths)


def _check_hours(opens: int, closes: int) -> None:
    if not 0 <= opens < closes <= DAY:
        raise InvalidSessions(f"Hours from {opens} to {closes} seconds are not within one day.")


def _override_row(override: Override) -> tuple[int, int, int, int]:
    if override.opens is None or override.closes is None:
        return override.day, -1, -1, int(override.known)
    _check_hours(override.opens, override.closes)
    return override.day, override.opens, override.closes, 1


def _columns(rows: Iterable[tuple[int, ...]], width: int) -> list[NDArray[np.int64]]:
    table = np.array(list(rows), dtype=np.int64).reshape(-1, width)
    return [np.ascontiguousarray(column) for column in table.T]
