"""Keep a few child processes running until SIGINT, SIGTERM or SIGHUP.

A child that ends is started again, after a wait that grows while it keeps ending. Each child has a
session of its own, so that Ctrl-C reaches only the supervisor, and a parent watcher, so that it
cannot outlive the supervisor.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from apps.ops.system_account import SystemAccount

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_SECONDS = 0.1


@dataclass(slots=True)
class Backoff:
    """When to try again: after 0.5, 1, 2 ... 30 seconds, and after a good run from 0.5 again."""

    due: float = 0.0
    wait: float = 0.0
    good_run: float = 60.0  # seconds

    def ended(self, *, started: float, now: float) -> float:
        good = now - started > self.good_run
        self.wait = 0.5 if good or not self.wait else min(2 * self.wait, 30.0)
        self.due = now + self.wait
        return self.wait


@dataclass(slots=True)
class Child:
    """A Python module to run, its name in messages, and how long it may take to stop.

    Without `account` and `environment` it has those of the supervisor.
    """

    name: str
    module: str
    arguments: Sequence[str]
    seconds_to_stop: float = 10.0
    account: SystemAccount | None = None
    environment: Mapping[str, str] | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    started: float = field(default=0.0, init=False)
    backoff: Backoff = field(default_factory=Backoff, init=False)

    def start(self, *, watched: int, directory: Path, now: float) -> None:
        self.started = now
        user, group = (self.account.user, self.account.group) if self.account else (None, None)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "apps.ops.parent_watcher",
                str(watched),
                self.module,
                *self.arguments,
            ],
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            env=self.environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[watched],
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child and all that it started, unless it has ended."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM to the child alone: it ends what it has started itself."""
        if self.process is not None:
            self.process.terminate()

    def wait(self) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, self.seconds_to_stop))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()


class Supervisor:
    """Runs groups of children; on stopping, each group ends before the next."""

    def __init__(
        self, groups: Sequence[Sequence[Child]], *, directory: Path, say: Callable[[str], None]
    ) -> None:
        self.groups = groups
        self.directory = directory
        self.say = say
        self.stopping = False

    def run(self, *, on_poll: Callable[[], None]) -> None:
        """Run until a signal to stop; a second one kills the children that have not ended yet."""
        watched, held = os.pipe()
        try:
            with self._signals():
                while not self.stopping:
                    for child in self._children():
                        self._restart_if_ended(child, watched, time.monotonic())
                    on_poll()
                    time.sleep(POLL_SECONDS)
                self._stop()
        finally:
            os.close(held)
            os.close(watched)

    def _children(self) -> Iterator[Child]:
        return (child for group in self.groups for child in group)

    def _restart_if_ended(self, child: Child, watched: int, now: float) -> None:
        if child.process is not None and (code := child.process.poll()) is not None:
            child.process = None
            wait = child.backoff.ended(started=child.started, now=now)
            self.say(f"{child.name} ended ({_ending(code)}): starts again in {wait:g} s")
        if child.process is None and now >= child.backoff.due:
            child.start(watched=watched, directory=self.directory, now=now)

    def _stop(self) -> None:
        self.say("stopping")
        for group in self.groups:
            for child in group:
                child.terminate()
            for child in group:
                child.wait()

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
            for child in self._children():
                child.signal(signal.SIGKILL)
        self.stopping = True


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
