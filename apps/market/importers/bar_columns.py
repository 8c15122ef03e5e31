"""The one canonical table that every format is read into."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BarColumns:
    """A file's bars as columns: `time` epoch seconds UTC of a bar's start, prices in rupees,
    volume in units unless the format says otherwise.

    `of` i4[n] is an index into the file's instruments, `row` i8[n] the row's place in the file.
    """

    time: NDArray[np.int64]
    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]
    volume: NDArray[np.float64]
    of: NDArray[np.int32]
    row: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)

    def take(self, which: Flags | NDArray[np.intp]) -> "BarColumns":
        """Some of the rows, or all of them in another order."""
        if which.dtype == np.bool_ and which.all():
            return self
        return BarColumns(
            self.time[which],
            self.open[which],
            self.high[which],
            self.low[which],
            self.close[which],
            self.volume[which],
            self.of[which],
            self.row[which],
        )

    def at(self, time: NDArray[np.int64]) -> "BarColumns":
        """The same bars at other times."""
        return replace(self, time=time)

    def counted(self, *, volume: NDArray[np.float64], close: NDArray[np.float64]) -> "BarColumns":
        return replace(self, volume=volume, close=close)

    def priced(
        self,
        open: NDArray[np.float64],
        high: NDArray[np.float64],
        low: NDArray[np.float64],
        close: NDArray[np.float64],
    ) -> "BarColumns":
        return replace(self, open=open, high=high, low=low, close=close)


@dataclass(frozen=True, slots=True)
class InstrumentName:
    """One instrument of a file, as the file calls it.

    `symbol` is None where its bars cannot be stored, and `why` says so in words that can be counted
    together ("strike with decimals").
    """

    called: str
    symbol: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class FileInstruments:
    """`of` i4[n] says of each row which of `named` it is; `told_by` where the names were found."""

    of: NDArray[np.int32]
    named: tuple[InstrumentName, ...]
    told_by: str
