"""Ten times as many running algorithms on a hundred symbols: how much longer their bar takes, from
the wake to the last commit, in one runner.
"""

import resource
import time

import pytest

from apps.market import clock
from apps.trading import lanes
from apps.trading.models import RunState
from apps.trading.runner import Runner
from tests import make
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.trading.live.crowd import crowd
from tests.trading.live.market_day import hold, steps, times, walk

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

SYMBOLS = [f"NSE:WALK{chr(65 + n // 26)}{chr(65 + n % 26)}" for n in range(100)]
LENGTH, UNTIMED, TIMED = 300, 3, 3
FEW, MANY = 1_000, 10_000


def bar_seconds(count: int) -> tuple[float, float]:
    """(wall, CPU of the runner) of a bar of so many algorithms, the middle of three."""
    starts = times(20, LENGTH)
    begin = 15 * 75
    owners = [make.user(f"owner{count}x{n}") for n in range(50)]
    configurations = [configuration(n) for n in range(count)]
    crowd(owners, configurations, since=starts[begin])
    runner, walls, cpus = Runner(), [], []
    lanes.adopt(now=make.NOW)
    for n in range(UNTIMED + TIMED):
        at = starts[begin + n] + LENGTH
        clock.move(at, symbols=SYMBOLS, timeframe="5m", now=make.NOW)
        wall, cpu = time.perf_counter(), time.process_time()
        lanes.wake(SYMBOLS, "5m", now=make.NOW)
        while runner.work(now=make.NOW):
            pass
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        assert RunState.objects.exclude(row_time=starts[begin + n]).count() == 0
    return sorted(walls[UNTIMED:])[1], sorted(cpus[UNTIMED:])[1]


def configuration(n: int) -> dict[str, object]:
    """One of ten crossings, on one of the symbols."""
    made = steps(
        [SYMBOLS[n % len(SYMBOLS)]], "5m",
        executionSettings={
            "mode": "paper", "exchange": "NSE", "orderType": "market", "initialCapital": 100_000
        },
    )  # fmt: skip
    crossing, kind = made["entryConditions"]["conditions"][0], n // len(SYMBOLS) % 10
    crossing["indicator1"]["period"], crossing["indicator2"]["period"] = 3 + kind, 15 + kind
    return made


def test_a_bar_of_ten_times_as_many_algorithms() -> None:
    starts = times(20, LENGTH)
    hold({symbol: walk(n, starts) for n, symbol in enumerate(SYMBOLS)}, "5m")
    few_wall, few_cpu = bar_seconds(FEW)
    RunState.objects.all().delete()
    many_wall, many_cpu = bar_seconds(MANY)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = Row(
        f"a bar of {FEW:,} algorithms on 100 symbols, by one runner, against one of {MANY:,}",
        f"{few_wall:.1f} s, {few_cpu:.1f} s of CPU",
        f"{many_wall:.1f} s, {many_cpu:.1f} s of CPU",
        f"{many_wall / few_wall:.1f}",
    )
    MEASURED.append(row)
    print(f"\n{row}, at most {memory:.0f} MB in this process")
