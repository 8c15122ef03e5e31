"""How functions are compiled: never with fastmath, which would cost the equal bits."""

from numba import njit

# A function that Python calls. Its cache on disk holds it with all that it is made of.
entry_point = njit(nogil=True, error_model="numpy", cache=True)

# A function that compiled ones call.
step = njit(nogil=True, error_model="numpy")

# A part of the one compiled function, or of the few, that call it: there is one less to compile,
# and what it is given costs nothing.
phase = njit(nogil=True, error_model="numpy", inline="always")
