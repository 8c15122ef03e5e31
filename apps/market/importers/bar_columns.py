"""The canonical table of every format: bars as columns, and their instruments."""

from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BarColumns:
    """A file's bars as columns: `time` is a bar's start in epoch seconds UTC, prices are rupees,
    volume is in units unless the format says otherwise. `instrument` i4[n] is an index into the
    file's instruments, `row` i8[n] the row in the file.
    """

    time: NDArray[np.int64]
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]
    instrument: NDArray[np.int32]
    row: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)

    def select(self, selection: Flags | NDArray[np.intp]) -> "BarColumns":
        """Return some of the bars, or all of them in another order."""
        if selection.dtype == np.bool_ and selection.all():
            return self
        return BarColumns(*(getattr(self, column.name)[selection] for column in fields(self)))


@dataclass(frozen=True, slots=True)
class InstrumentName:
    """An instrument of a file, under the file's name for it.

    `symbol` is None if its bars cannot be stored; `reason` tells why in words that can be counted
    together ("strike with decimals"). The exchange is `assumed` if the file names none.
    """

    name_in_file: str
    symbol: str | None
    reason: str = ""
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class FileContract:
    """A derivative as a file states it; a future has no strike and no option type."""

    name_in_file: str
    exchange: str
    root: str
    expiry: date
    strike: Decimal | None = None
    option_type: str = ""


@dataclass(frozen=True, slots=True)
class FileInstruments:
    """The instruments of a file: `by_row` i4[n] is the index in `names` of each row's instrument,
    and `symbol_source` is the source of the names.
    """

    by_row: NDArray[np.int32]
    names: tuple[InstrumentName, ...]
    symbol_source: str
