"""NSE's old bhavcopy of futures and options.

Its volume counts contracts, and it does not say how many units one is.
"""

from typing import Final

from apps.market.importers.bar_columns import FileInstruments
from apps.market.importers.file_format import CONTRACTS, FileFormat
from apps.market.importers.instrument_names import (
    FileContract,
    contract_names,
    group_rows,
    resolve_collisions,
    strike_of,
)
from apps.market.importers.layout import Layout
from apps.market.importers.tables import FileTable
from apps.market.importers.timestamps import day_of

_KEY: Final = ("symbol", "expirydt", "strikepr", "optiontyp")
_FUTURE: Final = "XX"


def by_contract(table: FileTable, layout: Layout) -> FileInstruments:
    of, keys = group_rows(table, _KEY)
    each = contract_names(_contract(table, key) for key in keys)
    return FileInstruments(
        of, resolve_collisions(each, [one.called for one in each]), "its contract"
    )


def _contract(table: FileTable, key: tuple[str, ...]) -> FileContract:
    root, expiry, strike, option_type = key
    day, called = day_of(table, expiry), " ".join(key)
    if option_type == _FUTURE:
        return FileContract(called, "NSE", root, day)
    return FileContract(called, "NSE", root, day, strike_of(table, strike), option_type)


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
