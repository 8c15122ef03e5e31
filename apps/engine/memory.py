"""What a run frees is kept for the next, and given back when idle, where the C library is glibc."""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
"""Numbers of glibc's options, in malloc.h."""
_NEVER: Final = -1
"""No size from which on what lies free at the end of the arena is returned."""


def keep_freed() -> None:
    """By itself glibc returns large pieces at once, and others above a size that it learns of what
    was freed before: so what a backtest takes depends on those before it, and a page that was
    returned has to be made ready anew, which takes longer than what most backtests do with it.
    Arenas of threads return what they please, so all use that of the main one.
    """
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_ARENA_MAX, 1)
        option(_MMAP_MAX, 0)
        option(_TRIM_THRESHOLD, _NEVER)


def give_back() -> None:
    """All that lies free, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
