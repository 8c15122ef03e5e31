"""Minutes of Lean's data folder as one table: a date, milliseconds since midnight, prices.

Prices of shares are whole numbers of a ten-thousandth of a rupee, those of indices are rupees: an
instrument with a price that is not a whole number has rupees.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apps.market.importers.bar_columns import BarColumns, FileInstruments
from apps.market.importers.file_format import FileFormat
from apps.market.importers.instrument_names import group_rows, instrument_name, symbol_of_name
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import COMMON, PRICES, FileLayout, column_index
from apps.market.importers.tables.timestamps import StampSide, seconds_of

_SCALE: Final = 10_000.0


def by_symbol_column(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, ["symbol"])
    names = tuple(instrument_name(name, symbol_of_name(name)) for (name,) in keys)
    return FileInstruments(by_row, names, "column symbol")


def since_midnight(table: FileTable, layout: FileLayout) -> NDArray[np.int64]:
    column = column_index(table, "mssincemidnight")
    milliseconds = table.cast(column, pa.int64(), "is no number of milliseconds")
    seconds: NDArray[np.int64] = milliseconds.to_numpy() // 1000
    return seconds_of(table, layout) + seconds


def in_rupees(table: FileTable, rows: BarColumns) -> BarColumns:
    prices = [getattr(rows, name) for name in PRICES]
    broken = np.any([column != np.rint(column) for column in prices], axis=0)
    are_rupees = np.isin(rows.instrument, np.unique(rows.instrument[broken]))
    divisor = np.where(are_rupees, 1.0, _SCALE)
    open_, high, low, close = (column / divisor for column in prices)
    return replace(rows, open=open_, high=high, low=low, close=close)


FORMAT: Final = FileFormat(
    name="Lean",
    marks=frozenset({"symbol", "date", "entry", "mssincemidnight"}),
    columns={**COMMON, "stamp": ("date",)},
    instruments=by_symbol_column,
    seconds=since_midnight,
    amend=in_rupees,
    stamps=StampSide.START,
)
