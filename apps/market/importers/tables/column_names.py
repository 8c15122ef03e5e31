"""The meaning of a file's columns: one table of the names that exchanges, brokers and programs use
for the columns of candles.

Names are compared without case, blanks, punctuation and plain units in brackets: `Open Price`,
`OPEN_PRICE` and `Open Price (Rs.)` are one name. Lots and thousands are other volumes than shares.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apps.market.importers.tables.file_table import Column, FileTable

PRICES: Final = ("open", "high", "low", "close")
UNITS: Final = "units"
CONTRACTS: Final = "contracts"
# Normalised names by role, the likeliest first.
Names = Mapping[str, tuple[str, ...]]

_NAMES: Final = {
    "stamp": "timestamp datetime date time ts t date1 traddt tradedate indexdate chtimestamp"
    " tradingdate unnamed0 indexlevel0",
    "clock": "time",
    "open": "open o openprice openingprice openindexvalue opnpric chopeningprice into",
    "high": "high h highprice highindexvalue hghpric chtradehighprice inth",
    "low": "low l lowprice lowindexvalue lwpric chtradelowprice intl",
    "close": "close c closeprice closingprice closingindexvalue clspric chclosingprice intc price",
    "volume": "intv volume vol v totaltradedquantity totaltradedqty ttltrdqnty tottrdqty"
    " ttltradgvol chtottradedqty tradedquantity tradedqty tradedvolume totalvolume noofshares"
    " noofshrs quantity qty",
    "contracts": "contracts volumelots vollots",
    "symbol": "symbol instrument ticker tradingsymbol chsymbol indexname",
    "series": "series chseries",
}
COLUMNS: Final[Names] = {role: tuple(names.split()) for role, names in _NAMES.items()}
# Columns of many files that candles do not need. They may look like needed columns, and are not.
_NOT_READ: Final = re.compile(
    "adjclose|averageprice|avgprice|capitalgains|chg|change|chtotaltrades|deliverableqty"
    "|deliverablevolume|delivqty|dlyqttotradedqty|exchangecode|dividends|stocksplits|tickvol|isin"
    "|chisin|stockcode|tottrdval|vwap|volumein000s|companyname|nooftrades|entry|file"
)
_UNIT: Final = re.compile(r"[(\[] ?(?:shares|nos?\.?|units|qty\.?|rs\.?|inr|%) ?[)\]]")
_VOLUME_LIKE: Final = re.compile(r"vol|qty|quantity|quant|shares$")
_INSTRUMENT_LIKE: Final = re.compile(r"symbol|ticker|instrument|scrip|security|contract|underlying")
_ADJUSTED_LIKE: Final = re.compile(r"^adj|adjusted")


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Indices of the columns, `prices` in the order of PRICES; None for a missing one.

    `clock` is the time of day if the stamps are dates. `volume_unit` is the unit of the volume.
    `not_read` are the names of unused columns.
    """

    stamp: int | None
    clock: int | None
    prices: tuple[int, ...]
    volume: int | None
    symbol: int | None
    series: int | None
    volume_unit: str = UNITS
    not_read: tuple[str, ...] = ()

    def numbers(self) -> Collection[int]:
        """Return the columns of prices and volume."""
        return [*self.prices, *([] if self.volume is None else [self.volume])]


@dataclass(frozen=True, slots=True)
class _Header:
    """The columns of each normalised name, and the names to look for."""

    positions: Mapping[str, Sequence[int]]
    roles: Names = field(default_factory=lambda: COLUMNS)

    def first(self, role: str) -> int | None:
        names = (name for name in self.roles[role] if name in self.positions)
        return next((self.positions[name][0] for name in names), None)

    def all(self, role: str) -> list[int]:
        names = (name for name in self.roles[role] if name in self.positions)
        return [index for name in names for index in self.positions[name]]


def layout_of(
    table: FileTable, *, known: bool = False, ignored: Collection[str] = ()
) -> FileLayout:
    """Return the layout of a file.

    Refuses a header that lacks a price. Unless the format is `known`, it refuses an unread column
    that looks like a volume, an instrument or an adjusted price, except the names in `ignored`.
    """
    header = _Header(_positions(table.names))
    prices = {role: header.first(role) for role in PRICES}
    missing = [role for role, index in prices.items() if index is None]
    if missing:
        shown = ", ".join(name or "(unnamed)" for name in table.names)
        if header.first("stamp") is None:
            missing.insert(0, "timestamp (or date, or date and time)")
        table.refuse(f"its columns are {shown}; missing: {', '.join(missing)}")
    stamp = header.first("stamp")
    if stamp is None and table.names[0] == "":
        stamp = 0  # an index that was written along: of dates, for candles
    # `time` beside `date` is a clock; alone it is the stamp.
    is_date = stamp is not None and normalise(table.names[stamp]) == "date"
    volume, unit = _volume(table, header)
    layout = FileLayout(
        stamp,
        header.first("clock") if is_date else None,
        tuple(index for index in prices.values() if index is not None),
        volume,
        header.first("symbol"),
        header.first("series"),
        unit,
    )
    used = {layout.stamp, layout.clock, *layout.numbers(), layout.symbol, layout.series}
    unread = [index for index in range(len(table.names)) if index not in used]
    if not known:
        _refuse_misread(table, layout, unread, {normalise(name) for name in ignored})
    names = tuple(table.names[index] for index in unread if table.names[index])
    return replace(layout, not_read=names)


def _volume(table: FileTable, header: _Header) -> tuple[int | None, str]:
    """Return the first non-blank column of volume, else the first, and its unit."""
    units = header.all("volume")
    for index in units:
        if not is_blank(table.columns[index]):
            return index, UNITS
    contracts = header.first("contracts")
    if contracts is not None:
        return contracts, CONTRACTS
    return (units[0] if units else None), UNITS


def _refuse_misread(
    table: FileTable, layout: FileLayout, unread: Sequence[int], ignored: Collection[str]
) -> None:
    for index in unread:
        name = normalise(table.names[index])
        if name in ignored or is_blank(table.columns[index]):
            continue
        meaning = _meaning(table, layout, index, name)
        if meaning:
            table.refuse(
                f"its column {table.names[index]!r} looks like {meaning} and is not read; name it"
                " as a column to ignore if the bars are right without it"
            )


def _meaning(table: FileTable, layout: FileLayout, index: int, name: str) -> str | None:
    """Return a possible meaning of an unread column that would change the bars; else None."""
    if layout.volume is None and (name == "tickvol" or _VOLUME_LIKE.search(name)):
        return "a volume"
    if _NOT_READ.fullmatch(name):
        return None
    if _ADJUSTED_LIKE.search(name):
        return "an adjusted price"
    several = len(pc.unique(table.columns[index])) > 1
    if _INSTRUMENT_LIKE.search(name) and (several or layout.symbol is None):
        return "an instrument"
    return None


def column_index(table: FileTable, name: str) -> int:
    """Return the index of a column that a format needs, by its normalised name."""
    positions = _positions(table.names)
    if name not in positions:
        table.refuse(f"its columns are {', '.join(table.names)}; missing: {name}")
    return positions[name][0]


def names_of(header: Sequence[str]) -> Collection[str]:
    """Return the normalised names of a header."""
    return _positions(header).keys()


def likely_numbers(header: Sequence[str]) -> Collection[int]:
    """Return the columns that are prices or volumes by their names."""
    roles = _Header(_positions(header))
    return [index for role in (*PRICES, "volume", "contracts") for index in roles.all(role)]


def is_blank(column: Column) -> bool:
    """Return whether every value is missing, empty or 0."""
    if pa.types.is_string(column.type):
        return not pc.any(pc.invert(pc.is_in(column, pa.array(["", "0", "NaN", "-"])))).as_py()
    if pa.types.is_floating(column.type):
        return not np.nan_to_num(column.to_numpy()).any()
    return not pc.any(pc.not_equal(column, pa.scalar(0, column.type))).as_py()


def normalise(name: str) -> str:
    """Return a column's name normalised for comparison, without a bracket that contains only its
    unit.
    """
    return re.sub("[^a-z0-9]", "", _UNIT.sub("", name.lower()))


def _positions(header: Sequence[str]) -> Mapping[str, Sequence[int]]:
    positions: dict[str, list[int]] = {}
    for index, name in enumerate(header):
        positions.setdefault(normalise(name), []).append(index)
    return positions
