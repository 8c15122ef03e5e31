"""MCX: the bhavcopy of its web site, and files of contracts by the minute.

The bhavcopy's volume counts lots, its numbers are grouped by commas, its names padded. Contracts
by the minute are named by their day of expiry (CRUDEOIL17JUL255700CE); such a file has rows without
a symbol where a file of another length was joined in, and those are left out.
"""

from typing import Final

from apps.market.importers.bar_columns import FileInstruments, InstrumentName
from apps.market.importers.file_format import CONTRACTS, FileFormat
from apps.market.importers.instrument_names import (
    FileContract,
    day_first_contract,
    group_rows,
    name_contracts,
    resolve_collisions,
    strike_of,
)
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import COMMON, FileLayout
from apps.market.importers.tables.timestamps import expiry_day

_KEY: Final = ("symbol", "expirydate", "strikeprice", "optiontype")


def by_expiry(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, _KEY)
    names = name_contracts(_contract(table, key) for key in keys)
    names_in_file = [name.name_in_file for name in names]
    return FileInstruments(by_row, resolve_collisions(names, names_in_file), "its contract")


def _contract(table: FileTable, key: tuple[str, ...]) -> FileContract:
    root, expiry, strike, option_type = key
    day, name_in_file = expiry_day(table, expiry), " ".join(filter(None, key))
    if option_type not in ("CE", "PE"):
        return FileContract(name_in_file, "MCX", root, day)
    return FileContract(name_in_file, "MCX", root, day, strike_of(table, strike), option_type)


def by_name(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, ["symbol"])
    raw = [name for (name,) in keys]
    names = name_contracts(map(_by_name, raw))
    return FileInstruments(by_row, resolve_collisions(names, raw), "column symbol")


def _by_name(name: str) -> FileContract | InstrumentName:
    if not name:
        return InstrumentName(name, None, "rows without a symbol")
    reason = "names that are no contract, such as CRUDEOIL17JUL255700CE"
    return day_first_contract(name, "MCX") or InstrumentName(name, None, reason)


BHAVCOPY: Final = FileFormat(
    name="MCX bhavcopy",
    marks=frozenset({"symbol", "expirydate", "optiontype", "strikeprice", "volumelots"}),
    columns={**COMMON, "volume": ("volumelots",), "stamp": ("date",)},
    instruments=by_expiry,
    timeframe="1d",
    grouped=True,
    volume=CONTRACTS,
)
CONTRACT_MINUTES: Final = FileFormat(
    name="MCX contracts by the minute",
    marks=frozenset({"file", "timestamp", "symbol", "strike", "optiontype"}),
    instruments=by_name,
)
