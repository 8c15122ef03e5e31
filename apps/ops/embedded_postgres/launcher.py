"""Run PostgreSQL as a child, for as long as a process holds the lock.

    python launcher.py LOCK UID GID POSTGRES [ARGUMENT...]      (UID and GID "-": not changed)

Every process that uses the embedded server holds a shared lock on LOCK. The kernel releases it
however that process ends, kill -9 included, so an exclusive lock is granted here once the last of
them is gone: then the server is stopped. This process leaves its parent at once, since the command
that started it may end before others. It is a script of the standard library alone.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading

SECONDS_FOR_A_FAST_STOP = 30.0


def stop_when_unused(lock: int, server: subprocess.Popen[bytes]) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)
    server.send_signal(signal.SIGINT)
    try:
        server.wait(SECONDS_FOR_A_FAST_STOP)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)


def main(lock_path: str, user: str, group: str, *command: str) -> None:
    if os.fork():
        os._exit(0)
    lock = os.open(lock_path, os.O_RDWR)
    server = subprocess.Popen(
        command,
        user=None if user == "-" else int(user),
        group=None if group == "-" else int(group),
        extra_groups=None if user == "-" else [],
        cwd="/",
    )
    threading.Thread(target=stop_when_unused, args=(lock, server), daemon=True).start()
    os._exit(server.wait() & 0xFF)  # the thread may still wait for the lock


if __name__ == "__main__":
    main(*sys.argv[1:])
