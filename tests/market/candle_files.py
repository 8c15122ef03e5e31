"""A file of one instrument, for tests."""

from pathlib import Path
from typing import Any

from apps.engine.candles import Candles
from apps.market.candles.quality import Quality, inspect
from apps.market.importers import ImportOptions, ImportReport, read_one_series
from apps.market.rulebook.sessions import sessions_of


class ImportedSeries:
    """The content of a file; `given` are the fields of Given."""

    symbol: str
    timeframe: str
    candles: Candles
    report: ImportReport
    name_in_file: str
    symbol_source: str

    def __init__(self, path: Path, **given: Any) -> None:
        loaded, part = read_one_series(path, ImportOptions(**given))
        self.symbol, self.name_in_file, self.candles = part.symbol, part.name_in_file, part.candles
        self.timeframe, self.report, self.symbol_source = (
            loaded.timeframe,
            loaded.report,
            loaded.symbol_source,
        )

    @property
    def quality(self) -> Quality:
        return inspect(self.symbol, self.candles, self.timeframe, sessions_of(self.symbol))


def dates(days: Any) -> list[str]:
    """Return day numbers as YYYY-MM-DD."""
    return [str(day) for day in days.astype("M8[D]")]
