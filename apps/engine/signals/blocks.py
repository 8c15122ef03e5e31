"""The blocks of rule 11: the bars of an indicator's computation, and the packing of columns of
blocks.

At a bar of a block every value, at earlier bars too, is read from one array: the indicator over the
WARMUP_BARS bars before the block, and the block up to that bar.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import WARMUP_BARS, Candles, block_id, block_starts
from apps.engine.indicators.series import Table, mask_infinite

BATCH_BARS = 100_000
"""Bars whose columns are held at a time, or one block."""


class Block(NamedTuple):
    """The wanted bars [first, stop) of a block, computed over the bars [start, stop).

    `begins` is the first moment of the block (epoch seconds), `packed_at` the index of its first
    wanted bar in a packed column.
    """

    start: int
    first: int
    stop: int
    begins: int
    packed_at: int


class BlockBatch(NamedTuple):
    """Consecutive blocks of a timeframe, with their columns packed in order.

    The wanted bars of each come after `lookback` earlier ones of the same array, NaN if it has
    fewer: a condition with no longer lookback never sees the previous block.
    """

    blocks: tuple[Block, ...]
    lookback: int
    timeframe: str

    @property
    def size(self) -> int:
        """The length of a packed column."""
        *_, (_, first, stop, _, packed_at) = self.blocks
        return packed_at + stop - first

    def first_packed(self, block: Block) -> int:
        """Return the first packed bar of the block's array."""
        return max(block.first - self.lookback, block.start)

    def pack(self, tables: Iterable[Table]) -> Table:
        """Pack the columns of each block's array; infinite values become unknown."""
        packed = np.empty((0, 0))
        for block, table in zip(self.blocks, tables, strict=True):
            if not packed.size:
                packed = np.empty((len(table), self.size))
            end, whole = block.packed_at + block.stop - block.first, block.packed_at - self.lookback
            begin = max(whole, end - table.shape[1])
            if begin > whole:
                packed[:, whole:begin] = np.nan
            packed[:, begin:end] = table[:, begin - end :]
        return mask_infinite(packed)

    def unpack(self, column: NDArray[np.generic], into: NDArray[np.generic]) -> None:
        """Write the values of the wanted bars one after the other."""
        begin = self.blocks[0].first
        for _, first, stop, _, packed_at in self.blocks:
            into[first - begin : stop - begin] = column[packed_at : packed_at + stop - first]


def batches_of(
    candles: Candles, timeframe: str, first: int, last: int, lookback: int
) -> list[BlockBatch]:
    """Return the blocks of the bars [first, last) in batches of at least BATCH_BARS, if there are
    enough.
    """
    if first >= last:
        return []
    batches, blocks, packed_at = list[BlockBatch](), list[Block](), 0
    low, high = block_id(candles.time[[first, last - 1]], timeframe).tolist()
    begins = block_starts(np.arange(low, high + 1), timeframe)
    edges = np.searchsorted(candles.time, begins).tolist()
    for begin, edge, end in zip(begins.tolist(), edges, [*edges[1:], last], strict=True):
        wanted = max(edge, first)
        if wanted == end:
            continue  # a block without bars
        if packed_at >= BATCH_BARS:
            batches.append(BlockBatch(tuple(blocks), lookback, timeframe))
            blocks, packed_at = [], 0
        packed_at += lookback
        blocks.append(Block(max(edge - WARMUP_BARS, 0), wanted, end, begin, packed_at))
        packed_at += end - wanted
    return [*batches, BlockBatch(tuple(blocks), lookback, timeframe)]
