"""BSE's old bhavcopy of shares (14 columns). The symbol of a share is its scrip code, such as
BSE:500325: the file has no other name that is unique. It has no date either: the file's name does
(EQ060521.CSV, or a date such as 2021-05-06).
"""

import re
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.core.times import midnight
from apps.market.importers.bar_columns import FileInstruments
from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats.nse_cash import share_in_series
from apps.market.importers.instrument_names import group_rows
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import FileLayout

_DATES: Final = (
    re.compile(r"EQ(?P<day>[0-9]{2})(?P<month>[0-9]{2})(?P<year>[0-9]{2})[._].*", re.IGNORECASE),
    re.compile(r".*?(?P<year>20[0-9]{2})-?(?P<month>[0-9]{2})-?(?P<day>[0-9]{2}).*"),
)


def by_scrip_code(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, ["sccode", "scgroup"])
    names = tuple(share_in_series("BSE", code, group) for code, group in keys)
    return FileInstruments(by_row, names, "column SC_CODE")


def day_of_name(table: FileTable, layout: FileLayout) -> NDArray[np.int64]:
    """Return the date in the file's name, for each row."""
    matches = (form.fullmatch(table.name) for form in _DATES)
    match = next(filter(None, matches), None)
    if match is None:
        table.refuse("has no column of dates, and its name has no date such as EQ060521.CSV")
    return np.full(len(table), midnight(_date(table, match)), dtype=np.int64)


def _date(table: FileTable, match: re.Match[str]) -> date:
    try:
        return date(int(match["year"]) % 100 + 2000, int(match["month"]), int(match["day"]))
    except ValueError:
        table.refuse("has no column of dates, and the date in its name is none")


FORMAT: Final = FileFormat(
    name="BSE cash bhavcopy",
    marks=frozenset({"sccode", "scname", "scgroup", "noofshrs"}),
    columns={
        "open": ("open",),
        "high": ("high",),
        "low": ("low",),
        "close": ("close",),
        "volume": ("noofshrs",),
    },
    instruments=by_scrip_code,
    seconds=day_of_name,
    timeframe="1d",
)
