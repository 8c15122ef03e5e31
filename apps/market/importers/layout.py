"""Which column of a file holds what, told by the names in its header."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.market.importers.tables import FileTable

PRICES: Final = ("open", "high", "low", "close")
Names = Mapping[str, tuple[str, ...]]
"""By role (PRICES, volume, stamp, clock, symbol): names as compared, the likeliest first."""

# As compared: lower case, letters and digits only ("Open Price" is openprice).
COMMON: Final[Names] = {
    "open": ("open", "o", "openprice"),
    "high": ("high", "h", "highprice"),
    "low": ("low", "l", "lowprice"),
    "close": ("close", "c", "closeprice"),
    "volume": ("volume", "vol", "v", "ttltrdqnty", "tottrdqty", "noofshares"),
    "stamp": (
        "timestamp", "datetime", "date", "time", "ts", "unnamed0", "indexlevel0",
    ),
    "clock": ("time",),
    "symbol": ("symbol", "instrument", "ticker", "tradingsymbol"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the columns, `prices` in the order of PRICES.

    `stamp` is None where the rows have no date of their own; `clock` is the time of day where the
    stamps are dates only.
    """

    stamp: int | None
    clock: int | None
    prices: tuple[int, ...]
    volume: int | None
    symbol: int | None


def layout_of(table: FileTable, names: Names) -> Layout:
    """The file's layout; a header that tells none is refused with what it has and lacks."""
    found = positions(table.names)
    named = {role: _position(found, names, role) for role in (*PRICES, "volume", "symbol")}
    stamp = _stamp(table.names, found, names)
    missing = [role for role in PRICES if named[role] is None]
    if stamp is None and "stamp" in names:
        missing.insert(0, "timestamp (or date, or date and time)")
    if missing:
        table.refuse(
            f"its columns are {', '.join(name or '(unnamed)' for name in table.names)};"
            f" missing: {', '.join(missing)}"
        )
    clock = _position(found, names, "clock") if stamp == found.get("date") else None
    prices = tuple(where for role in PRICES if (where := named[role]) is not None)
    return Layout(stamp, clock, prices, named["volume"], named["symbol"])


def _stamp(header: Sequence[str], found: Mapping[str, int], names: Names) -> int | None:
    """A first column without a name is an index that was written along: of dates, for candles."""
    stamp = _position(found, names, "stamp")
    return 0 if stamp is None and names is COMMON and header[0] == "" else stamp


def number_columns(header: Sequence[str], names: Names) -> Collection[int]:
    """Where prices and volume stand in this header, as far as they do."""
    found = positions(header)
    places = (_position(found, names, role) for role in (*PRICES, "volume"))
    return [place for place in places if place is not None]


def column_index(table: FileTable, name: str) -> int:
    """The position of a column that a format cannot do without, by its name as compared."""
    found = positions(table.names)
    if name not in found:
        table.refuse(f"its columns are {', '.join(table.names)}; missing: {name}")
    return found[name]


def positions(header: Sequence[str]) -> Mapping[str, int]:
    """The first position of each name, as compared."""
    placed = reversed(list(enumerate(header)))
    return {normalise(name): position for position, name in placed}


def normalise(name: str) -> str:
    """A column's name as it is compared."""
    return re.sub("[^a-z0-9]", "", name.lower())


def _position(found: Mapping[str, int], names: Names, role: str) -> int | None:
    return next((found[name] for name in names.get(role, ()) if name in found), None)
