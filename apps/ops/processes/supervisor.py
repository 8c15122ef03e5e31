"""Keep a few forks of this process running until SIGINT, SIGTERM or SIGHUP.

Forks share the memory of everything imported and loaded before them. A child that ends is forked
again after a wait, which grows while it keeps ending. It is forked again at once if it asked to be
replaced, by exit code 0, or had hung. Each child has its own session, so that Ctrl-C reaches only
the supervisor, and a parent watcher, so that it cannot outlive the supervisor.
"""

import faulthandler
import gc
import logging
import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple, NoReturn

from apps.ops.processes import parent_watcher

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_SECONDS: Final = 0.1
SECONDS_TO_HANG: Final = 30.0
SHORT_LIFE: Final = 1.0  # seconds
# From the signal to stop until the children that have not ended are killed.
SECONDS_TO_STOP: Final = 4.0
# Linux counts there how many processes it has killed for lack of memory.
COUNTS_OF_SYSTEM: Final = Path("/proc/vmstat")
_MOMENT: Final = struct.Struct("d")
# The name of a process in `ps -e` and `top`; Linux keeps 15 characters of it.
PROCESS_NAME: Final = Path("/proc/self/comm")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Backoff:
    """The time of the next try: after 0.5, 1, 2 ...

    30 seconds, and after a good run from 0.5 again.
    """

    due: float = 0.0
    wait: float = 0.0
    good_run: float = 60.0  # seconds

    def ended(self, *, started: float, now: float) -> float:
        good = now - started > self.good_run
        self.wait = 0.5 if good or not self.wait else min(2 * self.wait, 30.0)
        self.due = now + self.wait
        return self.wait


class Heartbeat:
    """The last time a child was alive, in memory shared with the supervisor."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _MOMENT.size)

    def beat(self) -> None:
        _MOMENT.pack_into(self._memory, 0, time.monotonic())

    def silence(self, now: float) -> float:
        (moment,) = _MOMENT.unpack_from(self._memory, 0)
        return now - float(moment)


class Kill(NamedTuple):
    """A child killed by SIGKILL."""

    pid: int
    for_memory: bool  # the system has killed processes for lack of memory meanwhile


@dataclass(slots=True)
class Child:
    """A function to run in a fork, and the name of the process.

    The fork keeps `descriptors` open beside stdout and stderr. A child with a heartbeat is killed
    when it falls silent. After a killed child the next fork first calls `on_kill`.
    """

    name: str
    run: Callable[[], None]
    descriptors: Sequence[int] = ()
    heartbeat: Heartbeat | None = None
    on_kill: Callable[[Kill], None] | None = None
    kill: Kill | None = field(default=None, init=False)
    pid: int | None = field(default=None, init=False)
    started: float = field(default=0.0, init=False)
    has_hung: bool = field(default=False, init=False)
    backoff: Backoff = field(default_factory=Backoff, init=False)

    def ending(self) -> int | None:
        """Return the exit code, negative for a signal, if the child has just ended."""
        if self.pid is None:
            return None
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def send(self, number: signal.Signals) -> None:
        if self.pid is not None:
            os.kill(self.pid, number)

    def hangs(self, now: float) -> bool:
        return (
            self.pid is not None
            and self.heartbeat is not None
            and self.heartbeat.silence(now) > SECONDS_TO_HANG
        )


class Supervisor:
    """Runs children, and stops all of them at once."""

    def __init__(self, children: Sequence[Child], *, say: Callable[[str], None]) -> None:
        self.children = children
        self.say = say
        self.stopping = False
        self._memory_kills = memory_kills()

    def run(self, *, on_poll: Callable[[], None]) -> None:
        """Run until a signal to stop; a second signal kills the remaining children.

        This process must have one thread and no connection to the database: forks would share the
        connection and lack the threads.
        """
        gc.collect()
        gc.freeze()  # the collector must not touch, and so copy, the forks' shared memory
        watched, held = os.pipe()
        try:
            with self._signals():
                while not self.stopping:
                    for child in self.children:
                        self._attend(child, watched, time.monotonic())
                    on_poll()
                    time.sleep(POLL_SECONDS)
                self._stop()
        finally:
            os.close(held)
            os.close(watched)

    def _attend(self, child: Child, watched: int, now: float) -> None:
        pid, code = child.pid, child.ending()
        if pid is not None and code is not None:
            child.kill = self._kill_of(pid, code)
        if code == 0 and now - child.started > SHORT_LIFE:
            child.backoff.due = now
        elif code is not None and child.has_hung:
            child.has_hung, child.backoff.due = False, now
            self.say(f"{child.name} ended ({_ending(code)}): starts again")
        elif code is not None:
            wait = child.backoff.ended(started=child.started, now=now)
            reason = " for lack of memory" if child.kill and child.kill.for_memory else ""
            self.say(f"{child.name} ended ({_ending(code)}{reason}): starts again in {wait:g} s")
        elif child.has_hung:
            child.send(signal.SIGKILL)
        elif child.hangs(now):
            self.say(f"{child.name} hangs, its threads are below: it is killed")
            child.has_hung = True
            child.send(signal.SIGUSR1)
        if child.pid is None and now >= child.backoff.due:
            self._fork(child, watched, now)

    def _kill_of(self, pid: int, code: int) -> Kill | None:
        before, self._memory_kills = self._memory_kills, memory_kills()
        return Kill(pid, self._memory_kills > before) if code == -signal.SIGKILL else None

    def _fork(self, child: Child, watched: int, now: float) -> None:
        child.started = now
        if child.heartbeat is not None:
            child.heartbeat.beat()
        # A signal that came before the child has its own handlers would be lost.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        pid = os.fork()
        if pid == 0:
            self._become(child, watched)
        child.pid = pid
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _become(self, child: Child, watched: int) -> NoReturn:
        """Run the child in this fork; never return into the parent's code."""
        code = 1
        try:
            os.setsid()
            _close_other_descriptors({1, 2, watched, *child.descriptors})
            name_process(child.name)
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
            faulthandler.register(signal.SIGUSR1)  # writes the stack of each thread to stderr
            parent_watcher.end_with_parent(watched)
            if child.kill is not None and child.on_kill is not None:
                child.on_kill(child.kill)
            child.run()
            code = 0
        except BaseException:
            log.exception("%s failed", child.name)
        finally:
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(code)

    def _stop(self) -> None:
        self.say("stopping")
        deadline = time.monotonic() + SECONDS_TO_STOP
        for child in self.children:
            child.send(signal.SIGTERM)
        for child in self.children:
            while child.pid is not None and child.ending() is None:
                if time.monotonic() > deadline:
                    child.send(signal.SIGKILL)
                time.sleep(POLL_SECONDS / 10)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:
            for child in self.children:
                child.send(signal.SIGKILL)
        self.stopping = True


def name_process(name: str) -> None:
    """Set the name shown by `ps -e` and `top`, if the system allows it."""
    if PROCESS_NAME.exists():
        PROCESS_NAME.write_text(name)


def memory_kills() -> int:
    """Return how many processes the system has killed for lack of memory; 0 if it does not tell."""
    if not COUNTS_OF_SYSTEM.exists():
        return 0
    counts = dict(line.split() for line in COUNTS_OF_SYSTEM.read_text().splitlines())
    return int(counts.get("oom_kill", 0))


def _close_other_descriptors(kept: Iterable[int]) -> None:
    """Close all other inherited descriptors, such as locks; stdin becomes empty."""
    limits = [0, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for lower, upper in pairwise(limits):
        os.closerange(lower + 1, upper)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
