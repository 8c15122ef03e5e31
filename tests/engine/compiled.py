"""Functions of the kernel that compiled ones alone call, compiled so that a test can call them."""

from typing import Any, cast

from numba import njit

from apps.engine.kernel import kernel

charges_on = njit(error_model="numpy")(cast(Any, kernel.charges_on).py_func)
