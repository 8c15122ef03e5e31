"""Reading the candle files people hold. Works without a database."""

from apps.market.importers.candle_file import Given, Loaded, read_candle_files, read_one_series
from apps.market.importers.cleaner import Part, Report
from apps.market.importers.content import BadCandleFile
from apps.market.importers.file_format import Side

__all__ = [
    "BadCandleFile",
    "Given",
    "Loaded",
    "Part",
    "Report",
    "Side",
    "read_candle_files",
    "read_one_series",
]
