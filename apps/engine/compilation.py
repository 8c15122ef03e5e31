"""Compile the functions that simulations need before the first of them, or load the compiled ones.

Two processes compile, one half each, and this one then loads the result. If several processes find
an empty cache, one compiles, and the others wait for it.
"""

import fcntl
import importlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numba
from numba.core import event
from tqdm import tqdm

from apps.engine.kernel.kernel_cache import folder_digest, remove_old

PROJECT: Final = Path(__file__).resolve().parents[2]
# Modules with a `warm_up` that calls each of their compiled functions with every type of arguments
# that simulations use. A separate process compiles each group.
GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "kernel": ("apps.engine.simulation.simulate",),
    "studies": (
        "apps.engine.simulation.market",
        "apps.engine.studies.monte_carlo",
        "apps.engine.studies.overfitting",
        "apps.engine.studies.permutations",
    ),
}
MODULES: Final = tuple(module for modules in GROUPS.values() for module in modules)
SECONDS_BETWEEN_LINES: Final = 3.0
SECONDS_BETWEEN_REFRESHES: Final = 0.5

Say = Callable[[str], None]


def load_kernels() -> None:
    """Load the compiled functions into this process."""
    for module in MODULES:
        importlib.import_module(module).warm_up()


@dataclass(slots=True)
class Compilation:
    """A process for each group to compile.

    Each writes a line to `output` when it begins another function, and one without a function when
    a module is done: its group, a space, the function.
    """

    processes: Mapping[str, subprocess.Popen[bytes]]
    output: int

    @classmethod
    def run(cls, say: Say) -> None:
        """Compile the functions missing from the cache, and load all, so that no simulation waits
        for the compiler.

        Progress is a bar in a terminal and lines elsewhere; nothing if all is compiled.
        """
        with cls.started() as compilation:
            compilation.finish(say)

    @classmethod
    @contextmanager
    def started(cls) -> Iterator["Compilation"]:
        """Compile in the background, unless the cache is complete."""
        cold = [group for group in GROUPS if not _is_compiled(group)]
        output, held = os.pipe()
        processes = {
            group: subprocess.Popen(
                [sys.executable, "-m", "apps.engine.compilation", group], cwd=PROJECT, stdout=held
            )
            for group in cold
        }
        os.close(held)
        try:
            yield cls(processes, output)
        finally:
            for process in processes.values():
                process.terminate()
                process.wait()
            os.close(output)

    def finish(self, say: Say) -> None:
        """Wait for their end, and load the functions. Raises CalledProcessError if one of them has
        failed.
        """
        if self.processes:
            self._wait(say)
        load_kernels()

    def _wait(self, say: Say) -> None:
        begun = reported_at = time.monotonic()
        functions = {group: group for group in self.processes}
        names = ""
        total = sum(len(GROUPS[group]) for group in self.processes)
        with tqdm(total=total, desc="compiling", disable=None, leave=False) as bar:
            while (lines := self._read()) is not None:
                functions |= dict(line.split(" ") for line in lines)
                names = ", ".join(filter(None, functions.values())) or names
                bar.update(sum(line.endswith(" ") for line in lines))
                bar.set_postfix_str(names)
                if bar.disable and time.monotonic() - reported_at > SECONDS_BETWEEN_LINES:
                    reported_at = time.monotonic()
                    say(f"compiling {names}: {reported_at - begun:.0f} s")
        for process in self.processes.values():
            if code := process.wait():
                raise subprocess.CalledProcessError(code, process.args)
        say(f"compiled in {time.monotonic() - begun:.0f} s")

    def _read(self) -> Sequence[str] | None:
        """Return the lines of the last half second, or None at the end."""
        ready, _, _ = select.select([self.output], [], [], SECONDS_BETWEEN_REFRESHES)
        if not ready:
            return []
        return os.read(self.output, 4096).decode().splitlines() or None


class FunctionNames(event.Listener):
    """Prints the engine's functions that a process compiles."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._functions: list[str] = []  # each called by the one before

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("apps."):
            self._functions.append(function.__name__)
            self._print()

    def on_end(self, event: event.Event) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("apps."):
            self._functions.pop()
            if self._functions:
                self._print()

    def _print(self) -> None:
        _write_line(self._group, self._functions[-1])


def _write_line(group: str, function: str) -> None:
    sys.stdout.write(f"{group} {function}\n")  # at once: others write to the same pipe
    sys.stdout.flush()


def _marker(group: str) -> Path:
    folder = numba.config.CACHE_DIR  # type: ignore[attr-defined]  # Numba sets it from the environment
    return Path(folder) / f"{group}.compiled"


def _version() -> str:
    """Return the inputs of the cache's content, except the processor, which Numba checks."""
    return f"{folder_digest(PROJECT / 'apps' / 'engine')} {numba.__version__} {sys.version}"


def _is_compiled(group: str) -> bool:
    marker = _marker(group)
    return marker.exists() and marker.read_text() == _version()


def _compile(group: str) -> None:
    """Compile a group, unless another process has just done so; print its functions."""
    marker = _marker(group)
    marker.parent.mkdir(parents=True, exist_ok=True)
    with marker.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_compiled(group):
            return
        event.register("numba:compile", FunctionNames(group))  # type: ignore[no-untyped-call]  # Numba left it untyped
        for module in GROUPS[group]:
            importlib.import_module(module).warm_up()
            _write_line(group, function="")
        marker.write_text(_version())
        remove_old(marker.parent, PROJECT / "apps" / "engine")


if __name__ == "__main__":
    _compile(sys.argv[1])
