"""Which column of a file holds what, by the names in its header."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.market.importers.tables.file_table import FileTable

PRICES: Final = ("open", "high", "low", "close")
# Normalised column names by role (PRICES, volume, stamp, clock, symbol), the likeliest first.
Names = Mapping[str, tuple[str, ...]]

# Normalised: lower case, letters and digits only ("Open Price" is openprice).
COMMON: Final[Names] = {
    "open": ("open", "o", "openprice"),
    "high": ("high", "h", "highprice"),
    "low": ("low", "l", "lowprice"),
    "close": ("close", "c", "closeprice"),
    "volume": ("volume", "vol", "v", "ttltrdqnty", "tottrdqty", "noofshares"),
    "stamp": (
        "timestamp",
        "datetime",
        "date",
        "time",
        "ts",
        "unnamed0",
        "indexlevel0",
    ),
    "clock": ("time",),
    "symbol": ("symbol", "instrument", "ticker", "tradingsymbol"),
}


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Indices of the columns, `prices` in the order of PRICES.

    `stamp` is None where the rows have no date of their own; `clock` is the time of day where the
    stamps are dates only.
    """

    stamp: int | None
    clock: int | None
    prices: tuple[int, ...]
    volume: int | None
    symbol: int | None


def layout_of(table: FileTable, names: Names) -> FileLayout:
    """Return the file's layout; refuse a header that has none with what it has and lacks."""
    header = column_positions(table.names)
    columns = {role: _position(header, names, role) for role in (*PRICES, "volume", "symbol")}
    stamp = _position(header, names, "stamp")
    if stamp is None and names is COMMON and table.names[0] == "":
        stamp = 0  # an index that was written along: of dates, for candles
    missing = [role for role in PRICES if columns[role] is None]
    if stamp is None and "stamp" in names:
        missing.insert(0, "timestamp (or date, or date and time)")
    if missing:
        table.refuse(
            f"its columns are {', '.join(name or '(unnamed)' for name in table.names)};"
            f" missing: {', '.join(missing)}"
        )
    clock = _position(header, names, "clock") if stamp == header.get("date") else None
    prices = tuple(index for role in PRICES if (index := columns[role]) is not None)
    return FileLayout(stamp, clock, prices, columns["volume"], columns["symbol"])


def number_columns(header: Sequence[str], names: Names) -> Collection[int]:
    """Return the indices of prices and volume in this header, as far as it has them."""
    known = column_positions(header)
    indices = (_position(known, names, role) for role in (*PRICES, "volume"))
    return [index for index in indices if index is not None]


def column_index(table: FileTable, name: str) -> int:
    """Return the index of a column that a format needs, by its normalised name."""
    header = column_positions(table.names)
    if name not in header:
        table.refuse(f"its columns are {', '.join(table.names)}; missing: {name}")
    return header[name]


def column_positions(header: Sequence[str]) -> Mapping[str, int]:
    """Return the first index of each normalised name."""
    columns = reversed(list(enumerate(header)))
    return {normalise(name): index for index, name in columns}


def normalise(name: str) -> str:
    """Return a column's name as names are compared."""
    return re.sub("[^a-z0-9]", "", name.lower())


def _position(header: Mapping[str, int], names: Names, role: str) -> int | None:
    return next((header[name] for name in names.get(role, ()) if name in header), None)
