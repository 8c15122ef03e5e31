"""What one bar row did to one run, as the engine reports it. All booking follows from this."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from apps.engine.kernel.codes import ENTER, ENTER_LONG, ENTER_SHORT, EXIT_LONG, EXIT_SHORT
from apps.engine.kernel.records import Array, State
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.plan import Contract
from apps.trading.models import Run


class EntryBlock(StrEnum):
    """Why a run may enter nothing, as its rejected signals and orders report it."""

    STOPPED = "stopped"
    ERROR = "error"
    KILL_SWITCH = "kill_switch"
    PAUSED = "paused"
    STALE_DATA = "stale_data"


class FractionSettlement(NamedTuple):
    """A part of a share that a split left over, settled in cash.

    `locked` (below 0) are the rupees by which the position locks less, `gross` what the fraction
    won or lost. There are no charges: the company pays for fractions.
    """

    symbol: str
    locked: Decimal
    gross: Decimal


@dataclass(frozen=True, slots=True, eq=False)
class BarStep:
    """A run before and after a row. Records name symbols by their index among `symbols`.

    `time` is the start of the row's bars, `closes` their nominal end (epoch seconds), `last`
    f8[symbols] their closes, NaN without a bar. `signals` are the signal bits u1[symbols] of the
    close. `fills`, `refusals` and `trades` are FILL, REFUSAL and TRADE records in the order in
    which they happened. `before` is the state in the shares of the row's day, `state` the one after
    the row, in which `pending` says what waits for the next bar.

    `fractions` are parts of shares that splits left over, settled before the row. `cancelled` are
    the symbols whose pending entry the owner cancelled. `entry_block` is why the row could enter
    nothing; the engine knows fewer reasons.
    """

    run: Run
    strategy: Strategy
    contracts: tuple[Contract, ...]
    time: int
    closes: int
    signals: Array
    before: State
    state: State
    fills: Array
    refusals: Array
    trades: Array
    fractions: Sequence[FractionSettlement] = ()
    last: Array = field(default_factory=lambda: np.empty(0))
    cancelled: Collection[str] = ()
    entry_block: EntryBlock | None = None

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.strategy.basicInfo.symbols


def drop_pending_entry(state: State, strategy: Strategy, symbol: str) -> None:
    """Drop the symbol's pending entry.

    An entry that would reverse a position still closes it, as where entries are blocked (engine
    rule 20).
    """
    slot = strategy.basicInfo.symbols.index(symbol)
    order, side = state.orders[slot, 0], state.positions[slot]["side"]
    pending = int(order["pending"])
    against = ENTER_SHORT if side > 0 else ENTER_LONG
    if side and pending & against and strategy.exits_on_opposite_signal:
        pending |= EXIT_LONG if side > 0 else EXIT_SHORT
    order["pending"] = pending & ~ENTER
