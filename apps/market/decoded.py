"""Decoded blocks kept in memory, found by the hash of their bytes, so they are never stale."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from apps.engine.candles import Candles

_BYTES_A_BAR: Final = 48


class DecodedBlocks:
    """The blocks used last, as many as fit into `capacity` bytes. Threads may share it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._blocks: OrderedDict[str, Candles] = OrderedDict()
        self._lock = Lock()

    def get(self, sha256: str) -> Candles | None:
        with self._lock:
            if sha256 in self._blocks:
                self._blocks.move_to_end(sha256)
            return self._blocks.get(sha256)

    def put(self, sha256: str, candles: Candles) -> None:
        with self._lock:
            if sha256 in self._blocks:
                return
            self._blocks[sha256] = candles
            self._size += len(candles) * _BYTES_A_BAR
            while self._size > self._capacity:
                _, oldest = self._blocks.popitem(last=False)
                self._size -= len(oldest) * _BYTES_A_BAR
