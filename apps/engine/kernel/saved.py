"""States as bytes, and the format of release 1.0.0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.errors import EngineError
from apps.engine.kernel.records import ACCOUNT_STATE, ORDER, ORDERS, POSITION, State

# Goes up with every change of State or of a field's meaning. A run saved by release 1.0.0, in
# version 6, must continue: a later version needs a conversion in `load`.
STATE_VERSION: Final = 7

StateRecord = np.dtype[Any]


class ForeignState(EngineError):
    """Saved state of another version, layout or list of symbols, or truncated."""


@dataclass(frozen=True)
class Layout:
    """The layout of a version's states: a header, an account, and records for each slot."""

    version: int
    account: StateRecord
    of_slots: tuple[StateRecord, ...]

    @cached_property
    def header(self) -> bytes:
        """The 16 bytes at the start of states with this layout."""
        described = (self.version, self.account.descr, *(record.descr for record in self.of_slots))
        digest = sha256(repr(described).encode()).digest()[:8]
        return b"state\0" + self.version.to_bytes(2, "big") + digest

    def read(self, data: bytes) -> list[NDArray[Any]]:
        """Return the arrays after the header, writable. Raises ForeignState if truncated."""
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

# Release 1.0.0 had no counts of entries, reduced ones or waiting exits, no cooldown, no adds by
# distance, no exits at levels or in parts. It had fewer ranges and reasons for refusing an entry;
# later ones follow them.
_NOT_IN_6: Final = frozenset(
    {"reduced", "waited", "entries_today", "last_fill", "opened", "cooling"}
    | {
        "stop_level",
        "target_level",
        "share",
        "steps",
        "taken",
        "sold",
        "sold_value",
        "sold_gross",
        "delivered_on",
        "rank",
    }
)
_LENGTHS_IN_6: Final = {"rejected": (9,), "atr": (4,)}


def _as_in_6(record: StateRecord) -> StateRecord:
    return np.dtype(
        [
            (name, kind, _LENGTHS_IN_6.get(name, *shape)) if shape else (name, kind)
            for name, kind, *shape in record.descr
            if name not in _NOT_IN_6
        ]
    )


LAYOUT: Final = Layout(STATE_VERSION, ACCOUNT_STATE, (POSITION, ORDER))
LAYOUT_6: Final = Layout(6, _as_in_6(ACCOUNT_STATE), (_as_in_6(POSITION), _as_in_6(ORDER)))


def save(state: State) -> bytes:
    return LAYOUT.header + b"".join(array.tobytes() for array in state)


def load(data: bytes, instruments: NDArray[np.int64]) -> State:
    """Return a state from `save`, of this release or 1.0.0, as writable arrays.

    `instruments` belong to the run's slots, in order. Raises ForeignState for other data.
    """
    if data.startswith(LAYOUT.header):
        account, positions, orders = LAYOUT.read(data)
    elif data.startswith(LAYOUT_6.header):
        account, positions, orders = (
            _from_version_6(*records)
            for records in zip(LAYOUT_6.read(data), (ACCOUNT_STATE, POSITION, ORDER), strict=True)
        )
    else:
        raise ForeignState(_UNREADABLE)
    if not np.array_equal(positions["instrument"], instruments):
        raise ForeignState("The saved state is of other symbols.")
    return State(account, positions, orders.reshape(-1, ORDERS))


def _from_version_6(saved: NDArray[Any], record: StateRecord) -> NDArray[Any]:
    converted = np.zeros(len(saved), record)
    for name in saved.dtype.names or ():
        if name in _LENGTHS_IN_6:
            converted[name][:, : saved[name].shape[1]] = saved[name]
        else:
            converted[name] = saved[name]
    return converted
