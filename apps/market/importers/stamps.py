"""Stamps as files write them, as epoch seconds UTC.

Known forms: ISO 8601 with or without a zone, YYYYMMDD, day first (31-12-2024 or 31/12/2024, never
month first), each of these with an optional time of day; a month's name (31-Dec-2024, 31 Dec 2024,
Dec 31, 2024); epoch seconds or milliseconds. A stamp without a zone is in Asia/Kolkata. The first
row says which form the file has; every other row must have it too.
"""

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.candles import IST
from apps.market.dates import EARLIEST
from apps.market.importers.layout import Layout
from apps.market.importers.tables import Column, FileTable

_EPOCH_SECONDS: Final = re.compile(r"[0-9]{9,10}")
_EPOCH_MILLISECONDS: Final = re.compile(r"[0-9]{12,13}")
_ZONE: Final = re.compile(r".*[0-9]{2}:[0-9]{2}.*(?:Z|[+-][0-9]{2}:?[0-9]{2})")
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


def seconds_of(table: FileTable, layout: Layout) -> NDArray[np.int64]:
    """Each row's stamp; one that cannot be read is refused by its place."""
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


def day_of(table: FileTable, text: str) -> date:
    """A contract's day of expiry as exchanges write it; anything else refuses the file."""
    day = day_from(text)
    if day is None:
        table.refuse(f"{text!r} is no day of expiry")
    return day


@lru_cache(maxsize=4096)
def day_from(text: str) -> date | None:
    """The date, None for a text of no known form."""
    for form in _DAYS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


def stamp_column(table: FileTable, layout: Layout) -> int:
    if layout.stamp is None:
        table.refuse("has no column of dates")
    return layout.stamp


def _of_timestamps(column: Column) -> NDArray[np.int64]:
    microseconds = pc.cast(
        pc.cast(column, pa.timestamp("us", column.type.tz), safe=False), pa.int64()
    )
    seconds = microseconds.to_numpy() // 1_000_000
    return seconds if column.type.tz else seconds - IST


def _of_text(table: FileTable, layout: Layout, stamp: int) -> NDArray[np.int64]:
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
    """Rows of the first row's form rewritten as ISO; others stay, and will not be read."""
    for form, replacement in _TO_ISO:
        if form.fullmatch(first):
            return pc.replace_substring_regex(column, form.pattern, replacement)
    return column


def _with_clock(table: FileTable, layout: Layout, dates: Column) -> Column:
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
