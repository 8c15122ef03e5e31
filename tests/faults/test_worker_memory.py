"""The memory of a worker is at most the estimate for its backtest."""

import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from apps.backtests.models import Backtest, BacktestKind, BacktestStatus
from apps.backtests.running import estimates
from apps.backtests.running.submissions import read_date_range
from apps.engine.candles import WARMUP_BARS, Candles
from apps.market import services
from apps.market.rulebook.sessions import sessions_of
from tests import make
from tests.backtests.submissions import submit
from tests.faults.random_history import NOW
from tests.faults.workers import Worker, working
from tests.processes import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

YEAR: Final = 2025
SYMBOLS: Final = [f"NSE:LONG{first}{second}" for second in "KLMNOPQRST" for first in "ABCDE"]
# Of each letter after LONG one is made, and the others are its copies.
COPIED: Final = SYMBOLS[:5]
SEARCH: Final = {
    "objective": "netProfit",
    "parameters": [
        {"path": "exitConditions.stopLoss.atrMultiplier", "from": 1, "to": 8, "step": 0.25}
    ],
}

COPY: Final = """
    INSERT INTO market_candlechunk (symbol, timeframe, synthetic, adjusted, period_start, bars,
        first_time, last_time, days, data, sha256, updated_at)
    SELECT %s, timeframe, synthetic, adjusted, period_start, bars, first_time, last_time, days,
        data, sha256, updated_at
    FROM market_candlechunk WHERE symbol = %s
"""


def minutes_of_year(symbol: str, year: int, rng: np.random.Generator, opened: float) -> Candles:
    """Return a random walk; one minute in a hundred has no bar, a different one for each symbol."""
    sessions = sessions_of(symbol)
    days = np.arange(np.datetime64(f"{year}-01-01"), np.datetime64(f"{year + 1}-01-01"))
    numbers = days.astype(np.int32)
    opens, closes = sessions.hours(numbers[sessions.is_session(numbers)])
    times = np.concatenate([np.arange(o, c, 60) for o, c in zip(opens, closes, strict=True)])
    times = times[rng.random(len(times)) < 0.99]
    close = np.round(opened * np.exp(np.cumsum(rng.normal(0, 0.0004, len(times)))), 2)
    before = np.r_[opened, close[:-1]]
    return Candles.build(
        times,
        open=before,
        high=np.maximum(before, close),
        low=np.minimum(before, close),
        close=close,
        volume=rng.integers(100_000, 500_000, len(times)),
    )


def store_year() -> None:
    """Store the minutes of a year and of the warm-up before it."""
    for number, symbol in enumerate(COPIED):
        rng, price = np.random.default_rng(number), 1000.0
        for year in (YEAR - 1, YEAR):
            candles = minutes_of_year(symbol, year, rng, price)
            if year < YEAR:
                candles = candles.slice(len(candles) - 3 * WARMUP_BARS, len(candles))
            services.append(symbol=symbol, timeframe="1m", candles=candles, now=NOW)
            price = float(candles.close[-1])
    with connection.cursor() as cursor:
        for symbol in set(SYMBOLS) - set(COPIED):
            cursor.execute(COPY, [symbol, symbol[:-1] + COPIED[0][-1]])


def peak_megabytes(worker: Worker) -> float:
    """Return the worker's peak memory, with shared pages counted in full."""
    assert worker.process is not None
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / estimates.BYTES_OF_A_MEGABYTE


# Numbers of symbols, and the simulations over a year of their minutes.
RUNS: Final[list[tuple[int, BacktestKind, dict[str, Any]]]] = [
    (10, BacktestKind.BACKTEST, {}),
    (40, BacktestKind.BACKTEST, {}),
    (15, BacktestKind.OPTIMIZATION, {"optimizationConfig": SEARCH}),
]
YEAR_OF_MINUTES: Final = read_date_range(f"{YEAR}-01-01", f"{YEAR}-12-31", now=NOW)
DAY_OF_MINUTES: Final = read_date_range(f"{YEAR}-12-31", f"{YEAR}-12-31", now=NOW)


def test_a_worker_uses_the_estimated_memory(tmp_path: Path) -> None:
    """The baseline is the memory after a backtest of a day.

    A new worker does each run, with two averages and a stop by the average true range.
    """
    store_year()
    owner, shares = make.user("alice"), list[float]()
    print()
    for symbols, kind, configs in RUNS:
        algorithm = make.algorithm(owner, **steps_of(SYMBOLS[:symbols]))
        small = make.algorithm(owner, **steps_of(SYMBOLS[:1]))
        with working(1, tmp_path) as (worker,):
            run(submit(owner, small.pk, date_range=DAY_OF_MINUTES, now=timezone.now()))
            own = peak_megabytes(worker)
            began = time.monotonic()
            backtest = submit(
                owner,
                algorithm.pk,
                date_range=YEAR_OF_MINUTES,
                kind=kind,
                configs=configs,
                now=timezone.now(),
            )
            run(backtest)
            seconds, peak = time.monotonic() - began, peak_megabytes(worker)
        memory = estimates.memory_of(backtest)
        print(
            f"{kind}, {memory.bars:,} bars of {symbols} symbols: {seconds:.0f} s,"
            f" {own:.0f} MB before and {peak:.0f} MB at most, estimated {memory.megabytes:.0f} more"
        )
        shares.append((peak - own) / memory.megabytes)
    assert 0.4 < min(shares) <= max(shares) < 1.2, shares


def run(backtest: Backtest) -> None:
    """Wait for a worker to run it."""
    until(partial(has_ended, backtest), seconds=1800, every=0.2)
    assert backtest.status == BacktestStatus.COMPLETED, backtest.error


def has_ended(backtest: Backtest) -> bool:
    backtest.refresh_from_db()
    return backtest.completed_at is not None


def steps_of(symbols: list[str]) -> dict[str, Any]:
    basics = {"strategyType": "momentum", "timeframe": "1m", "symbols": symbols}
    steps = make.steps(basicInfo=basics)
    steps["riskParameters"]["maxOpenPositions"] = 50
    steps["exitConditions"] = {"stopLoss": {"type": "atr", "atrPeriod": 14, "atrMultiplier": 2}}
    return steps
