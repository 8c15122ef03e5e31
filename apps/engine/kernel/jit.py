"""How functions are compiled: never with fastmath, which would cost the equal bits."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])

# Numba also compiles two wrappers of each function, by which Python and C call it, unless it is
# told not to. Of 17 s of processor time that all functions of the kernel took, these were 5.
WITHOUT_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# A function that Python calls. Its cache on disk holds it with all that it is made of.
entry_point = njit(nogil=True, error_model="numpy", cache=True)

# One expression of records, which no compiled function can return.
expression = njit(nogil=True, error_model="numpy", inline="always")


def step(function: FunctionT) -> FunctionT:
    """A function that compiled ones call. Python must not, and would crash."""
    compiled: FunctionT = njit(nogil=True, error_model="numpy", **WITHOUT_WRAPPERS)(function)
    return compiled


def phase(function: FunctionT) -> FunctionT:
    """A part of the one compiled function that calls it: whether it takes references to the arrays
    that it is given, which costs more than most of what is done in a row, is seen there.
    """
    compiled: FunctionT = njit(
        nogil=True, error_model="numpy", forceinline=True, **WITHOUT_WRAPPERS
    )(function)
    return compiled
