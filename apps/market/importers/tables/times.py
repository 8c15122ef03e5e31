"""The times of a file's rows.

Known forms: ISO 8601; a year, month and day with `-`, `/`, `.` or nothing between them; day first
or month first, decided by all rows of the file together; a month's name; each of these with an
optional time of day (also AM and PM) and zone (Z, IST, UTC, +05:30); epoch seconds, milliseconds,
microseconds and nanoseconds, also as decimals. A time without a zone is in Asia/Kolkata. The first
row decides the form of the file; every other row must have it too.
"""

import re
from calendar import month_name
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST
from apps.market.candles.chunks import EARLIEST
from apps.market.importers.tables.column_names import FileLayout
from apps.market.importers.tables.file_table import Column, FileTable

_NO_TIME: Final = "is no date or time of a known form, or not of the first row's"
_EARLIEST: Final = int(EARLIEST.timestamp())
_LATEST: Final = 4_102_444_800  # 2100-01-01
_DAYS: Final = ("%Y-%m-%d", "%d-%b-%Y", "%d%b%Y", "%d %b %Y", "%d%b%y", "%d/%m/%Y")

# Digits of an epoch before its decimal point, and how many of its units a second has.
_EPOCHS: Final = {9: 1, 10: 1, 12: 10**3, 13: 10**3, 15: 10**6, 16: 10**6, 18: 10**9, 19: 10**9}
_EPOCH: Final = re.compile(r"([0-9]{9,19})(?:\.[0-9]+)?")
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:.*)?")
_ZONED: Final = re.compile(r".{0,40}[0-9]{2}:[0-9]{2}.{0,40}(?:Z|[+-][0-9]{2}:?[0-9]{2})")

_TAIL: Final = (
    r"(?:(?:[T, ] ?)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.[0-9]+)?)?"
    r" ?(?P<half>[AaPp][Mm])?)? ?(?P<zone>Z|IST|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?$"
)
_COMPACT: Final = r"^(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})" + _TAIL
_YEAR_FIRST: Final = (
    r"^(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})" + _TAIL
)
_YEAR_LAST: Final = (
    r"^(?P<a>[0-9]{1,2})[-/.](?P<b>[0-9]{1,2})[-/.](?P<year>[0-9]{4}|[0-9]{2})" + _TAIL
)
_NAMED: Final = (
    r"^(?P<day>[0-9]{1,2})[-/ ]?(?P<name>[A-Za-z]{3,9})[-/, ]{0,2}(?P<year>[0-9]{4}|[0-9]{2})"
    + _TAIL
)
_NAME_FIRST: Final = (
    r"^(?P<name>[A-Za-z]{3,9})[-/ ](?P<day>[0-9]{1,2}),? ?(?P<year>[0-9]{4})" + _TAIL
)
_FORMS: Final = (_COMPACT, _YEAR_FIRST, _YEAR_LAST, _NAMED, _NAME_FIRST)
_ZONES: Final = {"": IST, "z": 0, "utc": 0, "gmt": 0, "ist": IST}
# Longer without a bar no market has been.
_LONGEST_CLOSURE: Final = 14


def seconds_of(table: FileTable, layout: FileLayout) -> NDArray[np.int64]:
    """Return each row's time as epoch seconds UTC; refuse the file if one cannot be read."""
    stamp = stamp_column(table, layout)
    column = table.columns[stamp]
    table.refuse_first(pc.is_null(column).to_numpy(), stamp, "is no time")
    if pa.types.is_timestamp(column.type):
        seconds = _of_timestamps(column)
    elif pa.types.is_date(column.type):
        seconds = _of_timestamps(pc.cast(column, pa.timestamp("s")))
    elif pa.types.is_string(column.type):
        seconds = _of_text(table, layout, stamp)
    else:
        seconds = _of_epoch(table, stamp)
    return _plausible(table, stamp, seconds)


def day_first_is_assumed(table: FileTable, layout: FileLayout) -> bool:
    """Return whether no date of the file tells if the day or the month comes first."""
    column = None if layout.stamp is None else table.columns[layout.stamp]
    if column is None or not pa.types.is_string(column.type):
        return False
    if re.match(_YEAR_LAST, str(column[0].as_py())) is None:
        return False
    parts: Any = pc.extract_regex(column, _YEAR_LAST)
    a, b = (_whole(pc.struct_field(parts, name)) for name in ("a", "b"))
    return bool(a.max() <= 12 and b.max() <= 12 and (a != b).any())


def stamp_column(table: FileTable, layout: FileLayout) -> int:
    if layout.stamp is None:
        shown = ", ".join(name or "(unnamed)" for name in table.names)
        table.refuse(f"its columns are {shown}; missing: timestamp (or date, or date and time)")
    return layout.stamp


def expiry_day(table: FileTable, text: str) -> date:
    """Return a day of expiry in the exchanges' form; refuse the file for other forms."""
    day = day_from(text)
    if day is None:
        table.refuse(f"{text!r} is no day of expiry")
    return day


@lru_cache(maxsize=4096)
def day_from(text: str) -> date | None:
    """Return the date, None for an unknown form."""
    for form in _DAYS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None


def _of_timestamps(column: Column) -> NDArray[np.int64]:
    microseconds = pc.cast(
        pc.cast(column, pa.timestamp("us", column.type.tz), safe=False), pa.int64()
    )
    seconds = microseconds.to_numpy() // 1_000_000
    return seconds if column.type.tz else seconds - IST


def _of_epoch(table: FileTable, stamp: int) -> NDArray[np.int64]:
    """Return the seconds of whole or decimal numbers; their size tells their unit."""
    column = table.columns[stamp]
    if pa.types.is_string(column.type):
        column = pc.replace_substring_regex(column, r"\.[0-9]+$", "")
    first = column[0].as_py()
    match = _EPOCH.fullmatch(f"{first:.0f}" if isinstance(first, float) else str(first))
    units = _EPOCHS.get(len(match[1])) if match else None
    if units is None:
        table.refuse_value(0, stamp, _NO_TIME)
    if pa.types.is_floating(column.type):
        column = pc.floor(column)
    return table.converted(column, stamp, pa.int64(), _NO_TIME).to_numpy() // units


def _of_text(table: FileTable, layout: FileLayout, stamp: int) -> NDArray[np.int64]:
    column = table.columns[stamp]
    first = str(column[0].as_py())
    if layout.clock is None and _EPOCH.fullmatch(first):
        return _of_epoch(table, stamp)
    column = _with_clock(table, layout, column)
    first = str(column[0].as_py())
    if _ISO.fullmatch(first):
        zone = "UTC" if _ZONED.fullmatch(first) else None
        try:
            return _of_timestamps(pc.cast(column, pa.timestamp("us", zone)))
        except pa.ArrowInvalid:
            pass  # not the short form that Arrow reads; the general one names the bad row
    return _of_parts(table, stamp, column, first)


def _with_clock(table: FileTable, layout: FileLayout, dates: Column) -> Column:
    if layout.clock is None:
        return dates
    clock = table.columns[layout.clock]
    if not pa.types.is_string(clock.type):
        table.refuse(f"{table.names[layout.clock]} is {clock.type}; beside a date it must be text")
    # The stubs want a scalar separator to be a column.
    joined: Column = pc.binary_join_element_wise(dates, clock, " ")  # type: ignore[call-overload]
    return joined


def _of_parts(table: FileTable, stamp: int, column: Column, first: str) -> NDArray[np.int64]:
    """Return the seconds of dates, parsed by the first form that fits row one."""
    form = next((form for form in _FORMS if re.match(form, first)), None)
    if form is None:
        table.refuse_value(0, stamp, _NO_TIME)
    # Any: the stubs do not know the extracted fields.
    parts: Any = pc.extract_regex(column, form)
    table.refuse_first(pc.is_null(parts).to_numpy(), stamp, _NO_TIME)
    texts = {name: pc.struct_field(parts, name) for name in re.findall(r"\?P<(\w+)>", form)}
    year = _whole(texts["year"])
    year = np.where(year < 100, 2000 + year, year)
    if form is _YEAR_LAST:
        day, month = _day_and_month(table, stamp, _whole(texts["a"]), _whole(texts["b"]), year)
    else:
        day = _whole(texts["day"])
        month = (
            _month_numbers(table, stamp, texts["name"])
            if "name" in texts
            else _whole(texts["month"])
        )
    days = _day_numbers(table, stamp, year, month, day)
    bare = np.asarray(texts["zone"]) == ""
    table.refuse_first(bare != bare[0], stamp, _NO_TIME)
    return (
        days * DAY + _clock_seconds(table, stamp, texts) - _by_distinct_text(texts["zone"], _offset)
    )


def _whole(texts: Any) -> NDArray[np.int64]:
    """Return digits as whole numbers, 0 for none."""
    filled: Any = pc.replace_substring_regex(texts, "^$", "0")
    return np.asarray(pc.cast(filled, pa.int64()).to_numpy(), dtype=np.int64)


def _month_numbers(table: FileTable, stamp: int, names: Any) -> NDArray[np.int64]:
    months = _by_distinct_text(names, _month_number)
    table.refuse_first(months == 0, stamp, _NO_TIME)
    return months


def _by_distinct_text(texts: Any, number_of: Callable[[str], int]) -> NDArray[np.int64]:
    """Return the number of each text in lower case; of equal texts it is found once."""
    coded: Any = pc.utf8_lower(texts).combine_chunks().dictionary_encode()
    numbers = np.array([number_of(text) for text in coded.dictionary.to_pylist()], np.int64)
    by_row: NDArray[np.int64] = numbers[coded.indices.to_numpy()]
    return by_row


def _month_number(name: str) -> int:
    """Return the number of a month's name or of its first three or four letters, else 0."""
    short = "sep" if name == "sept" else name
    full_names = enumerate(map(str.lower, month_name))
    return next((i for i, full in full_names if i and short in (full, full[:3])), 0)


def _day_and_month(
    table: FileTable,
    stamp: int,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    year: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return day and month of dates such as 01-02-2024: all rows together decide the order."""
    if (a > 12).any():
        return a, b
    if (b > 12).any():
        return b, a
    days = np.unique(_day_numbers(table, stamp, year, b, a))
    gaps = np.diff(days)
    weekend = (days + 3) % 7 > 4
    if len(gaps) and (gaps.max() > _LONGEST_CLOSURE or weekend.mean() > 0.1):
        table.refuse(
            f"its dates, such as {table.columns[stamp][0].as_py()!r}, can be read day first or"
            f" month first, and day first leaves {int(gaps.max())} days without a bar or puts bars"
            " on weekends: write them as YYYY-MM-DD"
        )
    return a, b


def _day_numbers(
    table: FileTable,
    stamp: int,
    year: NDArray[np.int64],
    month: NDArray[np.int64],
    day: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return days since 1970; refuse the first impossible date."""
    is_month = (month >= 1) & (month <= 12)
    months = ((year - 1970) * 12 + np.where(is_month, month, 1) - 1).astype("M8[M]")
    first = months.astype("M8[D]")
    lengths = ((months + 1).astype("M8[D]") - first).astype(np.int64)
    wrong = ~is_month | (day < 1) | (day > lengths)
    table.refuse_first(wrong, stamp, _NO_TIME)
    numbers: NDArray[np.int64] = first.astype(np.int64) + day - 1
    return numbers


def _clock_seconds(table: FileTable, stamp: int, texts: Any) -> NDArray[np.int64]:
    hour, minute, second = (_whole(texts[name]) for name in ("hour", "minute", "second"))
    half = np.asarray(pc.utf8_lower(texts["half"]))
    wrong = (minute > 59) | (second > 59) | (hour > np.where(half == "", 23, 12))
    wrong |= (half != "") & (hour == 0)
    table.refuse_first(wrong, stamp, _NO_TIME)
    hour = np.where(half == "", hour, hour % 12 + np.where(half == "pm", 12, 0))
    seconds: NDArray[np.int64] = hour * 3600 + minute * 60 + second
    return seconds


def _offset(zone: str) -> int:
    """Return the seconds by which a zone's clock is ahead of UTC; without a zone, India's."""
    if zone in _ZONES:
        return _ZONES[zone]
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (3600 * hours + 60 * minutes) * (-1 if zone[0] == "-" else 1)


def _plausible(table: FileTable, stamp: int, seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    wrong = (seconds < _EARLIEST) | (seconds >= _LATEST)
    table.refuse_first(wrong, stamp, "is not between 1990 and 2100")
    return seconds
