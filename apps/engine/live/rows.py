"""The rows of a live run, and its terms of trading in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles, ist_day
from apps.engine.candles.sessions import Sessions
from apps.engine.kernel.records import Array
from apps.engine.simulation.charges import Schedule
from apps.engine.simulation.plan import Contract, contract_rows, rate_rows

OPEN_COLUMN, CLOSE_COLUMN = Candles.NUMBERS.index("open"), Candles.NUMBERS.index("close")


class BarSnapshot(NamedTuple):
    """The bars of one timestamp.

    `time` and `closes` are the start and the nominal end of the bars (epoch seconds). `bars`
    f8[symbols, 5] are open, high, low, close and volume, NaN for a symbol without a bar. `late` are
    the symbols that runs saw without their bars: they are not ranked. `read` are the candles of
    each other symbol that the conditions read, from after the row before up to `closes`.
    """

    time: int
    closes: int
    bars: NDArray[np.float64]
    late: frozenset[int] = frozenset()
    read: tuple[Candles, ...] = ()

    @property
    def day(self) -> int:
        """The date in Asia/Kolkata, as a day number."""
        return int(ist_day(np.array([self.time]))[0])

    @property
    def last(self) -> NDArray[np.float64]:
        """The closes of the symbols."""
        return self.bars[:, CLOSE_COLUMN]

    def has(self, symbol: int) -> bool:
        return not np.isnan(self.bars[symbol, 0])


class ContractTerms(NamedTuple):
    """The contracts on a day, and the charges and hours of their trading.

    `units` are the contracts as CONTRACT records, `rates` the charges as RATE records.
    """

    contracts: tuple[Contract, ...]
    units: Array
    rates: Array
    calendars: tuple[Sessions, ...]

    @classmethod
    def of(
        cls, contracts: Sequence[Contract], schedule: Schedule, calendars: Sequence[Sessions]
    ) -> ContractTerms:
        """Put together the contracts and hours of the symbols, in their order."""
        segments = {contract.segment: number for number, contract in enumerate(contracts)}
        units, rates = contract_rows(contracts, segments), rate_rows(schedule, segments)
        return cls(tuple(contracts), units, rates, tuple(calendars))
