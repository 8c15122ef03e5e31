"""Permanent processes that run a work on request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.peers.environments import FOLDER, PROJECT, python_of

ENVIRONMENT = PROJECT / ".data" / "peers"


class Measured(NamedTuple):
    """A run: `seconds` of processor time and `elapsed` ones. `first` is the compiling run, before
    any measurement; `megabytes` is the peak memory of the process.
    """

    seconds: float
    elapsed: float
    trades: int
    first: float
    megabytes: float


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
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        return Measured(**json.loads(answer))


@contextmanager
def service_runner(script: str = "with_ours") -> Iterator[Runner]:
    with _running([sys.executable, "-m", f"tests.benchmarks.peers.{script}"]) as runner:
        yield runner


@contextmanager
def peer(name: str) -> Iterator[Runner]:
    """Start the script `with_` that name. Raises PeersMissing."""
    python = python_of(
        ENVIRONMENT,
        requirements="requirements_backtests.txt",
        peers="vectorbt and backtesting.py",
    )
    with _running([str(python), str(FOLDER / f"with_{name}.py")]) as runner:
        yield runner


def from_cold(candles: Path) -> list[float]:
    """Return seconds from the start of a process of ours: to its readiness, and to each
    backtest.
    """
    command = [sys.executable, "-m", "tests.benchmarks.peers.from_cold", str(candles)]
    begun = time.time()
    done = subprocess.run(
        command, cwd=PROJECT, env=_environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    return [end - begun for end in json.loads(done.stdout)]


@contextmanager
def _running(command: list[str]) -> Iterator[Runner]:
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Runner(process)
        process.communicate()  # its input ends, and so does it


def _environment() -> dict[str, str]:
    """Return an environment with one permanent cache of compiled functions.

    Peers cannot import our locator of it.
    """
    inherited = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_LOCATOR_CLASSES"}
    return inherited | {"NUMBA_CACHE_DIR": str(ENVIRONMENT / "numba")}
