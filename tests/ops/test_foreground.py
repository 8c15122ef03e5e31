"""A program that goes on in a fork, and the process that waits for it."""

import os
import signal
from pathlib import Path

import pytest

from tests.processes import is_alive, line, python, until

PROGRAM = """
import os, signal, sys, time
from apps.ops import foreground

def stop(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(7)

for number in foreground.FORWARDED:
    signal.signal(number, stop)
waiting = foreground.continue_in_fork()
print(waiting, os.getpid(), os.getsid(0), flush=True)
while os.getppid() == waiting:
    time.sleep(0.02)
print("alone", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_fork_is_told_to_stop_and_its_exit_code_is_that_of_the_program(
    number: signal.Signals,
) -> None:
    with python(PROGRAM) as process:
        waiting, fork, session = map(int, line(process).split())
        assert waiting == process.pid != fork == session
        process.send_signal(number)
        assert line(process) == number.name
        assert process.wait() == 7
        assert not is_alive(fork)


def test_a_fork_that_is_killed_ends_the_program_as_a_shell_tells_it() -> None:
    with python(PROGRAM) as process:
        _, fork, _ = map(int, line(process).split())
        os.kill(fork, signal.SIGKILL)
        assert process.wait() == 128 + signal.SIGKILL


def test_the_fork_sees_that_nobody_waits_any_more() -> None:
    with python(PROGRAM) as process:
        _, fork, _ = map(int, line(process).split())
        process.kill()
        assert line(process) == "alone"
        until(lambda: not is_alive(fork))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="shows the maps of a process")
def test_the_process_that_waits_holds_no_library_of_the_program() -> None:
    with python("import numba\n" + PROGRAM) as process:
        waiting, fork, _ = map(int, line(process).split())
        until(lambda: "foreground.py" in Path(f"/proc/{waiting}/cmdline").read_text())
        assert "llvmlite" in Path(f"/proc/{fork}/maps").read_text()
        assert "llvmlite" not in Path(f"/proc/{waiting}/maps").read_text()
