"""Files of bars under common column names, with or without a column that names the instrument."""

import re
from typing import Final

import numpy as np

from apps.engine.candles import TIMEFRAMES
from apps.engine.symbols import EXCHANGES
from apps.market.importers.bar_columns import Instruments, Named
from apps.market.importers.file_format import Profile
from apps.market.importers.instrument_names import apart, groups, named, plain_name
from apps.market.importers.layout import Layout, compared
from apps.market.importers.tables import Table

_NAMED: Final = re.compile(
    rf"(?:(?P<exchange>{'|'.join(EXCHANGES)})_)?(?P<code>[A-Z0-9]+)_(?:{'|'.join(TIMEFRAMES)})[_.].*"
)


def by_column_or_name(table: Table, layout: Layout) -> Instruments:
    """As a column says, else the file's name (`INFY_1m_2024.parquet`, `BSE_SENSEX_1d.csv`)."""
    if layout.symbol is not None:
        of, keys = groups(table, [compared(table.names[layout.symbol])])
        names = [name for (name,) in keys]
        if any(names):
            found = apart([_by_name(name) for name in names], names)
            return Instruments(of, found, f"column {table.names[layout.symbol]}")
    return Instruments(np.zeros(len(table), np.int32), (_by_file(table),), "file name")


def _by_name(name: str) -> Named:
    return named(name, plain_name(name)) if name else Named(name, None, "rows without a symbol")


def _by_file(table: Table) -> Named:
    told = _NAMED.fullmatch(table.name)
    if told is None:
        return Named("", None, "neither a column nor the file's name tells the symbol")
    exchange, code = told["exchange"], told["code"]
    return named("", f"{exchange}:{code}" if exchange else plain_name(code))


PROFILE: Final = Profile(name="columns", instruments=by_column_or_name)
