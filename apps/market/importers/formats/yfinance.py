"""Files that yfinance saved: with one line of names, or with three that also name the ticker.

Yahoo adjusts all prices for splits and bonuses up to the day of the download; `Adj Close`, which is
adjusted for dividends too, is not read. It has days without a trade as flat bars of no volume.
"""

from typing import Final

import numpy as np

from apps.market.importers.bar_columns import FileInstruments
from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats.plain import by_column_or_name
from apps.market.importers.instrument_names import instrument_name, share_symbol
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import FileLayout

_SUFFIXES: Final = {"NS": "NSE", "BO": "BSE"}


def _instruments_by_ticker(table: FileTable, layout: FileLayout) -> FileInstruments:
    if table.name_in_file is None:
        return by_column_or_name(table, layout)
    name, _, suffix = table.name_in_file.rpartition(".")
    exchange = _SUFFIXES.get(suffix)
    if exchange is None:
        table.refuse(f"its ticker {table.name_in_file} is none of NSE (.NS) or BSE (.BO)")
    share = instrument_name(table.name_in_file, share_symbol(exchange, name))
    return FileInstruments(np.zeros(len(table), np.int32), (share,), "line 2")


FORMAT: Final = FileFormat(
    name="yfinance",
    marks=frozenset({"adjclose", "open", "high", "low", "close"}),
    instruments=_instruments_by_ticker,
    adjusted=True,
)
