"""Run a Python module that ends when its supervisor does, however that ends.

    python -m apps.ops.parent_watcher DESCRIPTOR MODULE [ARGUMENT...]

DESCRIPTOR is the read end of a pipe whose write end only the supervisor holds. Nothing is ever
written: the kernel closes the pipe when the supervisor is gone, kill -9 included.
"""

import os
import runpy
import signal
import sys
import threading
import time

SECONDS_TO_FINISH = 5.0


def end_when_closed(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_FINISH)
    os.killpg(os.getpgrp(), signal.SIGKILL)  # the supervisor gave this process its own session


def main(descriptor: str, module: str, *arguments: str) -> None:
    threading.Thread(target=end_when_closed, args=(int(descriptor),), daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
