"""Files of bars under common column names, with or without a column that names the instrument."""

import re
from typing import Final

import numpy as np

from apps.engine.candles import TIMEFRAMES
from apps.engine.symbols import EXCHANGES
from apps.market.importers.bar_columns import FileInstruments, InstrumentName
from apps.market.importers.file_format import FileFormat
from apps.market.importers.instrument_names import (
    group_rows,
    instrument_name,
    resolve_collisions,
    symbol_of_name,
)
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import FileLayout, normalise

_FILE_NAME: Final = re.compile(
    rf"(?:(?P<exchange>{'|'.join(EXCHANGES)})_)?(?P<code>[A-Z0-9]+)_(?:{'|'.join(TIMEFRAMES)})[_.].*"
)


def by_column_or_name(table: FileTable, layout: FileLayout) -> FileInstruments:
    """Find the instruments by a column, else by the file's name (`INFY_1m_2024.parquet`,
    `BSE_SENSEX_1d.csv`).
    """
    if layout.symbol is not None:
        by_row, keys = group_rows(table, [normalise(table.names[layout.symbol])])
        names = [name for (name,) in keys]
        if any(names):
            instruments = resolve_collisions([_by_name(name) for name in names], names)
            return FileInstruments(by_row, instruments, f"column {table.names[layout.symbol]}")
    return FileInstruments(np.zeros(len(table), np.int32), (_by_file(table),), "file name")


def _by_name(name: str) -> InstrumentName:
    if not name:
        return InstrumentName(name, None, "rows without a symbol")
    return instrument_name(name, symbol_of_name(name))


def _by_file(table: FileTable) -> InstrumentName:
    match = _FILE_NAME.fullmatch(table.name)
    if match is None:
        return InstrumentName("", None, "neither a column nor the file's name tells the symbol")
    exchange, code = match["exchange"], match["code"]
    return instrument_name("", f"{exchange}:{code}" if exchange else symbol_of_name(code))


FORMAT: Final = FileFormat(name="columns", instruments=by_column_or_name)
