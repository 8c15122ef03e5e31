"""NumPy arrays as bytes in a column: exact, small, and the same bytes for the same values."""

import io
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def pack(array: NDArray[Any]) -> bytes:
    """NumPy's own file format, compressed by zstd. Any: records and floats alike."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(buffer.getbuffer())
    return bytes(sink.getvalue())


def unpack(data: bytes | memoryview) -> NDArray[Any]:
    """What `pack` was given."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        array: NDArray[Any] = np.load(io.BytesIO(stream.read()), allow_pickle=False)
    return array


def digest(*arrays: NDArray[Any]) -> str:
    """SHA-256, in hex, of the arrays' lengths and bytes. Any: records and floats alike."""
    found = sha256()
    for array in arrays:
        found.update(len(array).to_bytes(8, "big"))
        found.update(np.ascontiguousarray(array).reshape(-1).data)
    return found.hexdigest()
