import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from apps.ops.supervisor import Backoff
from tests.processes import is_alive, line, python, until

SUPERVISE = """
import sys
from pathlib import Path
from apps.ops.supervisor import Child, Supervisor

def say(line):
    print(line, flush=True)

words = sys.argv[1:]
web, worker = (Child(name, "tests.ops.child", [name, *words]) for name in ("web", "worker"))
Supervisor([[web], [worker]], directory=Path.cwd(), say=say).run(on_poll=lambda: None)
"""


@pytest.fixture
def supervisor() -> Iterator[subprocess.Popen[str]]:
    with python(SUPERVISE) as process:
        yield process


def pids(process: subprocess.Popen[str], count: int = 2) -> dict[str, int]:
    """Each child says its name and its process id when it starts."""
    said = [line(process).split() for _ in range(count)]
    return {name: int(pid) for name, pid in said}


def test_a_child_that_is_killed_starts_again(supervisor: subprocess.Popen[str]) -> None:
    first = pids(supervisor)
    os.kill(first["web"], signal.SIGKILL)
    assert line(supervisor) == "web ended (SIGKILL): starts again in 0.5 s"
    again = pids(supervisor, 1)
    assert again["web"] != first["web"]
    assert is_alive(first["worker"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_all_in_order(
    supervisor: subprocess.Popen[str], number: signal.Signals
) -> None:
    children = pids(supervisor)
    supervisor.send_signal(number)
    assert [line(supervisor) for _ in range(3)] == ["stopping", "web stops", "worker stops"]
    assert supervisor.wait() == 0
    assert not any(is_alive(pid) for pid in children.values())


def test_no_child_outlives_a_killed_supervisor(supervisor: subprocess.Popen[str]) -> None:
    children = pids(supervisor)
    supervisor.kill()
    until(lambda: not any(is_alive(pid) for pid in children.values()))


def test_a_second_signal_does_not_wait() -> None:
    with python(SUPERVISE, "stubborn") as supervisor:
        children = pids(supervisor)
        supervisor.send_signal(signal.SIGINT)
        assert [line(supervisor), line(supervisor)] == ["stopping", "web stays"]
        supervisor.send_signal(signal.SIGINT)
        assert supervisor.wait() == 0
    assert not any(is_alive(pid) for pid in children.values())


def test_waits_grow_while_a_child_keeps_ending_and_shrink_after_a_good_run() -> None:
    backoff = Backoff()
    waits = [backoff.ended(started=0.0, now=1.0) for _ in range(9)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert backoff.ended(started=0.0, now=61.0) == 0.5
