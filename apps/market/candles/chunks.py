"""Candle chunks as bytes, without loss: a Parquet file or, for a few bars, plain columns.

The columns are `time` (int64, epoch seconds UTC of a bar's start) and `open high low close volume`.
Market prices have few decimals, so a chunk stores them as whole numbers of 10^-scale rupees (scale
0 to 8, the same for the whole chunk, in the file's metadata), delta coded. A scale is used only if
dividing returns the same bits; otherwise (adjusted prices) the chunk stores float64. Volume is
stored as whole numbers, else as float64.

A Parquet file has a large fixed size and cost, and a day of derivatives is thousands of chunks with
one bar. So fewer than `_PARQUET_FROM` bars are stored as six plain columns of eight bytes a number,
after a mark of four bytes.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from apps.core.times import INDIA
from apps.engine.candles import Candles, block_id, block_start, ist_day

# The first accepted moment of candles: NSE began to trade in 1994.
EARLIEST: Final = datetime(1990, 1, 1, tzinfo=INDIA)
PRICES: Final = ("open", "high", "low", "close")
EMPTY: Final = Candles.build([], open=[], high=[], low=[], close=[], volume=[])
_SCALE: Final = b"scale"
_SCALES: Final = range(9)
_DELTA: Final = "DELTA_BINARY_PACKED"
_FLOAT: Final = "BYTE_STREAM_SPLIT"
_LARGEST_EXACT: Final = 2.0**53
_PLAIN_MARK: Final = b"BAR1"
_PARQUET_FROM: Final = 32


@dataclass(frozen=True, slots=True)
class Chunk:
    """The bars of one period from `start` (epoch seconds, 00:00 in Asia/Kolkata)."""

    start: int
    candles: Candles


def split(candles: Candles, timeframe: str) -> list[Chunk]:
    """Split bars by their period of engine rule 11, in order."""
    if not len(candles):
        return []
    periods = block_id(candles.time, timeframe)
    edges = [0, *(np.flatnonzero(np.diff(periods)) + 1).tolist(), len(candles)]
    return [
        Chunk(block_start(int(periods[first]), timeframe), candles.slice(first, stop))
        for first, stop in pairwise(edges)
    ]


def concat(pieces: Iterable[Candles]) -> Candles:
    """Join pieces without common times into one series."""
    filled = [piece for piece in pieces if len(piece)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    filled.sort(key=lambda piece: int(piece.time[0]))
    times = np.concatenate([piece.time for piece in filled])
    order = slice(None) if (times[1:] > times[:-1]).all() else np.argsort(times, kind="stable")
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in filled])[order]
        for name in Candles.NUMBERS
    }
    return Candles.build(times[order], **columns)


def overlay(pieces: Sequence[Candles]) -> Candles:
    """Join pieces into one series; the last piece wins at a common time."""
    if len(pieces) == 1:
        return pieces[0]
    times = np.concatenate([piece.time for piece in pieces])
    order = np.argsort(times, kind="stable")
    last = order[np.diff(times[order], append=np.int64(2**62)) != 0]
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])[last]
        for name in Candles.NUMBERS
    }
    return Candles.build(times[last], **columns)


def encode(candles: Candles) -> bytes:
    """Encode bars as a Parquet file, or as plain columns."""
    return _plain(candles) if len(candles) < _PARQUET_FROM else _parquet(candles)


def _plain(candles: Candles) -> bytes:
    numbers = [getattr(candles, name).astype("<f8").tobytes() for name in Candles.NUMBERS]
    return b"".join([_PLAIN_MARK, candles.time.astype("<i8").tobytes(), *numbers])


def _parquet(candles: Candles) -> bytes:
    columns: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {"time": candles.time}
    prices = {name: getattr(candles, name) for name in PRICES}
    scale = _scale_of(prices)
    for name, column in prices.items():
        columns[name] = column if scale is None else _whole(column, 10.0**scale)
    has_fractions = not _survives(candles.volume, 1.0)
    columns["volume"] = candles.volume if has_fractions else _whole(candles.volume, 1.0)
    table = pa.table(columns)
    if scale is not None:
        table = table.replace_schema_metadata({_SCALE: str(scale)})
    encoding = {
        field.name: _DELTA if pa.types.is_integer(field.type) else _FLOAT for field in table.schema
    }
    buffer = pa.BufferOutputStream()
    pq.write_table(
        table,
        buffer,
        compression="lz4",
        use_dictionary=False,
        column_encoding=encoding,
        write_statistics=False,
        store_schema=True,
    )
    return buffer.getvalue().to_pybytes()


def decode(*data: bytes) -> Candles:
    """Decode the output of `encode`, bit for bit, into one series; the chunks are in order
    of time.
    """
    chunks = [
        _PlainChunk(chunk) if chunk[:4] == _PLAIN_MARK else _ParquetChunk(chunk) for chunk in data
    ]
    # One array for all columns: the kernel gives large pieces of memory far faster than small ones.
    columns = np.empty((6, sum(chunk.bars for chunk in chunks)))
    first = 0
    for chunk in chunks:
        chunk.fill(columns[:, first : first + chunk.bars])
        first += chunk.bars
    return Candles.build(
        columns[0].view(np.int64), **dict(zip(Candles.NUMBERS, columns[1:], strict=True))
    )


class _PlainChunk:
    """A chunk of plain columns."""

    def __init__(self, data: bytes) -> None:
        self._columns = np.frombuffer(data, "<f8", offset=len(_PLAIN_MARK)).reshape(6, -1)
        self.bars = self._columns.shape[1]

    def fill(self, columns: NDArray[np.float64]) -> None:
        """Write the times, as bits of float64, then the numbers."""
        columns[0].view(np.int64)[:] = self._columns[0].view("<i8")
        columns[1:] = self._columns[1:]


class _ParquetChunk:
    """A chunk that is a Parquet file."""

    def __init__(self, data: bytes) -> None:
        self._file = pq.ParquetFile(pa.BufferReader(data))
        self.bars = self._file.metadata.num_rows

    def fill(self, columns: NDArray[np.float64]) -> None:
        """Write the times, as bits of float64, then the numbers."""
        table = self._file.read(use_threads=False)
        scale = (table.schema.metadata or {}).get(_SCALE)
        divisor = 1.0 if scale is None else 10.0 ** int(scale)
        columns[0].view(np.int64)[:] = table["time"].to_numpy()
        columns[len(Candles.NUMBERS)] = table["volume"].to_numpy()
        for name, column in zip(PRICES, columns[1:], strict=False):
            np.divide(table[name].to_numpy(), divisor, out=column)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def day_bits(chunk: Chunk) -> bytes:
    """Return one bit for each day since the period's first, set where a bar starts on it."""
    offset = ist_day(chunk.candles.time) - _first_day(chunk.start)
    flags = np.zeros(int(offset[-1]) + 1, dtype=np.bool_)
    flags[offset] = True
    return np.packbits(flags).tobytes()


def days_from_bits(bits: bytes, start: int) -> NDArray[np.int32]:
    """Return the day numbers (since 1970 in Asia/Kolkata) that `day_bits` set for a period."""
    flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
    return (np.flatnonzero(flags) + _first_day(start)).astype(np.int32)


def _first_day(start: int) -> int:
    return int(ist_day(np.array([start], dtype=np.int64))[0])


def _scale_of(prices: Mapping[str, NDArray[np.float64]]) -> int | None:
    """Return the least number of decimals that represents every price exactly, or None."""
    for scale in _SCALES:
        step = 10.0**scale
        if all(_survives(column, step) for column in prices.values()):
            return scale
    return None


def _survives(column: NDArray[np.float64], step: float) -> bool:
    """Return whether the rounded column * step, divided by step, is the same bit for bit."""
    whole = np.rint(column * step)
    return bool((np.abs(whole) < _LARGEST_EXACT).all() and (whole / step == column).all())


def _whole(column: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    return np.rint(column * step).astype(np.int64)
