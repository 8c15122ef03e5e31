"""Gets the compiled kernels ready: from their cache, or, the first time, by compiling it.

Of several processes that find the cache cold one compiles, and the others wait and load.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, install_listener
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from apps.engine.kernel import ahead, entries, fills, kernel, many, marks, phases, rest
from apps.engine.signals import chains, compiled
from apps.engine.simulation import market, simulate
from apps.engine.studies import monte_carlo

Say = Callable[[str], None]

SECONDS_BETWEEN_LINES: Final = 1.0
FUNCTIONS: Final = frozenset(
    one
    for module in (
        kernel,
        many,
        phases,
        marks,
        rest,
        ahead,
        entries,
        fills,
        chains,
        compiled,
        market,
        monte_carlo,
    )
    for one in vars(module).values()
    if isinstance(one, Dispatcher)
)
"""What the kernels are compiled from, each once or for several kinds of arguments."""
_COMPILE: Final = "numba:compile"
"""Numba's event: a function is compiled, as it was not in its cache."""


class _Cold(Exception):
    """Something would have to be compiled."""


class _Unwilling(Listener):
    """Stops before the first function is compiled."""

    def on_start(self, event: Event) -> None:
        raise _Cold

    def on_end(self, event: Event) -> None:
        """Nothing was begun."""


class _Progress(Listener):
    """Says which function it is at, about once a second."""

    def __init__(self, say: Say, *, every: float) -> None:
        self.say = say
        self.every = every
        self.begun: set[Dispatcher] = set()
        self.due = 0.0

    def on_start(self, event: Event) -> None:
        function = event.data["dispatcher"]
        if function not in FUNCTIONS or function in self.begun:
            return  # Numba's own, or the same for other arguments
        self.begun.add(function)
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + self.every
            name = function.py_func.__name__
            self.say(f"compiling {len(self.begun)} of {len(FUNCTIONS)}: {name}")

    def on_end(self, event: Event) -> None:
        """The next start says it."""


def prepare(say: Say, *, every: float = SECONDS_BETWEEN_LINES) -> None:
    """After it no simulation waits for the compiler. Says nothing when the cache is warm."""
    try:
        with install_listener(_COMPILE, _Unwilling()), _without_the_compiler():
            _warm_up()
    except _Cold:
        with _one_process_at_a_time(say):
            _compile(say, every=every)


@contextmanager
def _without_the_compiler() -> Iterator[None]:
    """Numba brings in all that it compiles with before it loads anything, 90 modules; here that
    comes with the first function that really is to be compiled, if any ever is.
    """
    context = cpu_target.target_context
    rtsys.initialize(context)  # what compiled functions allocate with, as `refresh` would
    context.refresh = lambda: None
    try:
        yield
    finally:
        del context.refresh  # the method is seen again


def _warm_up() -> None:
    simulate.warm_up()
    compiled.warm_up()
    market.warm_up()
    monte_carlo.warm_up()


def _compile(say: Say, *, every: float) -> None:
    begun, progress = time.monotonic(), _Progress(say, every=every)
    with install_listener(_COMPILE, progress):
        _warm_up()
    if progress.begun:
        say(f"compiled in {time.monotonic() - begun:.1f} s")


@contextmanager
def _one_process_at_a_time(say: Say) -> Iterator[None]:
    """By a lock on a file beside the cache; it ends with its holder, however that ends."""
    path = kernel.run.stats.cache_path
    assert path is not None  # it is compiled with a cache
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "compiling.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that compiles")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
