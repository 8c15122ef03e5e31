"""A thread that ends its process when the supervisor has ended for any reason."""

import os
import signal
import threading
import time
from typing import Final

_SECONDS_TO_FINISH: Final = 5.0


def end_with_parent(descriptor: int) -> None:
    """Watch the read end of a pipe with a write end that only the supervisor holds.

    Nothing is ever written: the kernel closes the pipe when the supervisor ends, even by kill -9.
    """
    threading.Thread(target=_end_when_closed, args=(descriptor,), daemon=True).start()


def _end_when_closed(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_FINISH)
    os.kill(os.getpid(), signal.SIGKILL)
