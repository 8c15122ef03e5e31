"""The cost of ten times the work."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from tests.benchmarks.peers.runners import service_runner
from tests.benchmarks.random_candles import candles_file, candles_folder
from tests.benchmarks.side_by_side import report

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

ROUNDS = 3


def grown(name: str, works: Mapping[int, Callable[[], float]]) -> None:
    """Measure works by size, each ten times the previous one; they return their seconds."""
    rounds = [[work() for work in works.values()] for _ in range(ROUNDS)]
    seconds = dict(zip(works, zip(*rounds, strict=True), strict=True))
    for less, more in pairwise(works):
        report(f"{name}, {less:,} against {more:,}", seconds[less], seconds[more])
        small, other = (1e6 * min(seconds[size]) / size for size in (less, more))
        print(f"at best {small:,.3f} us for each and {other:,.3f} us")


def curves_grown(name: str, candles: Mapping[int, Path]) -> None:
    """Measure candles to trades and equity, by the size of the candles."""
    with service_runner() as runner:
        works = {
            size: lambda path=path: runner.measure("curve", path).seconds
            for size, path in candles.items()
        }
        grown(name, works)


def test_ten_times_the_bars(tmp_path: Path) -> None:
    sizes = (10_000, 100_000, 1_000_000, 10_000_000)
    files = {bars: candles_file(tmp_path, bars) for bars in sizes}
    curves_grown("minutes to trades and equity", files)


def test_ten_times_the_symbols(tmp_path: Path) -> None:
    folders = {
        symbols: candles_folder(tmp_path / str(symbols), 100_000, symbols=symbols)
        for symbols in (5, 50)
    }
    curves_grown("symbols of 100,000 minutes on one account", folders)


def test_ten_times_the_sets(tmp_path: Path) -> None:
    path = candles_file(tmp_path, 100_000)
    with service_runner("with_our_search") as runner:
        works = {
            sets: lambda work=work: runner.measure(work, path).elapsed
            for sets, work in ((100, "tenth"), (1_000, "search"))
        }
        grown("sets over 100,000 minutes on 2 threads", works)
