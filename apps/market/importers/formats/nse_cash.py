"""NSE's bhavcopies of the cash market: the old one of 13 columns, and the full one with delivery.

Rows are told apart by symbol and series: EQ, BE and BZ are one share (BE and BZ while it is traded
for delivery only). Shares, funds and units of trusts are recognised as in masters; everything else
that is listed there (bonds, debentures, gold bonds, lots traded in blocks) has no symbol here.
"""

from typing import Final

from apps.market.importers.bar_columns import FileInstruments, InstrumentName
from apps.market.importers.file_format import FileFormat
from apps.market.importers.instrument_names import (
    group_rows,
    instrument_name,
    resolve_collisions,
    share_symbol,
)
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import FileLayout
from apps.symbols.importers import RejectedRow, rank_of

_PRICES: Final = {
    "open": ("open", "openprice"),
    "high": ("high", "highprice"),
    "low": ("low", "lowprice"),
    "close": ("close", "closeprice"),
}


def by_series(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, ["symbol", "series"])
    names = [share_in_series("NSE", name, series) for name, series in keys]
    raw = [name for name, _ in keys]
    return FileInstruments(by_row, resolve_collisions(names, raw), "column SYMBOL")


def share_in_series(exchange: str, name: str, series: str) -> InstrumentName:
    try:
        rank_of(exchange, series=series)
    except RejectedRow:
        return InstrumentName(name, None, "series that are no shares")
    return instrument_name(name, share_symbol(exchange, name))


OLD: Final = FileFormat(
    name="NSE cash bhavcopy",
    marks=frozenset({"symbol", "series", "tottrdqty", "timestamp"}),
    columns=_PRICES | {"volume": ("tottrdqty",), "stamp": ("timestamp",)},
    instruments=by_series,
    timeframe="1d",
)
FULL: Final = FileFormat(
    name="NSE full bhavcopy",
    marks=frozenset({"symbol", "series", "date1", "ttltrdqnty"}),
    columns=_PRICES | {"volume": ("ttltrdqnty",), "stamp": ("date1",)},
    instruments=by_series,
    timeframe="1d",
)
