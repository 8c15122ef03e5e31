"""Global Datafeeds: one file a day, all contracts by the minute.

Tickers end in their segment: `RELIANCE.NSE`, `BANKNIFTY26MAY2643000PE.NFO`. Continuous futures
(`NIFTY-I.NFO`) are not contracts and have no symbol. Its stamps mark the end of a minute, most of
them as its last second (09:15:59).
"""

from typing import Final

from apps.market.importers.bar_columns import FileInstruments, InstrumentName
from apps.market.importers.file_format import FileFormat
from apps.market.importers.instrument_names import (
    FileContract,
    day_first_contract,
    group_rows,
    instrument_name,
    name_contracts,
    resolve_collisions,
    share_symbol,
)
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import COMMON, FileLayout
from apps.market.importers.tables.timestamps import StampSide

_SEGMENTS: Final = {
    "NSE": "NSE",
    "NFO": "NSE",
    "NSE_IDX": "NSE",
    "BSE": "BSE",
    "BFO": "BSE",
    "BSE_IDX": "BSE",
    "MCX": "MCX",
    "NCX": "NCDEX",
}
_CASH: Final = frozenset({"NSE", "NSE_IDX", "BSE", "BSE_IDX"})


def _instruments_by_ticker(table: FileTable, layout: FileLayout) -> FileInstruments:
    by_row, keys = group_rows(table, ["ticker"])
    tickers = [ticker for (ticker,) in keys]
    names = name_contracts(map(_by_ticker, tickers))
    return FileInstruments(by_row, resolve_collisions(names, tickers), "column Ticker")


def _by_ticker(ticker: str) -> FileContract | InstrumentName:
    name, _, segment = ticker.rpartition(".")
    exchange = _SEGMENTS.get(segment)
    if exchange is None:
        return InstrumentName(ticker, None, f"segment {segment!r}")
    if segment in _CASH:
        return instrument_name(ticker, share_symbol(exchange, name))
    contract = day_first_contract(name, exchange)
    return contract or InstrumentName(
        ticker, None, "continuous futures and other names of no one contract"
    )


FORMAT: Final = FileFormat(
    name="Global Datafeeds",
    marks=frozenset({"ticker", "date", "time", "open", "openinterest"}),
    columns={**COMMON, "symbol": ("ticker",)},
    instruments=_instruments_by_ticker,
    stamps=StampSide.END,
)
