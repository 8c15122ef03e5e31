"""The declaration of a file format: how it is recognised and how its columns are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.market.importers.bar_columns import BarColumns, FileInstruments
from apps.market.importers.tables.file_table import FileTable
from apps.market.importers.tables.layout import COMMON, FileLayout, Names, column_positions
from apps.market.importers.tables.timestamps import StampSide, seconds_of

UNITS: Final = "units"
CONTRACTS: Final = "contracts"


def unchanged(table: FileTable, rows: BarColumns) -> BarColumns:
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """One format. A file has it if its header has all `marks` (normalised names, see `layout`).

    Stamps are in Asia/Kolkata unless they carry a zone; with `stamps` None the session's hours show
    which side of a bar they mark. `grouped` numbers are written 1,234.5 or 23.54K. `volume` counts
    units, or contracts where the file does not say how many units one is. `adjusted` says that the
    source adjusted the prices for splits and bonuses up to the day of the file.
    """

    name: str
    instruments: Callable[[FileTable, FileLayout], FileInstruments]
    marks: frozenset[str] = frozenset()
    columns: Names = field(default_factory=lambda: COMMON)
    seconds: Callable[[FileTable, FileLayout], NDArray[np.int64]] = seconds_of
    amend: Callable[[FileTable, BarColumns], BarColumns] = unchanged
    timeframe: str | None = None
    stamps: StampSide | None = None
    grouped: bool = False
    volume: str = UNITS
    adjusted: bool = False

    def matches(self, header: Sequence[str]) -> bool:
        return self.marks <= column_positions(header).keys()
