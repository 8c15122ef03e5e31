"""The output of the demo: its steps, and the elapsed time while a step takes long."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SECONDS_OF_SILENCE: Final = 3.0


class Output:
    """Prints lines with `write`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._said = self._stepped = time.monotonic()

    def say(self, line: str) -> None:
        with self._lock:
            self._said = self._stepped = time.monotonic()
            self._write(line)

    @contextmanager
    def never_silent(self) -> Iterator[None]:
        """Print the elapsed time of the step whenever nothing was printed for a while."""
        ended = threading.Event()
        thread = threading.Thread(target=self._say_that_it_takes_long, args=[ended], daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _say_that_it_takes_long(self, ended: threading.Event) -> None:
        while not ended.wait(0.1):
            with self._lock:
                now = time.monotonic()
                if now - self._said >= SECONDS_OF_SILENCE:
                    self._said = now
                    self._write(f"    still at it: {now - self._stepped:.0f} s")
