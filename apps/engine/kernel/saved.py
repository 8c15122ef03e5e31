"""States as bytes, and what earlier versions saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import ist_day
from apps.engine.errors import EngineError
from apps.engine.kernel.records import (
    ACCOUNT_STATE,
    CONTRACT,
    ORDER,
    ORDERS,
    POSITION,
    State,
    new_state,
)

# Goes up with every change of what State holds, or of what a field of it means. A run that was
# saved by an earlier version goes on only if `load` converts its state, as it does those of
# versions 4 and 5.
STATE_VERSION: Final = 6

StateRecord = np.dtype[Any]


class ForeignState(EngineError):
    """Saved state of another version, layout or list of symbols, or cut short."""


@dataclass(frozen=True)
class Layout:
    """How a version lays out its states: a header, an account, and records for each slot."""

    version: int
    account: StateRecord
    of_slots: tuple[StateRecord, ...]

    @cached_property
    def header(self) -> bytes:
        """Return the 16 bytes that states of this layout begin with."""
        described = (self.version, self.account.descr, *(record.descr for record in self.of_slots))
        digest = sha256(repr(described).encode()).digest()[:8]
        return b"state\0" + self.version.to_bytes(2, "big") + digest

    def read(self, data: bytes) -> list[NDArray[Any]]:
        """Return the arrays after the header, writable. Raises ForeignState if cut short."""
        size = len(data) - len(self.header) - self.account.itemsize
        slot_size = sum(record.itemsize for record in self.of_slots)
        if size < 0 or size % slot_size:
            raise ForeignState(_UNREADABLE)
        buffer = bytearray(data[len(self.header) :])  # bytes could be written to by compiled code
        arrays, offset = [np.frombuffer(buffer, self.account, 1)], self.account.itemsize
        for record in self.of_slots:
            arrays.append(np.frombuffer(buffer, record, size // slot_size, offset))
            offset += arrays[-1].nbytes
        return arrays


_UNREADABLE: Final = "The engine has changed: it cannot read what it saved before."

_ATR: Final = ("f8", (4,))
_ACCOUNT_5: Final = np.dtype(
    [("barred", "i2") if field[0] == "blocked" else field for field in ACCOUNT_STATE.descr]
)
_POSITION_5: Final = np.dtype(
    [
        ("side", "f8"),
        ("quantity", "f8"),
        ("exposure", "f8"),  # side x quantity x contract multiplier
        ("average", "f8"),
        ("stop", "f8"),
        ("target", "f8"),
        ("extreme", "f8"),
        ("order_price", "f8"),
        ("locked", "f8"),
        ("charges", "f8"),
        ("close", "f8"),
        ("time", "i8"),
        ("entry_time", "i8"),
        ("atr", *_ATR),
        ("order_atr", *_ATR),
        ("bars", "i4"),
        ("day", "i4"),
        ("entry_day", "i4"),
        ("entries", "i2"),
        ("asked", "i2"),
        ("trailed", "u1"),
        ("pending", "u1"),
    ]
)
# Version 4 had no depository charges, and no dates of entries.
_ACCOUNT_4: Final = np.dtype(
    [("paid", "f8", (7,)) if field[0] == "paid" else field for field in _ACCOUNT_5.descr]
)
_POSITION_4: Final = np.dtype([field for field in _POSITION_5.descr if field[0] != "entry_day"])

LAYOUT: Final = Layout(STATE_VERSION, ACCOUNT_STATE, (POSITION, ORDER))
LAYOUT_5: Final = Layout(5, _ACCOUNT_5, (_POSITION_5,))
LAYOUT_4: Final = Layout(4, _ACCOUNT_4, (_POSITION_4,))


def save(state: State) -> bytes:
    return LAYOUT.header + b"".join(array.tobytes() for array in state)


def load(data: bytes, instruments: NDArray[np.int64]) -> State:
    """Return what `save` made, also as versions 4 and 5 did, as writable arrays.

    `instruments` are those of the run's slots, in order: early versions did not save them. Raises
    ForeignState for anything else.
    """
    header = data[: len(LAYOUT.header)]
    if header == LAYOUT.header:
        account, positions, orders = LAYOUT.read(data)
        state = State(account, positions, orders.reshape(-1, ORDERS))
    elif header == LAYOUT_5.header:
        account, positions = LAYOUT_5.read(data)
        state = _from_version_5(account, positions, instruments)
    elif header == LAYOUT_4.header:
        account, positions = _from_version_4(*LAYOUT_4.read(data))
        state = _from_version_5(account, positions, instruments)
    else:
        raise ForeignState(_UNREADABLE)
    if not np.array_equal(state.positions["instrument"], instruments):
        raise ForeignState("The saved state is of other symbols.")
    return state


def _from_version_4(
    account: NDArray[Any], positions: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the same in the layout of version 5: no depository has charged anything."""
    account_5 = np.zeros(1, _ACCOUNT_5)
    for name in set(account.dtype.names or ()) - {"paid"}:
        account_5[name] = account[name]
    account_5["paid"][:, :7] = account["paid"]
    positions_5 = np.zeros(positions.size, _POSITION_5)
    for name in positions.dtype.names or ():
        positions_5[name] = positions[name]
    positions_5["entry_day"] = ist_day(positions["entry_time"])
    return account_5, positions_5


def _from_version_5(
    account: NDArray[Any], positions: NDArray[Any], instruments: NDArray[np.int64]
) -> State:
    """Return the same in the layout of today, with orders apart from positions."""
    if positions.size != instruments.size:
        raise ForeignState("The saved state is of other symbols.")
    state = new_state(instruments, cash=0.0)
    for name in ACCOUNT_STATE.names or ():
        state.account[name] = account["barred" if name == "blocked" else name]
    for name in set(POSITION.names or ()) & set(_POSITION_5.names or ()):
        state.positions[name] = positions[name]
    state.positions["contract"] = _contracts_of(positions)
    renamed = {"price": "order_price", "atr": "order_atr", "close_reason": "asked"}
    for name in ORDER.names or ():
        state.orders[name][:, 0] = positions[renamed.get(name, name)]
    return state


def _contracts_of(positions: NDArray[Any]) -> NDArray[Any]:
    """Return the contract terms of held positions, as far as version 5 knew them: of lots and ticks
    it kept nothing.
    """
    contracts = np.zeros(positions.size, CONTRACT)
    held = positions["side"] != 0
    units = (positions["side"] * positions["quantity"])[held]
    contracts["multiplier"][held] = positions["exposure"][held] / units
    value = np.abs(positions["exposure"] * positions["average"])[held]
    contracts["margin"][held] = positions["locked"][held] / value
    return contracts
