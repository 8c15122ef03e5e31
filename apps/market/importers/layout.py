"""Which column of a file holds what, told by the names in its header."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.market.importers.tables import Table

PRICES: Final = ("open", "high", "low", "close")
# Names as compared: lower case, letters and digits only ("Open Price" is openprice).
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "open": ("open", "o", "openprice"),
    "high": ("high", "h", "highprice"),
    "low": ("low", "l", "lowprice"),
    "close": ("close", "c", "closeprice"),
    "volume": ("volume", "vol", "v", "ttltrdqnty", "tottrdqty", "noofshares"),
    "symbol": ("symbol", "instrument", "ticker", "tradingsymbol"),
}
_STAMPS: Final = ("timestamp", "datetime", "date", "time", "ts", "", "unnamed0", "indexlevel0")


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of the columns, `prices` in the order of PRICES.

    `clock` is the time of day where the stamps are dates only.
    """

    stamp: int
    clock: int | None
    prices: tuple[int, ...]
    volume: int | None
    symbol: int | None


def layout_of(table: Table) -> Layout:
    """The file's layout; a header that tells none is refused with what it has and lacks."""
    found = _found(table.names)
    stamp = next((found[name] for name in _STAMPS if name in found), None)
    named = {field: _position(found, field) for field in _NAMES}
    missing = [field for field in PRICES if named[field] is None]
    if stamp is None:
        missing.insert(0, "timestamp (or date, or date and time)")
    if stamp is None or missing:
        table.refuse(
            f"its columns are {', '.join(name or '(unnamed)' for name in table.names)};"
            f" missing: {', '.join(missing)}"
        )
    clock = found.get("time") if stamp == found.get("date") else None
    prices = tuple(where for field in PRICES if (where := named[field]) is not None)
    return Layout(stamp, clock, prices, named["volume"], named["symbol"])


def number_columns(names: Sequence[str]) -> Collection[int]:
    """Where prices and volume stand under these names, as far as they do."""
    found = _found(names)
    positions = (_position(found, field) for field in (*PRICES, "volume"))
    return [position for position in positions if position is not None]


def _found(names: Sequence[str]) -> Mapping[str, int]:
    """The first position of each name, as compared."""
    positions = reversed(list(enumerate(names)))
    return {re.sub("[^a-z0-9]", "", name.lower()): position for position, name in positions}


def _position(found: Mapping[str, int], field: str) -> int | None:
    return next((found[name] for name in _NAMES[field] if name in found), None)
