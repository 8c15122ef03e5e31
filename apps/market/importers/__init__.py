"""Reading the candle files people hold. Works without a database."""

from apps.market.importers.candle_file import Loaded, read_candle_file
from apps.market.importers.checks import Report
from apps.market.importers.tables import BadCandleFile

__all__ = ["BadCandleFile", "Loaded", "Report", "read_candle_file"]
