"""What a run frees is kept for the next, and given back when idle, where the C library is glibc."""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Numbers of glibc's options, in malloc.h."""
_NEVER: Final = -1
"""No size from which on what lies free at the end of an arena is returned."""


def keep_freed() -> None:
    """What this process frees is not returned to the system until `give_back`, but for parts of
    64 MB of the arenas of its threads, when they are free as a whole; larger pieces are taken from
    the main one.

    By itself glibc returns large pieces at once, and others above a size that it learns of what
    was freed before: so what a backtest takes depends on those before it, and a page that was
    returned has to be made ready anew, which takes longer than what most backtests do with it.
    """
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_MMAP_MAX, 0)
        option(_TRIM_THRESHOLD, _NEVER)


def give_back() -> None:
    """All that lies free, in every arena, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
