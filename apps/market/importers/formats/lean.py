"""Minutes of Lean's data folder as one table: a date, milliseconds since midnight, prices.

Prices of shares are whole numbers of a ten-thousandth of a rupee, those of indices are rupees: an
instrument with a price that is no whole number has rupees.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apps.market.importers.bar_columns import Instruments, Rows
from apps.market.importers.file_format import Profile, Side
from apps.market.importers.instrument_names import groups, named, plain_name
from apps.market.importers.layout import COMMON, PRICES, Layout, place_of
from apps.market.importers.stamps import seconds_of
from apps.market.importers.tables import Table

_SCALE: Final = 10_000.0


def by_symbol(table: Table, layout: Layout) -> Instruments:
    of, keys = groups(table, ["symbol"])
    each = tuple(named(name, plain_name(name)) for (name,) in keys)
    return Instruments(of, each, "column symbol")


def since_midnight(table: Table, layout: Layout) -> NDArray[np.int64]:
    column = place_of(table, "mssincemidnight")
    milliseconds = table.cast(column, pa.int64(), "is no number of milliseconds")
    seconds: NDArray[np.int64] = milliseconds.to_numpy() // 1000
    return seconds_of(table, layout) + seconds


def in_rupees(table: Table, rows: Rows) -> Rows:
    prices = [getattr(rows, name) for name in PRICES]
    broken = np.any([column != np.rint(column) for column in prices], axis=0)
    in_rupees = np.isin(rows.of, np.unique(rows.of[broken]))
    divisor = np.where(in_rupees, 1.0, _SCALE)
    return rows.priced(*(column / divisor for column in prices))


PROFILE: Final = Profile(
    name="Lean",
    marks=frozenset({"symbol", "date", "entry", "mssincemidnight"}),
    columns={**COMMON, "stamp": ("date",)},
    instruments=by_symbol,
    seconds=since_midnight,
    amend=in_rupees,
    stamps=Side.START,
)
