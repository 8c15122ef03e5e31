"""What one row did to one run, as the engine tells it: what is written down follows from this."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from apps.engine.kernel.codes import ENTER, ENTER_LONG, ENTER_SHORT, EXIT_LONG, EXIT_SHORT
from apps.engine.kernel.records import Array, State
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.plan import Contract
from apps.trading.models import Run


class EntryBlock(StrEnum):
    """Why a run may enter nothing, as its refused signals and orders tell it."""

    STOPPED = "stopped"
    ERROR = "error"
    KILL_SWITCH = "kill_switch"
    PAUSED = "paused"
    STALE_DATA = "stale_data"


class FractionSettlement(NamedTuple):
    """A part of a share that a split left over, settled in cash.

    `locked` are the rupees that the position locked before and after, `gross` what the fraction won
    or lost, below 0. Charges there are none: the company pays for fractions.
    """

    symbol: int
    locked: tuple[float, float]
    gross: float


@dataclass(frozen=True, slots=True, eq=False)
class BarStep:
    """A run before and after a row.

    `time` is the start of the row's bars, `closes` their nominal end (epoch seconds). `heard` are
    the signal bits u1[symbols] of its close. `fills`, `refusals` and `trades` are FILL, REFUSAL and
    TRADE records in the order in which they happened; `state` is the state after the row, in which
    `pending` says what waits for the next bar. `before` is in the shares of the row's day;
    `fractions` are parts of shares that splits left over, settled before the row. `last`
    f8[symbols] are the closes of the row, NaN without a bar. Symbols are indices into `strategy`'s.
    `cancelled` are the symbols whose waiting entry was dropped before the row because its owner
    wanted that. `barred` is why the row could enter nothing, for which the engine has fewer words.
    """

    run: Run
    strategy: Strategy
    contracts: tuple[Contract, ...]
    time: int
    closes: int
    heard: Array
    before: State
    state: State
    fills: Array
    refusals: Array
    trades: Array
    fractions: Sequence[FractionSettlement] = ()
    last: Array = field(default_factory=lambda: np.empty(0))
    cancelled: Collection[str] = ()
    barred: EntryBlock | None = None


def drop_pending_entry(state: State, strategy: Strategy, symbol: str) -> None:
    """Let the entry that waits not be traded; one that would reverse a position still closes it, as
    where entries are barred (engine rule 20).
    """
    position = state.positions[strategy.basicInfo.symbols.index(symbol)]
    pending, side = int(position["pending"]), position["side"]
    against = ENTER_SHORT if side > 0 else ENTER_LONG
    if side and pending & against and strategy.exits_on_opposite_signal:
        pending |= EXIT_LONG if side > 0 else EXIT_SHORT
    position["pending"] = pending & ~ENTER
