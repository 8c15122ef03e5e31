"""NSE's old bhavcopy of futures and options.

Its volume counts contracts, and it does not say how many units one is.
"""

from typing import Final

from apps.market.importers.bar_columns import FileInstruments
from apps.market.importers.file_format import CONTRACTS, FileFormat
from apps.market.importers.instrument_names import (
    FileContract,
    group_rows,
    name_contracts,
    resolve_collisions,
    strike_of,
)
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import FileLayout
from apps.market.importers.tables.timestamps import expiry_day

_KEY: Final = ("symbol", "expirydt", "strikepr", "optiontyp")
_FUTURE: Final = "XX"


def by_contract(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, _KEY)
    names = name_contracts(_contract(table, key) for key in keys)
    names_in_file = [name.name_in_file for name in names]
    return FileInstruments(by_row, resolve_collisions(names, names_in_file), "its contract")


def _contract(table: FileTable, key: tuple[str, ...]) -> FileContract:
    root, expiry, strike, option_type = key
    day, name_in_file = expiry_day(table, expiry), " ".join(key)
    if option_type == _FUTURE:
        return FileContract(name_in_file, "NSE", root, day)
    return FileContract(name_in_file, "NSE", root, day, strike_of(table, strike), option_type)


FORMAT: Final = FileFormat(
    name="NSE F&O bhavcopy",
    marks=frozenset({"symbol", "expirydt", "strikepr", "optiontyp", "contracts"}),
    columns={
        "open": ("open",),
        "high": ("high",),
        "low": ("low",),
        "close": ("close",),
        "volume": ("contracts",),
        "stamp": ("timestamp",),
    },
    instruments=by_contract,
    timeframe="1d",
    volume=CONTRACTS,
)
