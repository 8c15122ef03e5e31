"""A bar of all symbols at once, processed by runners in separate processes: the time for ten
thousand running algorithms, and the time from a bar to its recorded orders.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import transaction
from django.utils import timezone

from apps.core.times import moment
from apps.market.candles import buffer
from apps.market.feeds import clock
from apps.trading.models import Order, RunState
from tests import make
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.faults.workers import Worker, working
from tests.trading.live.many_runs import make_runs
from tests.trading.live.market_day import crossing_steps, random_candles, session_starts, store_bars

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

SYMBOLS = [f"NSE:WALK{chr(65 + n // 26)}{chr(65 + n % 26)}" for n in range(100)]
LENGTH, HELD = 300, 15 * 75
FEW, MANY, OWNERS = 1_000, 10_000, 50
UNTIMED, TIMED = 2, 3
LOOK = 0.05
"""Seconds between two looks at what is on record, as looking takes from what is measured."""
PROMPT, BARS, APART = 500, 8, 2.0
"""Algorithms, and seconds from the end of one bar's work to the next bar."""


class MarketRows:
    """History up to a morning, and then live bars of all symbols at once."""

    def __init__(self) -> None:
        self._starts = session_starts(20, LENGTH)
        self._series = {symbol: random_candles(n, self._starts) for n, symbol in enumerate(SYMBOLS)}
        store_bars({name: bars.slice(0, HELD) for name, bars in self._series.items()}, "5m")
        self._next = HELD

    @property
    def start(self) -> int:
        """The start of the next bar."""
        return self._starts[self._next]

    def close_bar(self) -> None:
        """Store the bar and announce it at one moment."""
        start, now = self.start, timezone.now()
        with transaction.atomic():
            for symbol, bars in self._series.items():
                bar = bars.slice(self._next, self._next + 1)
                buffer.store_bars({symbol: bar}, "5m", now=now)
            clock.move(start + LENGTH, symbols=SYMBOLS, timeframe="5m", now=now)
        self._next += 1


def algorithms(count: int, configuration: Callable[[int], dict[str, Any]], *, since: int) -> None:
    owners = [make.user(f"owner{count}x{n}") for n in range(OWNERS)]
    make_runs(owners, [configuration(n) for n in range(count)], since=since)


def crossing(n: int) -> dict[str, Any]:
    """Return one of ten crossings, on one of the symbols."""
    made = crossing_steps(
        [SYMBOLS[n % len(SYMBOLS)]],
        "5m",
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "initialCapital": 100_000,
        },
    )
    crossing, kind = made["entryConditions"]["conditions"][0], n // len(SYMBOLS) % 10
    crossing["indicator1"]["period"], crossing["indicator2"]["period"] = 3 + kind, 15 + kind
    return made


def eager(n: int) -> dict[str, Any]:
    """Return steps with an order and a fill in each bar: in at the open of a bar, and out at the
    next open.
    """
    price = {"type": "indicator_value", "indicator": {"type": "PRICE"}, "operator": "above"}
    always = [price | {"value": 1 + n / 10}]
    return crossing_steps(
        [SYMBOLS[n % len(SYMBOLS)]],
        "5m",
        entryConditions={"positionType": "long", "conditions": always},
        exitConditions={"conditions": always},
        positionSizing={"method": "fixed_quantity", "quantity": 10},
        riskParameters={"maxPositionSize": 50_000, "maxDailyLoss": 90_000, "maxOpenPositions": 1},
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "initialCapital": 100_000,
        },
    )


def used(worker: Worker) -> tuple[float, float]:
    """Return the CPU seconds so far, and the peak memory in MB."""
    assert worker.process is not None
    process = Path(f"/proc/{worker.process.pid}")
    ticks = (process / "stat").read_text().rpartition(")")[2].split()
    (most,) = (line for line in (process / "status").read_text().splitlines() if "VmHWM" in line)
    seconds = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
    return seconds, int(most.split()[1]) / 1024


def all_through(start: int) -> bool:
    return not RunState.objects.exclude(row_time=start).exists()


def bar_of(count: int, runners: int, directory: Path) -> tuple[float, str]:
    """Return the seconds from the commit of a bar to that of the last run, as the median of TIMED,
    and a description.
    """
    market, walls, cpus = MarketRows(), [], []
    algorithms(count, crossing, since=market.start)
    with working(runners, directory, queue="trading") as workers:
        for _ in range(UNTIMED + TIMED):
            start = market.start
            before = [used(worker)[0] for worker in workers]
            market.close_bar()
            began = time.perf_counter()
            while not all_through(start):
                time.sleep(LOOK)
            walls.append(time.perf_counter() - began)
            spent = [used(worker)[0] - cpu for worker, cpu in zip(workers, before, strict=True)]
            cpus.append(sum(spent))
            print(f"{walls[-1]:.2f} s, CPU {', '.join(f'{seconds:.2f}' for seconds in spent)}")
        memory = max(used(worker)[1] for worker in workers)
    wall, cpu = sorted(walls[UNTIMED:])[TIMED // 2], sorted(cpus[UNTIMED:])[TIMED // 2]
    return wall, f"{wall:.1f} s, {cpu:.1f} s of CPU, {memory:.0f} MB at most"


@pytest.mark.parametrize("runners", [1, 2])
def test_a_bar_of_ten_times_as_many_algorithms(runners: int, tmp_path: Path) -> None:
    few, of_few = bar_of(FEW, runners, tmp_path)
    RunState.objects.all().delete()
    many, of_many = bar_of(MANY, runners, tmp_path)
    by = "one runner" if runners == 1 else f"{runners} runners"
    name = f"a bar of {FEW:,} algorithms on 100 symbols, by {by}, against one of {MANY:,}"
    MEASURED.append(Row(name, of_few, of_many, f"{many / few:.1f}"))
    print(f"\n{MEASURED[-1]}")


def orders_seen(start: int) -> list[float]:
    """Return seconds from now until each order of a bar is visible, up to the last run."""
    seen: list[Any] = []
    began, bar_time, is_over = time.perf_counter(), moment(start), False
    while not is_over:
        is_over = all_through(start)
        count = Order.objects.filter(bar_time=bar_time).count()
        seen += [time.perf_counter() - began] * (count - len(seen))
        time.sleep(LOOK)
    return seen


@pytest.mark.parametrize(
    ("configuration", "kind"), [(crossing, "one of ten crossings each"), (eager, "in and out")]
)
def test_from_a_bar_to_its_orders(
    configuration: Callable[[int], dict[str, Any]], kind: str, tmp_path: Path
) -> None:
    market = MarketRows()
    algorithms(PROMPT, configuration, since=market.start)
    seen: list[float] = []
    with working(2, tmp_path, queue="trading"):
        for n in range(UNTIMED + BARS):
            start = market.start
            market.close_bar()
            seconds = orders_seen(start)
            print(f"{len(seconds)} orders, the last after {seconds[-1]:.2f} s")
            seen += seconds if n >= UNTIMED else []
            time.sleep(APART)
    half, most, last = np.quantile(seen, [0.5, 0.95, 1])
    name = f"from a bar to each order: {PROMPT} algorithms ({kind}), 100 symbols, two runners"
    words = f"half under {half:.2f} s, 95 % under {most:.2f} s, all under {last:.2f} s"
    MEASURED.append(Row(name, f"{words}, of {len(seen)}"))
    print(f"\n{MEASURED[-1]}")
