import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from apps.ops.processes.supervisor import Backoff
from tests.processes import is_alive, line, python, until

SUPERVISE = """
import sys
from functools import partial
from apps.ops.processes import supervisor
from apps.ops.processes.supervisor import Child, Supervisor
from tests.ops import child

supervisor.SECONDS_TO_STOP = 1.0

def say(line):
    print(line, flush=True)

run = partial(child.run, is_stubborn="stubborn" in sys.argv)
web, worker = (Child(name, partial(run, name)) for name in ("web", "worker"))
Supervisor([web, worker], say=say).run(on_poll=lambda: None)
"""
# Each life of this child reads a line of the file that it was given.
ENDINGS = """
import os, sys, time
from apps.ops.processes import supervisor
from apps.ops.processes.supervisor import Child, Heartbeat, Supervisor

supervisor.SECONDS_TO_HANG = 1.0
supervisor.SHORT_LIFE = 0.0
shared, other = (open(sys.argv[1], "rb", buffering=0) for _ in range(2))
heartbeat = Heartbeat()

def live():
    print(os.getpid(), flush=True)
    exec(shared.readline())

def say(line):
    print(line, flush=True)

def tell(kill):
    say(f"{kill.pid} was killed, for memory: {kill.for_memory}")

child = Child("web", live, descriptors=[shared.fileno()], heartbeat=heartbeat, on_kill=tell)
Supervisor([child], say=say).run(on_poll=lambda: None)
"""


@pytest.fixture
def supervisor() -> Iterator[subprocess.Popen[str]]:
    with python(SUPERVISE) as process:
        yield process


def pids(process: subprocess.Popen[str], count: int = 2) -> dict[str, int]:
    """Each child prints its name and its process id when it starts."""
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
def test_one_signal_stops_all_at_once(
    supervisor: subprocess.Popen[str], number: signal.Signals
) -> None:
    children = pids(supervisor)
    supervisor.send_signal(number)
    assert line(supervisor) == "stopping"
    assert {line(supervisor), line(supervisor)} == {"web stops", "worker stops"}
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
        assert line(supervisor) == "stopping"
        assert {line(supervisor), line(supervisor)} == {"web stays", "worker stays"}
        supervisor.send_signal(signal.SIGINT)
        assert supervisor.wait() == 0
    assert not any(is_alive(pid) for pid in children.values())


@pytest.mark.slow
def test_children_that_stay_are_killed_in_time() -> None:
    with python(SUPERVISE, "stubborn") as supervisor:
        children = pids(supervisor)
        supervisor.send_signal(signal.SIGTERM)
        assert supervisor.wait(10) == 0
    assert not any(is_alive(pid) for pid in children.values())


def lives(tmp_path: Path, *code: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run a supervisor with a child that runs one line of code in each life."""
    path = tmp_path / "lives.py"
    path.write_text("\n".join(code) + "\n")
    return python(ENDINGS, str(path))


def test_a_child_that_ends_with_code_0_is_replaced_at_once_and_without_a_word(
    tmp_path: Path,
) -> None:
    with lives(tmp_path, "time.sleep(0.2)", "time.sleep(60)") as supervisor:
        first, second = line(supervisor), line(supervisor)
        assert int(first) != int(second)
        assert is_alive(int(second))
        assert not is_alive(int(first))


@pytest.mark.slow
def test_a_child_that_hangs_shows_its_threads_and_is_replaced_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    beating = "[heartbeat.beat() or time.sleep(0.1) for _ in range(600)]"
    with lives(tmp_path, "time.sleep(60)", "time.sleep(60)", beating) as supervisor:
        for _ in range(2):
            hung = int(line(supervisor))
            assert line(supervisor) == "web hangs, its threads are below: it is killed"
            assert line(supervisor) == "web ended (SIGKILL): starts again"
            assert line(supervisor) == f"{hung} was killed, for memory: False"
        last = int(line(supervisor))
        time.sleep(1.5)
        assert is_alive(last)
        assert not is_alive(hung)
    assert capfd.readouterr().err.count(" in live") == 2


def test_a_child_that_fails_says_why(tmp_path: Path) -> None:
    with lives(tmp_path, "1 / 0", "time.sleep(60)") as supervisor:
        line(supervisor)
        assert line(supervisor) == "web ended (exit code 1): starts again in 0.5 s"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system shows no descriptors")
def test_a_child_inherits_its_own_descriptors_only_and_has_a_name(tmp_path: Path) -> None:
    with lives(tmp_path, "time.sleep(60)") as supervisor:
        pid = int(line(supervisor))
        # stdin, stdout, stderr, the pipe to the supervisor, and the file that it reads.
        until(lambda: len(os.listdir(f"/proc/{pid}/fd")) == 5)
        assert os.readlink(f"/proc/{pid}/fd/0") == os.devnull
        assert Path(f"/proc/{pid}/comm").read_text() == "web\n"
        assert os.getsid(pid) == pid


def test_waits_grow_while_a_child_keeps_ending_and_shrink_after_a_good_run() -> None:
    backoff = Backoff()
    waits = [backoff.ended(started=0.0, now=1.0) for _ in range(9)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert backoff.ended(started=0.0, now=61.0) == 0.5
