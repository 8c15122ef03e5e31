"""Import of candle files; it works without a database."""

from apps.market.importers.bar_times import StampSide
from apps.market.importers.candle_file import (
    CandleImport,
    ImportOptions,
    read_candle_files,
    read_one_series,
)
from apps.market.importers.cleaner import ImportReport, InstrumentBars
from apps.market.importers.tables.content import BadCandleFile

__all__ = [
    "BadCandleFile",
    "CandleImport",
    "ImportOptions",
    "ImportReport",
    "InstrumentBars",
    "StampSide",
    "read_candle_files",
    "read_one_series",
]
