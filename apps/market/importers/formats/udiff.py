"""The bhavcopy that all exchanges publish since July 2024 (UDiFF, 34 columns).

Cash rows go by series, on BSE by group, as in the older files. NSE counts the volume of derivatives
in contracts, which `NewBrdLotQty` turns into units; BSE counts units. On its last day BSE states an
option's close as the index level, so its last price is taken.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apps.market.importers.bar_columns import BarColumns, FileInstruments, Flags, InstrumentName
from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats.nse_cash import share_in_series
from apps.market.importers.instrument_names import (
    FileContract,
    group_rows,
    name_contracts,
    resolve_collisions,
    strike_of,
)
from apps.market.importers.tables.file_table import Column, FileTable
from apps.market.importers.tables.layout import FileLayout, column_index
from apps.market.importers.tables.timestamps import expiry_day

_KEY: Final = (
    "src",
    "fininstrmtp",
    "tckrsymb",
    "sctysrs",
    "xprydt",
    "strkpric",
    "optntp",
)
_EXCHANGES: Final = {"NSE": "NSE", "BSE": "BSE", "MCX": "MCX", "MCXCCL": "MCX", "NCDEX": "NCDEX"}
_FUTURES: Final = frozenset({"IDF", "STF", "COF"})
_OPTIONS: Final = frozenset({"IDO", "STO", "COO", "FUO"})


def by_kind(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, _KEY)
    names = name_contracts(_cash(key) or _contract(table, key) for key in keys)
    raw = ["|".join(key[2:3] + key[4:]) for key in keys]
    return FileInstruments(by_row, resolve_collisions(names, raw), "TckrSymb")


def _cash(key: tuple[str, ...]) -> InstrumentName | None:
    """Return the name of a row that is not a contract, None for a contract."""
    source, kind, name, series, *_ = key
    exchange = _EXCHANGES.get(source)
    if exchange is None:
        return InstrumentName(name, None, f"exchange {source!r}")
    if kind in _FUTURES or kind in _OPTIONS:
        return None
    if kind != "STK":
        return InstrumentName(name, None, f"instruments of type {kind!r}")
    return share_in_series(exchange, name, series)


def _contract(table: FileTable, key: tuple[str, ...]) -> FileContract:
    source, kind, root, _, expiry, strike, option_type = key
    day, name_in_file = expiry_day(table, expiry), " ".join(filter(None, key[2:]))
    if kind in _FUTURES:
        return FileContract(name_in_file, _EXCHANGES[source], root, day)
    return FileContract(
        name_in_file, _EXCHANGES[source], root, day, strike_of(table, strike), option_type
    )


def in_units(table: FileTable, rows: BarColumns) -> BarColumns:
    """Return the rows with volume in units, and with closes that are prices of the option."""
    derivative = pc.is_in(_text(table, "fininstrmtp"), pa.array(sorted(_FUTURES | _OPTIONS)))
    of_nse = np.asarray(derivative) & _is(table, "src", "NSE")
    volume, close = rows.volume, rows.close
    if of_nse.any():
        lots = table.cast(column_index(table, "newbrdlotqty"), pa.float64(), "is no lot size")
        volume = np.where(of_nse, volume * lots.to_numpy(), volume)
    last_day = _expiring_options_of_bse(table)
    if last_day.any():
        prices = table.cast(column_index(table, "lastpric"), pa.float64(), "is no price")
        close = np.where(last_day, prices.to_numpy(), close)
    return replace(rows, volume=volume, close=close)


def _expiring_options_of_bse(table: FileTable) -> Flags:
    option = pc.is_in(_text(table, "fininstrmtp"), pa.array(sorted(_OPTIONS)))
    last_day = pc.equal(_text(table, "xprydt"), _text(table, "traddt"))
    flags: Flags = np.asarray(option) & np.asarray(last_day) & _is(table, "src", "BSE")
    return flags


def _is(table: FileTable, name: str, value: str) -> Flags:
    return np.asarray(pc.equal(_text(table, name), pa.scalar(value)))


def _text(table: FileTable, name: str) -> Column:
    return table.columns[column_index(table, name)]


FORMAT: Final = FileFormat(
    name="UDiFF bhavcopy",
    marks=frozenset({"traddt", "fininstrmtp", "tckrsymb", "opnpric", "clspric"}),
    columns={
        "open": ("opnpric",),
        "high": ("hghpric",),
        "low": ("lwpric",),
        "close": ("clspric",),
        "volume": ("ttltradgvol",),
        "stamp": ("traddt",),
    },
    instruments=by_kind,
    amend=in_units,
    timeframe="1d",
)
