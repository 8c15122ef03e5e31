"""Fifty symbols, years of minutes: how long one worker takes for them, and how much memory.

LONG_RANGE_YEARS=10 is 47 million bars, which take some minutes to store and a gigabyte of disk.
"""

import os
import time
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from apps.backtests.histories import MAX_BARS_IN_MEMORY
from apps.backtests.models import Backtest, BacktestStatus
from apps.backtests.submissions import read_date_range
from apps.engine.candles import Candles
from apps.market import services
from apps.market.rulebook.sessions import sessions_of
from tests import make
from tests.backtests.submissions import submit
from tests.faults.history import NOW
from tests.faults.workers import Worker, working
from tests.processes import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

YEARS: Final = int(os.environ.get("LONG_RANGE_YEARS", "1"))
LAST_YEAR: Final = 2025
SYMBOLS: Final = [f"NSE:LONG{first}{second}" for first in "ABCDE" for second in "KLMNOPQRST"]
# Of each letter after LONG one is made, and the others are its copies.
COPIED: Final = SYMBOLS[::10]
MEGABYTES: Final = 600

COPY: Final = """
    INSERT INTO market_candleblock (symbol, timeframe, synthetic, adjusted, block_start, bars,
        first_time, last_time, days, data, sha256, updated_at)
    SELECT %s, timeframe, synthetic, adjusted, block_start, bars, first_time, last_time, days,
        data, sha256, updated_at
    FROM market_candleblock WHERE symbol = %s
"""


def minutes_of_year(symbol: str, year: int, rng: np.random.Generator, opened: float) -> Candles:
    """Walk at random; one minute in a hundred has no bar, of each symbol another one."""
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


def store_years() -> int:
    """Return how many bars there are."""
    bars = 0
    for number, symbol in enumerate(COPIED):
        rng, price = np.random.default_rng(number), 1000.0
        for year in range(LAST_YEAR - YEARS, LAST_YEAR + 1):  # one more, for the warm-up
            candles = minutes_of_year(symbol, year, rng, price)
            services.append(symbol=symbol, timeframe="1m", candles=candles, now=NOW)
            price = float(candles.close[-1])
            bars += 10 * len(candles) * (year > LAST_YEAR - YEARS)
    with connection.cursor() as cursor:
        for symbol in set(SYMBOLS) - set(COPIED):
            cursor.execute(COPY, [symbol, symbol[:-1] + COPIED[0][-1]])
    return bars


def peak_megabytes(worker: Worker) -> float:
    """Return the most that the worker has held, shared pages counted in full."""
    assert worker.process is not None
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def test_a_worker_goes_through_them_within_its_memory(tmp_path: Path) -> None:
    bars = store_years()
    assert bars > MAX_BARS_IN_MEMORY
    owner = make.user("alice")
    basics = {"strategyType": "momentum", "timeframe": "1m", "symbols": SYMBOLS}
    steps = make.steps(basicInfo=basics)
    risk = {**steps["riskParameters"], "maxOpenPositions": 50}
    algorithm = make.algorithm(owner, **make.steps(basicInfo=basics, riskParameters=risk))
    span = read_date_range(f"{LAST_YEAR - YEARS + 1}-01-01", f"{LAST_YEAR}-12-31", now=NOW)
    with working(1, tmp_path) as (worker,):
        backtest = submit(owner, algorithm.pk, date_range=span, now=timezone.now())
        began = time.monotonic()
        until(lambda: Backtest.objects.get().completed_at is not None, seconds=3000, every=0.5)
        seconds = time.monotonic() - began
        peak = peak_megabytes(worker)
    backtest.refresh_from_db()
    assert backtest.status == BacktestStatus.COMPLETED, backtest.error
    trades = (backtest.performance or {})["totalTrades"]
    print(f"\n{bars:,} bars of {len(SYMBOLS)} symbols, {trades:,} trades: {seconds:.0f} s", end="")
    print(f" by one worker, which held at most {peak:.0f} MB")
    assert peak < MEGABYTES
