"""Minutes from candles to trades and equity: ours, vectorbt and backtesting.py in turns."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.benchmarks.peers.environments import PeersMissing
from tests.benchmarks.peers.runners import Measured, Runner, peer, service_runner
from tests.benchmarks.random_candles import candles_file, candles_folder
from tests.benchmarks.side_by_side import MEASURED, Row, report

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]

WORK = "minutes to trades and equity"


class Runners(NamedTuple):
    service: Runner
    vectorbt: Runner
    backtesting: Runner


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    with ExitStack() as processes:
        try:
            peers = [processes.enter_context(peer(name)) for name in ("vectorbt", "backtesting")]
        except PeersMissing as missing:
            pytest.skip(str(missing))
        yield Runners(processes.enter_context(service_runner()), *peers)


def agree(service: Measured, other: Measured) -> None:
    """The peers' stops skip the entry bar or start from the signal's close, so a few
    trades differ.
    """
    assert service.trades == pytest.approx(other.trades, rel=0.05)
    print(
        f"{service.trades:,} trades and {other.trades:,};"
        f" first runs, with compilation: {service.first:.2f} s and {other.first:.2f} s"
    )


def test_a_year_of_minutes(runners: Runners, tmp_path: Path) -> None:
    path, turns = candles_file(tmp_path, 100_000), []
    for turn in range(9):
        curve = runners.service.measure("curve", path)
        vectorbt = runners.vectorbt.measure("curve", path)
        whole = runners.service.measure("backtest", path)
        slowest = [runners.backtesting.measure("curve", path)] if turn % 3 == 0 else []
        turns.append((curve, whole, vectorbt, slowest))
    seconds = np.array([[run.seconds for run in turn[:3]] for turn in turns]).T
    rare = np.array([[turn[0].seconds, turn[1].seconds, turn[3][0].seconds] for turn in turns[::3]])
    name = f"100,000 {WORK}"
    report(f"{name}, ours against vectorbt", seconds[0].tolist(), seconds[2].tolist())
    agree(turns[0][0], turns[0][2])
    report(f"{name}, ours with figures and receipt against vectorbt without", *seconds[1:].tolist())
    report(f"{name}, ours against backtesting.py", rare[:, 0].tolist(), rare[:, 2].tolist())
    agree(turns[0][0], turns[0][3][0])
    report(
        f"{name}, ours with figures and receipt against backtesting.py",
        rare[:, 1].tolist(),
        rare[:, 2].tolist(),
    )


def test_ten_years_of_minutes(runners: Runners, tmp_path: Path) -> None:
    path = candles_file(tmp_path, 1_000_000)
    pairs = [
        (runners.service.measure("curve", path), runners.vectorbt.measure("curve", path))
        for _ in range(3)
    ]
    report(
        f"1,000,000 {WORK}, ours against vectorbt",
        [service.seconds for service, _ in pairs],
        [other.seconds for _, other in pairs],
    )
    agree(*pairs[0])


def test_a_portfolio(tmp_path: Path) -> None:
    """The portfolio has an account for all symbols, each with a bar in every minute.

    Candles are in one table, as the service and vectorbt have them. Our data are prepared from them
    within the measured time, and then beforehand. Each way has a separate process, to measure its
    memory.
    """
    folder = candles_folder(tmp_path / "symbols", 100_000, symbols=50)
    with ExitStack() as processes:
        try:
            vectorbt = processes.enter_context(peer("vectorbt"))
        except PeersMissing as missing:
            pytest.skip(str(missing))
        apart, joined = (processes.enter_context(service_runner()) for _ in range(2))
        works = ("curve", apart), ("joined", joined), ("portfolio", vectorbt)
        turns = [[runner.measure(work, folder) for work, runner in works] for _ in range(5)]
    name = "50 symbols of 100,000 minutes on one account, ours from {} against vectorbt"
    read, made = name.format("candles in one table"), name.format("a market made before")
    seconds = [[run.seconds for run in runs] for runs in zip(*turns, strict=True)]
    report(read, seconds[0], seconds[2])
    report(made, seconds[1], seconds[2])
    agree(turns[0][0], turns[0][2])
    service, other = turns[-1][0].megabytes, turns[-1][2].megabytes
    sizes = f"{service:,.0f} MB", f"{other:,.0f} MB"
    print(f"memory at most: {sizes[0]} and {sizes[1]}")
    MEASURED.append(Row(f"{read}, memory at most", *sizes))
