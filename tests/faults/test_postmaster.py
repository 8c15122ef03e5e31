"""The database is killed under writing clients: acknowledged writes are stored afterwards."""

import random
import time
from collections import Counter
from dataclasses import dataclass
from statistics import median

import psycopg
import pytest

from tests.faults.clients import Writer, writing
from tests.faults.service import Service, service
from tests.processes import is_alive, until

SEED = 20261121


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_acknowledged_write_is_lost_when_the_database_is_killed_ten_times() -> None:
    rng = random.Random(SEED)
    with service(BACKTEST_WORKERS="1") as up:
        up.manage("load_candles", "--sample")
        with writing(up.port, count=4, seed=SEED) as writers:
            until(lambda: all(writer.journal.names for writer in writers))
            strikes = [_strike(up, rng, strike) for strike in range(15)]
            last = strikes[-1].back
            until(lambda: all(writer.journal.good[-1] > last for writer in writers))
        _report(writers, strikes)
        assert not [line for writer in writers for line in writer.journal.unexpected]
        assert min(len(writer.journal.names) for writer in writers) > 1
        for writer in writers:
            _require_writes(writer)
        until(lambda: _pending(writers) == 0, seconds=180)
        assert _endings(writers) == {"completed": _submitted(writers)}


@dataclass(frozen=True, slots=True)
class Strike:
    """The times of the kill and of the recovery, by time.monotonic."""

    killed: float
    back: float


def _strike(up: Service, rng: random.Random, number: int) -> Strike:
    """Kill the postmaster or, each third time, one of its processes."""
    time.sleep(rng.uniform(1.0, 5.0))
    processes = up.running()
    one_backend = number % 3 == 2
    victim = rng.choice(processes["backend"]) if one_backend else processes["postmaster"][0]
    killed = time.monotonic()
    up.kill(victim)
    until(lambda: not is_alive(victim))
    until(lambda: _database_answers(up), seconds=60)
    return Strike(killed, time.monotonic())


def _database_answers(up: Service) -> bool:
    try:
        with up.database() as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def _require_writes(writer: Writer) -> None:
    for algorithm, names in writer.journal.names.items():
        answer = writer.caller.call("GET", f"/api/trading/algorithms/{algorithm}")
        assert answer.status == 200
        assert answer["name"] in names


def _statuses(writer: Writer) -> list[str]:
    answers = (
        writer.caller.call("GET", f"/api/backtests/{backtest}")
        for backtest in writer.journal.backtests
    )
    return [str(answer["status"]) for answer in answers]


def _endings(writers: list[Writer]) -> Counter[str]:
    return Counter(status for writer in writers for status in _statuses(writer))


def _pending(writers: list[Writer]) -> int:
    endings = _endings(writers)
    return endings["queued"] + endings["running"]


def _submitted(writers: list[Writer]) -> int:
    return sum(len(writer.journal.backtests) for writer in writers)


def _report(writers: list[Writer], strikes: list[Strike]) -> None:
    good = sorted(moment for writer in writers for moment in writer.journal.good)
    outages = [strike.back - strike.killed for strike in strikes]
    waits = [next(moment for moment in good if moment >= s.back) - s.back for s in strikes]
    statuses = sum((writer.journal.statuses for writer in writers), Counter[int]())
    print(f"\nanswers by status (0: none): {dict(statuses)}")
    algorithms = sum(len(writer.journal.names) for writer in writers)
    print(f"acknowledged: {algorithms} algorithms, {_submitted(writers)} backtests")
    print(f"database away: median {median(outages):.2f} s, longest {max(outages):.2f} s")
    print(f"then the first 2xx: median {median(waits):.2f} s, longest {max(waits):.2f} s")
