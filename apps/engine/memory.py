"""What a run frees is kept for the next, where the C library is glibc."""

from __future__ import annotations

import ctypes
from typing import Final

KEPT: Final = 256 * 2**20
"""Bytes that may lie free at the end of an arena, of which threads have their own, before they are
returned to the system.
"""
LARGEST: Final = 32 * 2**20
"""Bytes from which on a piece is the system's own each time; glibc takes no more for this."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of its options, in malloc.h."""


def keep_freed() -> None:
    """By itself glibc returns what lies free above a size that it learns of what was freed before:
    so what a backtest takes depends on those before it, and a page that was returned has to be made
    ready anew, which takes longer than what most backtests do with it. What glibc refuses is as it
    was.
    """
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is not None:
        options(_MMAP_THRESHOLD, LARGEST)
        options(_TRIM_THRESHOLD, KEPT)
