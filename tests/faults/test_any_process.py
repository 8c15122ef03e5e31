"""Any process of a running service is killed: it answers again, and nothing remains."""

import random
import time

import pytest

from apps.ops.database.local_postgres import socket_folder
from tests.faults.clients import writing
from tests.faults.service import ROLES, WORKERS, Service, service
from tests.processes import is_alive, until

SEED = 20261121
KILLS = 20
# How many processes each role has in a service that is whole.
COMPLETE = {"supervisor": 1, "web": 2, "postmaster": 1, **dict.fromkeys(WORKERS, 1)}


def victims(rng: random.Random) -> list[str]:
    """Return roles with about equal frequency, in any order."""
    roles = [*ROLES, *ROLES, *ROLES][:KILLS]
    rng.shuffle(roles)
    return roles


def is_whole(up: Service) -> bool:
    running = up.running()
    return all(len(running[role]) == count for role, count in COMPLETE.items()) and up.answers()


def kill_one(up: Service, role: str, rng: random.Random) -> None:
    until(lambda: up.running()[role])
    pids = up.running()[role]
    victim = pids[0] if role == "postmaster" else rng.choice(pids)
    up.kill(victim)
    until(lambda: not is_alive(victim))


def what_stays(up: Service) -> set[int]:
    """Return processes that must end with the supervisor; its successor takes over the server."""
    running = up.running().items()
    return {pid for role, pids in running if role not in ("postmaster", "backend") for pid in pids}


def start_again(up: Service, *, at_once: bool) -> float:
    """Return the seconds until nothing of the killed one was left, or none if that is not
    awaited.
    """
    begun = time.monotonic()
    if not at_once:
        until(lambda: not what_stays(up))
    gone = time.monotonic() - begun
    up.start()
    return gone


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_any_kill_the_service_recovers_and_leaves_no_trace() -> None:
    rng = random.Random(SEED)
    with service(BACKTEST_WORKERS="1") as up:
        up.manage("load_candles", "--sample")
        until(lambda: is_whole(up))
        with writing(up.port, count=1, seed=SEED) as (writer,):
            print()
            for number, role in enumerate(victims(rng)):
                gone = 0.0
                kill_one(up, role, rng)
                killed = time.monotonic()
                if role == "supervisor":
                    gone = start_again(up, at_once=number % 2 == 0)
                until(lambda: is_whole(up), seconds=90)
                well = time.monotonic() - killed
                print(f"{role:10} nothing left after {gone:4.1f} s, all well after {well:4.1f} s")
                time.sleep(rng.uniform(0.0, 1.0))
            before = time.monotonic()
            until(lambda: writer.journal.good[-1] > before)
        print(f"answers by status (0: none): {dict(writer.journal.statuses)}")
        assert not writer.journal.unexpected
        up.stop()
        assert not up.all_pids()
        assert not socket_folder(up.directory).exists()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_server_outlives_a_killed_up_and_the_next_up_stops_it() -> None:
    with service(BACKTEST_WORKERS="1") as up:
        server = up.postmaster()
        up.kill(up.running()["supervisor"][0])
        until(lambda: not what_stays(up))
        assert is_alive(server)
        up.start()
        assert up.postmaster() == server
        up.stop()
        assert not up.all_pids()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_after_all_processes_were_killed_at_once_the_next_up_has_everything() -> None:
    with service(BACKTEST_WORKERS="1") as up:
        with writing(up.port, count=1, seed=SEED) as (writer,):
            until(lambda: len(writer.journal.names) > 3)
            for pid in up.all_pids():
                up.kill(pid)
        until(lambda: not up.all_pids())
        up.start()
        for algorithm, names in writer.journal.names.items():
            assert (
                writer.caller.call("GET", f"/api/trading/algorithms/{algorithm}")["name"] in names
            )
