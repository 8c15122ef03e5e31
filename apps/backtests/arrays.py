"""NumPy arrays as bytes in a column: exact, small, and the same bytes for the same values."""

import io
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(array: NDArray[Any]) -> bytes:
    """NumPy's own file format, compressed. Any: records and floats alike."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return zlib.compress(buffer.getvalue(), level=1)


def unpack(data: bytes | memoryview) -> NDArray[Any]:
    """What `pack` was given."""
    array: NDArray[Any] = np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)
    return array
