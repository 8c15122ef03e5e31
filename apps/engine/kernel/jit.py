"""The compilation of functions, never with fastmath, because it breaks bit-equality."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])

# Numba also compiles two wrappers of each function, for calls from Python and C, by default. They
# took almost a third of the kernel's compile time.
WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# A function that Python calls. Its cache on disk holds it with all that it is made of.
entry_point = njit(nogil=True, error_model="numpy", cache=True)

# A single expression of records: compiled functions cannot return records.
expression = njit(nogil=True, error_model="numpy", inline="always")


def step(function: FunctionT) -> FunctionT:
    """Compile a function for calls from compiled code. Python must not call it, and would crash."""
    compiled: FunctionT = njit(nogil=True, error_model="numpy", **WITHOUT_WRAPPERS)(function)
    return compiled


def phase(function: FunctionT) -> FunctionT:
    """Compile a part of its only caller, a compiled function.

    Inlined, it needs no references to its arrays: these cost more than most of the work in a row.
    """
    compiled: FunctionT = njit(
        nogil=True, error_model="numpy", forceinline=True, **WITHOUT_WRAPPERS
    )(function)
    return compiled
