"""The bytes of the state of a live run, and the bits that bookkeeping reads in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.engine.kernel import codes, saved
from apps.engine.kernel.records import State, instrument_ids


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


def save_state(state: State) -> bytes:
    return saved.save(state)


def load_state(data: bytes, symbols: Sequence[str]) -> State:
    """Return the state that was saved of these symbols. Raises ForeignState."""
    return saved.load(data, instrument_ids(symbols))
