"""The memory of decoded blocks."""

from apps.market.decoded import DecodedBlocks
from tests.market.bars import minutes


def test_the_blocks_used_last_stay() -> None:
    bars = minutes("2024-01-31 09:15", 10)
    held = DecodedBlocks(capacity=2 * 10 * 48)
    held.put("a", bars)
    held.put("b", bars)
    assert held.get("a") is bars
    held.put("c", bars)
    assert (held.get("a"), held.get("b"), held.get("c")) == (bars, None, bars)


def test_a_block_larger_than_the_memory_is_not_kept() -> None:
    held = DecodedBlocks(capacity=100)
    held.put("a", minutes("2024-01-31 09:15", 10))
    assert held.get("a") is None
    held.put("b", minutes("2024-01-31 09:15", 2))
    assert held.get("b") is not None
