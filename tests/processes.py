"""Real processes, watched from outside."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


def until(condition: Callable[[], object], *, seconds: float = 30.0, every: float = 0.02) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(every)


def is_alive(pid: int) -> bool:
    """Return whether the process runs: an ended process that was not waited for has an empty
    command line.
    """
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def python(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a program that can import the project; kill it at the end if it has not ended."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line printed by it or a child of it."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
