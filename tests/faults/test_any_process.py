"""Any process of a running service is killed: it answers again, and nothing stays behind."""

import random
import time

import pytest

from config.postgres import socket_directory
from tests.config.processes import is_alive, until
from tests.faults.clients import writing
from tests.faults.service import ROLES, Service, service

SEED = 20261121
KILLS = 20
COMPLETE = {"up": 1, "web": 3, "small": 1, "backtests": 1, "postmaster": 1}
"""How many processes each role has in a service that is whole; gunicorn and two of its own."""


def victims(rng: random.Random) -> list[str]:
    """Each role about as often, in any order."""
    roles = [*ROLES, *ROLES, *ROLES][:KILLS]
    rng.shuffle(roles)
    return roles


def is_whole(up: Service) -> bool:
    running = up.running()
    return all(len(running[role]) == count for role, count in COMPLETE.items()) and up.answers()


def strike(up: Service, role: str, rng: random.Random) -> tuple[float, float]:
    """Kill one of a role; the seconds until it was gone with all it leaves, and until all is well.

    A server that has lost its keeper outlives `up`, and the next one takes it over.
    """
    until(lambda: up.running()[role] or role == "keeper")
    guarded = bool(up.running()["keeper"])
    begun = time.monotonic()
    for victim in _chosen(up, role, rng):
        up.kill(victim)
        until(lambda victim=victim: not is_alive(victim))
    gone = begun
    if role == "up":
        until(lambda: not _remains(up, guarded=guarded), seconds=30)
        gone = time.monotonic()
        up.start()
    until(lambda: is_whole(up), seconds=60)
    return gone - begun, time.monotonic() - gone


def _chosen(up: Service, role: str, rng: random.Random) -> list[int]:
    candidates = up.running()[role]
    return [rng.choice(candidates)] if candidates else []


def _remains(up: Service, *, guarded: bool) -> set[int]:
    server = {"postmaster", "backend"} if not guarded else set()
    return {pid for role, pids in up.running().items() if role not in server for pid in pids}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_is_killed_the_service_answers_again_and_nothing_stays() -> None:
    rng = random.Random(SEED)
    with service(BACKTEST_WORKERS="1") as up:
        up.manage("load_candles", "--sample")
        until(lambda: is_whole(up))
        with writing(up.port, count=1, seed=SEED) as (writer,):
            print()
            for role in victims(rng):
                gone, well = strike(up, role, rng)
                print(f"{role:10} gone after {gone:4.1f} s, all well after {well:4.1f} s")
                time.sleep(rng.uniform(0.0, 1.0))
            before = time.monotonic()
            until(lambda: writer.journal.good[-1] > before)
        print(f"answers by status (0: none): {dict(writer.journal.statuses)}")
        assert not writer.journal.unexpected
        up.stop()
        assert not up.everyone()
        assert not socket_directory(up.directory).exists()
