"""Processes that stay, and run a work when they are told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[3]
HERE = Path(__file__).parent
ENVIRONMENT = PROJECT / ".data" / "peers"
REQUIREMENTS = HERE / "requirements.txt"


class PeersMissing(Exception):
    """The peers' environment cannot be made: no network, or no wheel for this machine."""


class Measured(NamedTuple):
    """One run: `first` is the one that compiled, before any was measured."""

    seconds: float
    trades: int
    first: float


class Runner:
    """A process that measures."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measure(self, work: str, candles: Path) -> Measured:
        """Run `work` once over the bars of a file; the first call also runs it untimed."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(f"{work}\t{candles}\n")
        requests.flush()
        answer = answers.readline()
        if not answer:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}")
        return Measured(**json.loads(answer))


@contextmanager
def ours() -> Iterator[Runner]:
    with _running([sys.executable, "-m", "tests.benchmarks.peers.with_ours"]) as runner:
        yield runner


@contextmanager
def peer(name: str) -> Iterator[Runner]:
    """vectorbt or backtesting; raises PeersMissing."""
    with _running([str(_python()), str(HERE / f"with_{name}.py")]) as runner:
        yield runner


@contextmanager
def _running(command: list[str]) -> Iterator[Runner]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(ENVIRONMENT / "numba")}
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Runner(process)
        process.communicate()  # its input ends, and so does it


def _python() -> Path:
    """The peers' Python; what is installed is installed once for each requirements file."""
    python, done = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "installed"
    wanted = sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if done.exists() and done.read_text() == wanted:
        return python
    print(f"\ninstalling vectorbt and backtesting.py in {ENVIRONMENT}", flush=True)
    _do([sys.executable, "-m", "venv", str(ENVIRONMENT)])
    quiet = ["--quiet", "--disable-pip-version-check"]
    _do([str(python), "-m", "pip", "install", *quiet, "-r", str(REQUIREMENTS)])
    done.write_text(wanted)
    return python


def _do(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1]
        raise PeersMissing(f"vectorbt and backtesting.py are not measured: {last}")
