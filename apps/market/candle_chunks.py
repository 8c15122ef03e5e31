"""One block of bars as bytes, without loss: one Parquet file, or when they are few, plain columns.

Columns `time` (int64, epoch seconds UTC of a bar's start), `open high low close volume`. Market
prices have few decimals, so a block stores them as whole numbers of 10^-scale rupees (scale 0 to 8,
one for the block, in the file's metadata), delta coded. A scale is used only if dividing gives back
the very same bits; a block for which none does (adjusted prices) stores float64, byte by byte.
Volume is a whole number, else float64. One year of minutes takes about 7 bytes a bar.

A Parquet file takes 1.2 KB and half a millisecond however few its bars. A day of derivatives is
20,000 blocks of one bar, so fewer than `_FEW` bars are their six columns as they are, eight bytes
a number, after four bytes that tell them apart.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from apps.engine.candles import NUMBERS, Candles, block_id, block_start, ist_day

PRICES: Final = ("open", "high", "low", "close")
EMPTY: Final = Candles.build([], open=[], high=[], low=[], close=[], volume=[])
_SCALE: Final = b"scale"
_SCALES: Final = range(9)
_DELTA: Final = "DELTA_BINARY_PACKED"
_FLOAT: Final = "BYTE_STREAM_SPLIT"
_EXACT: Final = 2.0**53
_PLAIN: Final = b"BAR1"
_FEW: Final = 32


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bars of one block, `start` its first moment (epoch seconds, 00:00 in Asia/Kolkata)."""

    start: int
    candles: Candles


def split(candles: Candles, timeframe: str) -> list[Chunk]:
    """The bars by the block of rule 11 they lie in, in order."""
    if not len(candles):
        return []
    blocks = block_id(candles.time, timeframe)
    edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(candles)]
    return [
        Chunk(block_start(int(blocks[first]), timeframe), candles.slice(first, stop))
        for first, stop in pairwise(edges)
    ]


def join(pieces: Iterable[Candles]) -> Candles:
    """Bars of pieces that share no moment, as one series."""
    filled = [piece for piece in pieces if len(piece)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    filled.sort(key=lambda piece: int(piece.time[0]))
    times = np.concatenate([piece.time for piece in filled])
    order = slice(None) if (times[1:] > times[:-1]).all() else np.argsort(times, kind="stable")
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in filled])[order] for name in NUMBERS
    }
    return Candles.build(times[order], **columns)


def overlay(pieces: Sequence[Candles]) -> Candles:
    """Bars of pieces that may share moments, as one series: there the later piece's bar stands."""
    if len(pieces) == 1:
        return pieces[0]
    times = np.concatenate([piece.time for piece in pieces])
    order = np.argsort(times, kind="stable")
    last = order[np.diff(times[order], append=np.int64(2**62)) != 0]
    columns = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])[last] for name in NUMBERS
    }
    return Candles.build(times[last], **columns)


def encode(candles: Candles) -> bytes:
    """The bars as a Parquet file, or as plain columns."""
    return _plain(candles) if len(candles) < _FEW else _parquet(candles)


def _plain(candles: Candles) -> bytes:
    numbers = [getattr(candles, name).astype("<f8").tobytes() for name in NUMBERS]
    return b"".join([_PLAIN, candles.time.astype("<i8").tobytes(), *numbers])


def _parquet(candles: Candles) -> bytes:
    columns: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {"time": candles.time}
    prices = {name: getattr(candles, name) for name in PRICES}
    scale = _scale_of(prices)
    for name, column in prices.items():
        columns[name] = column if scale is None else _whole(column, 10.0**scale)
    columns["volume"] = (
        candles.volume if not _is_whole(candles.volume) else _whole(candles.volume, 1.0)
    )
    table = pa.table(columns)
    if scale is not None:
        table = table.replace_schema_metadata({_SCALE: str(scale)})
    return _written(table)


def decode(*data: bytes) -> Candles:
    """The bars of blocks that `encode` wrote, bit for bit, the blocks being in order of time."""
    read = [_Few(block) if block[:4] == _PLAIN else _Many(block) for block in data]
    # One array for all columns: the kernel gives large pieces of memory far faster than small ones.
    held = np.empty((6, sum(block.bars for block in read)))
    first = 0
    for block in read:
        block.fill(held[:, first : first + block.bars])
        first += block.bars
    return Candles.build(held[0].view(np.int64), **dict(zip(NUMBERS, held[1:], strict=True)))


class _Few:
    """A block of plain columns."""

    def __init__(self, data: bytes) -> None:
        self._columns = np.frombuffer(data, "<f8", offset=len(_PLAIN)).reshape(6, -1)
        self.bars = self._columns.shape[1]

    def fill(self, held: NDArray[np.float64]) -> None:
        """Time, as the bits of a float64, then the numbers."""
        held[0].view(np.int64)[:] = self._columns[0].view("<i8")
        held[1:] = self._columns[1:]


class _Many:
    """A block that is a Parquet file."""

    def __init__(self, data: bytes) -> None:
        self._file = pq.ParquetFile(pa.BufferReader(data))
        self.bars = self._file.metadata.num_rows

    def fill(self, held: NDArray[np.float64]) -> None:
        """Time, as the bits of a float64, then the numbers."""
        table = self._file.read(use_threads=False)
        held[0].view(np.int64)[:] = table["time"].to_numpy()
        held[len(NUMBERS)] = table["volume"].to_numpy()
        for name, column in zip(PRICES, held[1:], strict=False):
            np.divide(table[name].to_numpy(), _step(table), out=column)


def _step(table: pa.Table) -> float:
    """What a block's prices are multiplied by: 1 where they are stored as they are."""
    scale = (table.schema.metadata or {}).get(_SCALE)
    return 1.0 if scale is None else 10.0 ** int(scale)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def day_bits(block: Chunk) -> bytes:
    """One bit for each day since the block's first, set where a bar starts on it."""
    offset = ist_day(block.candles.time) - _first_day(block.start)
    flags = np.zeros(int(offset[-1]) + 1, dtype=np.bool_)
    flags[offset] = True
    return np.packbits(flags).tobytes()


def days_from_bits(bits: bytes, start: int) -> NDArray[np.int32]:
    """The day numbers (since 1970 in Asia/Kolkata) that `day_bits` set for a block."""
    flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
    return (np.flatnonzero(flags) + _first_day(start)).astype(np.int32)


def _first_day(start: int) -> int:
    return int(ist_day(np.array([start], dtype=np.int64))[0])


def _scale_of(prices: Mapping[str, NDArray[np.float64]]) -> int | None:
    """The least number of decimals that holds every price exactly, None when none does."""
    for scale in _SCALES:
        step = 10.0**scale
        if all(_survives(column, step) for column in prices.values()):
            return scale
    return None


def _survives(column: NDArray[np.float64], step: float) -> bool:
    """Whether the rounded column * step, divided by step, is the column again, bit for bit."""
    whole = np.rint(column * step)
    return bool((np.abs(whole) < _EXACT).all() and (whole / step == column).all())


def _is_whole(column: NDArray[np.float64]) -> bool:
    return _survives(column, 1.0)


def _whole(column: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    return np.rint(column * step).astype(np.int64)


def _written(table: pa.Table) -> bytes:
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
