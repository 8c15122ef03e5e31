"""A chunk is a Parquet file without any loss."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.engine.candles import Candles
from apps.market.candles import chunks
from tests.market.bars import are_same_candles, at, flat_candles, rising_minutes
from tests.market.candle_files import ImportedSeries


def _scale(data: bytes) -> bytes | None:
    metadata = pq.read_schema(io.BytesIO(data)).metadata or {}
    return metadata.get(b"scale")


@given(
    st.lists(
        st.one_of(
            st.integers(1, 10_000_000).map(lambda paise: paise / 100),
            st.integers(1, 10_000_000).map(lambda n: n / 10_000),
            st.floats(min_value=1e-6, max_value=1e9),
        ),
        min_size=1,
        max_size=48,
    )
)
def test_any_price_survives_bit_for_bit(prices: list[float]) -> None:
    held = flat_candles([60 * i for i in range(len(prices))], prices)
    assert are_same_candles(chunks.decode(chunks.encode(held)), held)


@pytest.mark.parametrize(
    ("price", "scale"),
    [(21727.0, b"0"), (21727.75, b"2"), (83.2525, b"4"), (0.0001, b"4"), (100 / 3, None)],
)
def test_a_block_has_the_fewest_exact_decimals(price: float, scale: bytes | None) -> None:
    data = chunks.encode(flat_candles(range(0, 2400, 60), price))
    assert _scale(data) == scale
    assert chunks.decode(data).close.tolist() == [price] * 40


@pytest.mark.parametrize("bars", [1, 40])
def test_a_fractional_volume_survives(bars: int) -> None:
    prices, times = np.ones(bars), [60 * i for i in range(bars)]
    held = Candles.build(
        times, open=prices, high=prices, low=prices, close=prices, volume=prices / 8
    )
    assert are_same_candles(chunks.decode(chunks.encode(held)), held)


def test_a_few_bars_take_few_bytes() -> None:
    assert len(chunks.encode(flat_candles([0]))) < 60
    sizes = [
        len(chunks.encode(rising_minutes("2024-01-01 09:15", count))) for count in (31, 32, 33)
    ]
    assert max(sizes) < 1600


@pytest.mark.parametrize(
    ("timeframe", "starts"),
    [
        ("30m", ["2024-12-01 00:00", "2025-01-01 00:00"]),
        ("4h", ["2024-01-01 00:00", "2025-01-01 00:00"]),
        ("1d", ["2020-01-01 00:00"]),
    ],
)
def test_bars_are_cut_at_the_blocks_of_rule_11(timeframe: str, starts: list[str]) -> None:
    held = flat_candles([at("2024-12-31 15:00"), at("2025-01-01 09:15")])
    cut = chunks.split(held, timeframe)
    assert [block.start for block in cut] == [at(start) for start in starts]
    assert are_same_candles(chunks.concat(block.candles for block in cut), held)


def test_the_days_of_a_block_equal_those_of_its_bars() -> None:
    held = flat_candles([at("2024-12-02 09:15"), at("2024-12-02 15:29"), at("2024-12-31 15:29")])
    block = chunks.split(held, "1m")[0]
    days = chunks.days_from_bits(chunks.day_bits(block), block.start)
    dates = days.astype("M8[D]").astype(str).tolist()
    assert dates == ["2024-12-02", "2024-12-31"]


def test_equal_bars_are_equal_bytes() -> None:
    bars = rising_minutes("2024-01-01 09:15", 375)
    assert chunks.encode(bars) == chunks.encode(bars)


def test_joining_pieces_in_any_order_sorts_them() -> None:
    bars = rising_minutes("2024-01-01 09:15", 10)
    odd = np.arange(10) % 2 == 1
    pieces = [bars.select(odd), chunks.EMPTY, bars.select(~odd)]
    assert are_same_candles(chunks.concat(pieces), bars)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_block_compressed_otherwise_is_read(compression: Any) -> None:
    bars = rising_minutes("2024-01-01 09:15", 375)
    table = pq.read_table(io.BytesIO(chunks.encode(bars)))
    other = io.BytesIO()
    pq.write_table(table, other, compression=compression)
    assert are_same_candles(chunks.decode(other.getvalue()), bars)


def test_blocks_of_different_decimals_are_one_series() -> None:
    pieces = [
        flat_candles([0, 60], 100.0),
        flat_candles(range(120, 2520, 60), 100.05),
        flat_candles([3000, 3060], [100 / 3, 0.0001]),
        flat_candles(range(3600, 6000, 60), 100 / 3),
    ]
    assert are_same_candles(chunks.decode(*map(chunks.encode, pieces)), chunks.concat(pieces))


@pytest.mark.parametrize(
    ("name", "timeframe"),
    [
        ("INFY_1m_2024-25.parquet", "1m"),
        ("NIFTY_1m_2024.csv.gz", "1m"),
        ("BHEL_5m_2025-26.parquet", "5m"),
    ],
)
def test_a_real_bar_takes_under_ten_bytes(name: str, timeframe: str, market_data: Path) -> None:
    bars = ImportedSeries(market_data / name).candles
    data = [chunks.encode(block.candles) for block in chunks.split(bars, timeframe)]
    assert sum(map(len, data)) < 10 * len(bars)
    assert are_same_candles(chunks.decode(*data), bars)
