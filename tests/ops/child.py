"""A child for the supervisor's tests: it prints its name, and its reaction to a signal to stop."""

import os
import signal
import time
from types import FrameType


def say(name: str, word: object) -> None:
    """Print in one write: two children share the pipe."""
    os.write(1, f"{name} {word}\n".encode())


def run(name: str, *, is_stubborn: bool) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        if is_stubborn:
            say(name, "stays")
        else:
            say(name, "stops")
            os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    say(name, os.getpid())
    while True:
        time.sleep(60)
