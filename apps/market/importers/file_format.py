"""What is declared of a format: by what it is known and how its columns are to be taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.market.importers.bar_columns import BarColumns, FileInstruments
from apps.market.importers.layout import COMMON, Layout, Names, positions
from apps.market.importers.stamps import seconds_of
from apps.market.importers.tables import FileTable


class StampSide(Enum):
    """Which side of a bar its stamp marks."""

    START = "start"
    END = "end"


UNITS: Final = "units"
CONTRACTS: Final = "contracts"


def as_they_are(table: FileTable, rows: BarColumns) -> BarColumns:
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """One format. A file has it if its header has all `marks` (names as compared, see layout).

    Stamps are of Asia/Kolkata unless they carry a zone. `stamps` None: the session's hours tell
    which side of their bars they mark. `grouped` numbers are written 1,234.5 or 23.54K. `volume`
    counts units, or contracts where the file does not say how many units one is. `adjusted`: the
    source has adjusted the prices for splits and bonuses up to the day of the file.
    """

    name: str
    instruments: Callable[[FileTable, Layout], FileInstruments]
    marks: frozenset[str] = frozenset()
    columns: Names = field(default_factory=lambda: COMMON)
    seconds: Callable[[FileTable, Layout], NDArray[np.int64]] = seconds_of
    amend: Callable[[FileTable, BarColumns], BarColumns] = as_they_are
    timeframe: str | None = None
    stamps: StampSide | None = None
    grouped: bool = False
    volume: str = UNITS
    adjusted: bool = False

    def knows(self, header: Sequence[str]) -> bool:
        return self.marks <= positions(header).keys()
