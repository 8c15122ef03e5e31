"""The state of a live run: its creation, its bytes, and its reading by bookkeeping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.engine.kernel import codes, records, saved
from apps.engine.kernel.records import State, instrument_ids
from apps.engine.language.strategy import Strategy

OPENED: Final = codes.OPEN
"""The reason of a FILL record that opened a position or added to it."""

HALTED_BY_LOSS: Final = codes.HALTED_BY_LOSS
HALTED_BY_PROFIT: Final = codes.HALTED_BY_PROFIT
"""Values of `halted` in an ACCOUNT record once the loss or profit of the day has reached its
limit.
"""


class SignalBits:
    """The bits of a signal and of a pending order, `pending` of an ORDER record.

    `CLOSE_*` closes by the exit conditions, `EXIT_*` by a signal against the position, `FLATTEN`
    for the order's `close_reason`; `HELD_UP` says that an exit waits for a bar that can be traded.
    `ADD` adds by distance.
    """

    ENTER_LONG: Final = codes.ENTER_LONG
    ENTER_SHORT: Final = codes.ENTER_SHORT
    ENTER: Final = codes.ENTER
    CLOSE_LONG: Final = codes.CLOSE_LONG
    CLOSE_SHORT: Final = codes.CLOSE_SHORT
    EXIT_LONG: Final = codes.EXIT_LONG
    EXIT_SHORT: Final = codes.EXIT_SHORT
    FLATTEN: Final = codes.FLATTEN
    HELD_UP: Final = codes.HELD_UP
    ADD: Final = codes.ADD_WAITS


def first_state(symbols: Sequence[str], *, cash: float) -> State:
    """Return the state before the first row: flat, with `cash` rupees."""
    return records.new_state(instrument_ids(symbols), cash=cash)


def save_state(state: State) -> bytes:
    return saved.save(state)


def load_state(data: bytes, symbols: Sequence[str]) -> State:
    """Return the state that was saved of these symbols. Raises ForeignState."""
    return saved.load(data, instrument_ids(symbols))


def is_ruined(state: State) -> bool:
    """Return whether the capital is lost (rule 13)."""
    return bool(state.account["status"][0] == codes.RUINED)


def drop_pending_entry(state: State, strategy: Strategy, symbol: str) -> None:
    """Drop the symbol's pending entry.

    An entry that would reverse a position still closes it, as where entries are blocked (rule 20).
    """
    slot = strategy.basicInfo.symbols.index(symbol)
    order, side = state.orders[slot, 0], state.positions[slot]["side"]
    pending = int(order["pending"])
    against = codes.ENTER_SHORT if side > 0 else codes.ENTER_LONG
    if side and pending & against and strategy.exits_on_opposite_signal:
        pending |= codes.EXIT_LONG if side > 0 else codes.EXIT_SHORT
    order["pending"] = pending & ~(codes.ENTER | codes.ADD_WAITS)
