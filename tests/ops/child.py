"""A child for the supervisor's tests: says who it is, and what it does when it is told to stop."""

import os
import signal
import sys
import time
from types import FrameType


def say(word: object) -> None:
    """In one write: two children share the pipe."""
    os.write(1, f"{sys.argv[1]} {word}\n".encode())


def stop(number: int, frame: FrameType | None) -> None:
    if "stubborn" in sys.argv:
        say("stays")
    else:
        say("stops")
        sys.exit()


signal.signal(signal.SIGTERM, stop)
say(os.getpid())
while True:
    time.sleep(60)
