"""How functions are compiled: never with fastmath, which would cost the equal bits."""

from numba import njit

# A function that Python calls. Its cache on disk holds it with all that it is made of.
entry_point = njit(nogil=True, error_model="numpy", cache=True)

# A function that compiled ones call.
step = njit(nogil=True, error_model="numpy")

# A part of the one compiled function that calls it: whether it takes references to the arrays that
# it is given, which costs more than most of what is done in a row, is seen there.
phase = njit(nogil=True, error_model="numpy", forceinline=True)

# One expression of records, which no compiled function can return.
expression = njit(nogil=True, error_model="numpy", inline="always")
