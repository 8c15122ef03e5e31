"""The effect of one bar row on one run, as the engine reports it. All booking follows from this."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from apps.engine import Contract
from apps.engine.language import Strategy
from apps.engine.live import State
from apps.engine.results import Array
from apps.trading.models import Run


class EntryBlock(StrEnum):
    """The reason why a run may not enter, as reported in its rejected signals and orders."""

    STOPPED = "stopped"
    ERROR = "error"
    KILL_SWITCH = "kill_switch"
    PAUSED = "paused"
    STALE_DATA = "stale_data"


class FractionSettlement(NamedTuple):
    """A fraction of a share left over by a split, settled in cash.

    `locked` (below 0) is the reduction of the rupees that the position locks, `gross` the
    fraction's profit or loss. There are no charges: the company pays for fractions.
    """

    symbol: str
    locked: Decimal
    gross: Decimal


@dataclass(frozen=True, slots=True, eq=False)
class BarStep:
    """A run before and after a row.

    Records name symbols by their index among `symbols`, in order of time.
    """

    run: Run
    strategy: Strategy
    contracts: tuple[Contract, ...]
    time: int  # start of the row's bars, epoch seconds
    closes: int  # nominal end of the row's bars
    signals: Array  # u1[symbols], signal bits of the close
    before: State  # in the shares of the row's day
    state: State  # after the row; `pending` says what waits for the next bar
    fills: Array  # FILL records
    refusals: Array  # REFUSAL records
    trades: Array  # TRADE records
    fractions: Sequence[FractionSettlement] = ()  # settled before the row
    last: Array = field(default_factory=lambda: np.empty(0))  # f8[symbols], closes, NaN without bar
    cancelled: Collection[str] = ()  # symbols whose pending entry the owner cancelled
    # f8[symbols], or empty: the rupees that a sold unit locks beside its value (engine rule 6).
    short_margins: Array = field(default_factory=lambda: np.empty(0))
    entry_block: EntryBlock | None = None  # why nothing was entered; the engine knows fewer reasons

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.strategy.basicInfo.symbols
