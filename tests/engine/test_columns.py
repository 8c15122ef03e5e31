"""Packed columns of many blocks: each value equals that of its own block's array (rule 11)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine.candles import WARMUP_BARS
from apps.engine.candles.resampling import resample
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.series import Read, compute_series, series, shifted
from apps.engine.signals import blocks
from apps.engine.signals.blocks import Block, BlockBatch, batches_of
from apps.engine.signals.columns import BatchColumns, ColumnCache, SymbolBars
from tests.benchmarks.random_candles import session_bars

CANDLES = resample(session_bars(400, length=900), "15m", "30m", None)  # 20 months or so
RSI = series("RSI", "value", "close", {"period": 14})


@pytest.mark.parametrize("type", CATALOGUE)
def test_a_packed_column_equals_the_arrays_of_its_blocks(type: str) -> None:
    row = CATALOGUE[type]
    defaults = {parameter.name: parameter.default for parameter in row.parameters}
    for output in row.outputs:
        computation = series(type, output.name, "close", defaults)
        (batch,) = batches_of(CANDLES, "30m", 100, len(CANDLES) - 7, 3)
        column = BatchColumns(SymbolBars(CANDLES), batch, ColumnCache(0)).read(
            Read(computation, output.column, 0)
        )
        assert len(batch.blocks) > 10
        assert len(column) == batch.size
        for start, first, stop, _, offset in batch.blocks:
            alone = compute_series(computation, CANDLES.slice(start, stop))[output.column]
            wanted = np.concatenate([np.full(3, np.nan), alone])[first - start :]
            assert column[offset - 3 : offset + stop - first].tobytes() == wanted.tobytes()


@given(st.integers(0, 3000), st.integers(1, 3000), st.integers(0, 30), st.integers(1, 900))
def test_batches_hold_each_bar_of_the_range_once(
    first: int, bars: int, lookback: int, size: int
) -> None:
    last = min(first + bars, len(CANDLES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BATCH_BARS", size)
        batches = batches_of(CANDLES, "30m", first, last, lookback)
    held = [bar for batch in batches for block in batch.blocks for bar in range(*block[1:3])]
    assert held == list(range(first, last))
    assert all(batch.size >= size for batch in batches[:-1])
    for batch in batches:
        numbers = np.arange(batch.size)
        wanted = np.empty(batch.blocks[-1].stop - batch.blocks[0].first, np.int64)
        batch.unpack(numbers, wanted)
        places = [np.arange(b.packed_at, b.packed_at + b.stop - b.first) for b in batch.blocks]
        assert wanted.tolist() == np.concatenate(places).tolist()


def test_a_range_without_bars_has_no_batches() -> None:
    assert batches_of(CANDLES, "30m", 5, 5, 1) == []
    assert batches_of(CANDLES.slice(0, 0), "30m", 0, 0, 1) == []


def test_a_block_is_computed_with_the_warmup_bars_before_it() -> None:
    (batch,) = batches_of(CANDLES, "30m", 0, len(CANDLES), 0)
    for block in batch.blocks:
        assert block.start == max(block.first - WARMUP_BARS, 0)


def test_infinite_values_are_packed_as_unknown() -> None:
    batch = BlockBatch((Block(0, 1, 3, 0, 2), Block(1, 3, 5, 0, 6)), 2, "1m")
    tables = [np.array([[1.0, np.inf, 2.0]]), np.array([[3.0, -np.inf, np.nan, 4.0]])]
    nan = np.nan
    wanted = [[nan, 1.0, nan, 2.0, 3.0, nan, nan, 4.0]]
    assert np.array_equal(batch.pack(tables), wanted, equal_nan=True)


def test_a_series_is_computed_once_and_read_at_any_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    (batch,) = batches_of(CANDLES, "30m", 0, len(CANDLES), 9)
    cache = ColumnCache(10**8)
    column = BatchColumns(SymbolBars(CANDLES), batch, cache).read(Read(RSI, 0, 0))
    monkeypatch.delattr("apps.engine.signals.columns.over")
    again = BatchColumns(SymbolBars(CANDLES), batch, cache)
    assert again.read(Read(RSI, 0, 0)).tobytes() == column.tobytes()
    assert again.read(Read(RSI, 0, 4)).tobytes() == shifted(column, 4).tobytes()


def test_a_column_shifted_by_more_than_its_length_is_unknown() -> None:
    assert np.isnan(shifted(np.ones(3), 5)).all()
    assert shifted(np.array([1.0, 2.0, 3.0]), 1)[1:].tolist() == [1.0, 2.0]
