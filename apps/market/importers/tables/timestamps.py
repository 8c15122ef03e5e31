"""The times of a file's bars: reading stamps, moving stamped ends to starts, finding the timeframe.

Known forms of a stamp: ISO 8601 with or without a zone, YYYYMMDD, day first (31-12-2024 or
31/12/2024, never month first), each of these with an optional time of day; a month's name
(31-Dec-2024, 31 Dec 2024, Dec 31, 2024); epoch seconds or milliseconds. A stamp without a zone is
in Asia/Kolkata. The first row decides which form the file has; every other row must have it too.

A stamp marks the end of its bar if the format declares it; if every stamp is the last second of a
minute (09:15:59); or if the session's hours show it: on nearly all days a bar stands at the close,
where none can start, and on hardly any day at the opening.
"""

import re
from datetime import UTC, date, datetime
from enum import Enum
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST, TIMEFRAMES, ist_day
from apps.engine.sessions import Sessions
from apps.market.candles.chunks import EARLIEST
from apps.market.importers.tables.file_table import Column, FileTable
from apps.market.importers.tables.layout import FileLayout

_EPOCH_SECONDS: Final = re.compile(r"[0-9]{9,10}")
_EPOCH_MILLISECONDS: Final = re.compile(r"[0-9]{12,13}")
_ZONE: Final = re.compile(r".{0,40}[0-9]{2}:[0-9]{2}.{0,40}(?:Z|[+-][0-9]{2}:?[0-9]{2})")
_MONTH_NAMES: Final = (
    (re.compile(r"[0-9]{1,2}-[A-Za-z]{3,9}-[0-9]{4}"), "%d-%B-%Y"),
    (re.compile(r"[0-9]{1,2} [A-Za-z]{3,9} [0-9]{4}"), "%d %B %Y"),
    (re.compile(r"[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4}"), "%B %d, %Y"),
)
_TO_ISO: Final = (
    (re.compile(r"^([0-9]{4})([0-9]{2})([0-9]{2})((?:[ T].*)?)$"), r"\1-\2-\3\4"),
    (re.compile(r"^([0-9]{2})[-/]([0-9]{2})[-/]([0-9]{4})((?:[ T].*)?)$"), r"\3-\2-\1\4"),
)
_DAYS: Final = ("%Y-%m-%d", "%d-%b-%Y", "%d%b%Y", "%d %b %Y", "%d%b%y")
_ONE_DIGIT_HOUR: Final = r"^([0-9]:)"
_NO_TIME: Final = "is no date or time of a known form, or not of the first row's"
_EARLIEST: Final = int(EARLIEST.timestamp())
_LATEST: Final = 4_102_444_800  # 2100-01-01


class StampSide(Enum):
    """The side of a bar that its stamp marks."""

    START = "start"
    END = "end"


def seconds_of(table: FileTable, layout: FileLayout) -> NDArray[np.int64]:
    """Return each row's stamp as epoch seconds UTC; refuse the file if one cannot be read."""
    stamp = stamp_column(table, layout)
    column = table.columns[stamp]
    if column.null_count:
        missing = int(np.argmax(pc.is_null(column).to_numpy()))
        table.refuse_value(missing, stamp, "is no time")
    if pa.types.is_timestamp(column.type):
        seconds = _of_timestamps(column)
    elif pa.types.is_date(column.type):
        seconds = _of_timestamps(pc.cast(column, pa.timestamp("s")))
    elif pa.types.is_string(column.type):
        seconds = _of_text(table, layout, stamp)
    else:
        seconds = _of_epoch(table, stamp, str(column[0].as_py()))
    return _plausible(table, stamp, seconds)


def expiry_day(table: FileTable, text: str) -> date:
    """Return a day of expiry as exchanges write it; refuse the file for anything else."""
    day = day_from(text)
    if day is None:
        table.refuse(f"{text!r} is no day of expiry")
    return day


@lru_cache(maxsize=4096)
def day_from(text: str) -> date | None:
    """Return the date, None for a text of no known form."""
    for form in _DAYS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


def stamp_column(table: FileTable, layout: FileLayout) -> int:
    if layout.stamp is None:
        table.refuse("has no column of dates")
    return layout.stamp


def _of_timestamps(column: Column) -> NDArray[np.int64]:
    microseconds = pc.cast(
        pc.cast(column, pa.timestamp("us", column.type.tz), safe=False), pa.int64()
    )
    seconds = microseconds.to_numpy() // 1_000_000
    return seconds if column.type.tz else seconds - IST


def _of_text(table: FileTable, layout: FileLayout, stamp: int) -> NDArray[np.int64]:
    first = str(table.columns[stamp][0].as_py())
    if layout.clock is None and first.isdigit() and len(first) > 8:
        return _of_epoch(table, stamp, first)
    for form, directives in _MONTH_NAMES:
        if form.fullmatch(first):
            return _of_month_names(table, stamp, directives)
    text = _with_clock(table, layout, _as_iso(table.columns[stamp], first))
    zone = "UTC" if _ZONE.fullmatch(str(text[0].as_py())) else None
    return _of_timestamps(table.converted(text, stamp, pa.timestamp("us", zone), _NO_TIME))


def _of_epoch(table: FileTable, stamp: int, first: str) -> NDArray[np.int64]:
    if _EPOCH_MILLISECONDS.fullmatch(first):
        divisor = 1000
    elif _EPOCH_SECONDS.fullmatch(first):
        divisor = 1
    else:
        table.refuse_value(0, stamp, _NO_TIME)
    whole = table.cast(stamp, pa.int64(), _NO_TIME)
    return whole.to_numpy() // divisor


def _of_month_names(table: FileTable, index: int, directives: str) -> NDArray[np.int64]:
    read: Column = pc.strptime(  # type: ignore[assignment]  # the stubs: an Array
        table.columns[index], format=directives, unit="s", error_is_null=True
    )
    if read.null_count:
        unread = int(np.argmax(pc.is_null(read).to_numpy()))
        table.refuse_value(unread, index, _NO_TIME)
    return _of_timestamps(read)


def _as_iso(column: Column, first: str) -> Column:
    """Rewrite rows of the first row's form as ISO; others stay, and will be refused."""
    for form, replacement in _TO_ISO:
        if form.fullmatch(first):
            return pc.replace_substring_regex(column, form.pattern, replacement)
    return column


def _with_clock(table: FileTable, layout: FileLayout, dates: Column) -> Column:
    if layout.clock is None:
        return dates
    clock = table.columns[layout.clock]
    if not pa.types.is_string(clock.type):
        table.refuse(f"{table.names[layout.clock]} is {clock.type}; beside a date it must be text")
    hours = pc.replace_substring_regex(clock, _ONE_DIGIT_HOUR, r"0\1")
    # The stubs want a scalar separator to be a column.
    joined: Column = pc.binary_join_element_wise(dates, hours, " ")  # type: ignore[call-overload]
    return joined


def _plausible(table: FileTable, stamp: int, seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    wrong = (seconds < _EARLIEST) | (seconds >= _LATEST)
    if wrong.any():
        row = int(np.argmax(wrong))
        table.refuse_value(row, stamp, "is not between 1990 and 2100")
    return seconds


_NEARLY_ALL: Final = 0.8
_HARDLY_ANY: Final = 0.1


def starts_of(
    stamps: NDArray[np.int64],
    row_instrument: NDArray[np.int32],
    timeframe: str,
    sessions: Sessions,
    *,
    side: StampSide | None,
) -> tuple[NDArray[np.int64], int]:
    """Return the start of each bar, and by how many seconds the stamps were moved back.

    Bars of a day or longer are not moved: their date is meant.
    """
    length = TIMEFRAMES[timeframe]
    if length >= DAY:
        return stamps, 0
    if len(stamps) and (stamps % 60 == 59).all():
        return stamps + 1 - length, length - 1
    if side is StampSide.END or (side is None and _marks_ends(stamps, row_instrument, sessions)):
        return stamps - length, length
    return stamps, 0


def _marks_ends(
    stamps: NDArray[np.int64], row_instrument: NDArray[np.int32], sessions: Sessions
) -> bool:
    days = ist_day(stamps)
    # One number for each instrument's day: a day number is far below 100,000.
    both = row_instrument.astype(np.int64) * 100_000 + days
    opens, closes = (np.where(hours < 0, 0, hours) for hours in _hours(days, sessions))
    days_with_bars = len(np.unique(both)) if row_instrument.any() else _distinct(days)
    at_open = np.count_nonzero(stamps == opens)
    at_close = np.count_nonzero(stamps == closes)
    return bool(
        at_close >= _NEARLY_ALL * days_with_bars and at_open <= _HARDLY_ANY * days_with_bars
    )


def _distinct(days: NDArray[np.int32]) -> int:
    """Count different dates, quickly where they come in order."""
    runs = days[np.flatnonzero(np.diff(days, prepend=-1))]
    return len(np.unique(runs))


def _hours(
    days: NDArray[np.int32], sessions: Sessions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return opening and close of each row's day, looked up once for each run of one day."""
    first = np.flatnonzero(np.diff(days, prepend=-1))
    lengths = np.diff(np.append(first, len(days)))
    opens, closes = sessions.hours(days[first])
    return np.repeat(opens, lengths), np.repeat(closes, lengths)


_BY_SECONDS: Final = {seconds: name for name, seconds in TIMEFRAMES.items()}


def timeframe_of(
    table: FileTable,
    times: NDArray[np.int64],
    row_instrument: NDArray[np.int32],
    *,
    given: str | None,
) -> str:
    """Return the given timeframe if the bars do not contradict it, else the one they show: the one
    whose length is the commonest step between distinct times of an instrument.

    Bars of a thinly traded contract may skip most periods: a given timeframe is contradicted only
    if neither the commonest nor the least step is one period.
    """
    if given is not None and given not in TIMEFRAMES:
        table.refuse(f"timeframe {given!r} is none of {', '.join(TIMEFRAMES)}")
    steps, counts = _steps(times, row_instrument)
    commonest = int(steps[np.argmax(counts)]) if len(steps) else 0
    if given is None:
        if commonest not in _BY_SECONDS:
            table.refuse("the steps between its bars tell no timeframe: give the timeframe")
        return _BY_SECONDS[commonest]
    if len(steps) and TIMEFRAMES[given] not in (commonest, int(steps[0])):
        table.refuse(
            f"is not {given}: most bars start {_in_words(commonest)} after the one before,"
            f" the closest {_in_words(int(steps[0]))}"
        )
    return given


def _steps(
    times: NDArray[np.int64], row_instrument: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return each step between distinct times of one instrument, ascending, and its frequency."""
    if not row_instrument.any():
        steps = np.diff(np.sort(times))
    else:
        order = np.lexsort((times, row_instrument))
        within = np.diff(row_instrument[order]) == 0
        steps = np.diff(times[order])[within]
    return np.unique(steps[steps > 0], return_counts=True)


def _in_words(seconds: int) -> str:
    minutes = seconds // 60
    return f"{minutes // 1440} days" if minutes % 1440 == 0 else f"{minutes} minutes"
