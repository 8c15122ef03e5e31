"""The time of a newly started worker with compiled kernels."""

import statistics
from pathlib import Path

import pytest

from tests.benchmarks.peers.runners import from_cold
from tests.benchmarks.random_candles import candles_file
from tests.benchmarks.side_by_side import MEASURED, Row

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

STARTS = 7


def test_from_the_start_of_a_process_to_its_first_backtest(tmp_path: Path) -> None:
    path = candles_file(tmp_path, 100_000)
    from_cold(path)  # compiles, if need be
    starts = [from_cold(path) for _ in range(STARTS)]
    ready, first, *_, ninth, tenth = (
        statistics.median(seconds) for seconds in zip(*starts, strict=True)
    )
    name = "from the start of a process to a first backtest of 100,000 minutes"
    MEASURED.append(Row(name, f"{first:.2f} s"))
    print(f"\n{name}: {first:.2f} s; ready after {ready:.2f} s")
    took = f"{1000 * (first - ready):.1f} ms, the tenth {1000 * (tenth - ninth):.1f} ms"
    slowest = max(start[1] for start in starts)
    print(f"the first backtest took {took}; the slowest start {slowest:.2f} s")
