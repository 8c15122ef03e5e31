"""Hand a program over to a fork of it, and wait for that fork in a process that holds little.

A process that has loaded large libraries keeps the pages of their files that it touched meanwhile.
A fork does not: it maps a page of a file when it touches that page itself.

    python foreground.py PID [WORD...]      (the words are shown by `ps`)

This runs in the place of the first process, under its process id. It forwards signals to stop to
the fork PID and ends with the fork's exit code. It is a script of the standard library alone.
"""

import os
import signal
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AWAITED = (*FORWARDED, signal.SIGCHLD)


def continue_in_fork() -> int:
    """Return in a fork, in a session of its own, with the process id of the process that waits.

    This process must have one thread. What it holds, such as locks of files, the fork alone holds.
    """
    waiting = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    if pid := os.fork():
        script = [sys.executable, "-I", "-S", __file__, str(pid), *sys.argv]
        os.execv(sys.executable, script)
    os.setsid()  # Ctrl-C reaches the process that waits, which forwards it
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return waiting


def wait(pid: int) -> int:
    """Forward signals to the process until it ends; return its exit code, as a shell tells it."""
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # ignored signals are not awaited
    while True:
        number = signal.sigwait(AWAITED)
        if number != signal.SIGCHLD:
            os.kill(pid, number)
            continue
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(wait(int(sys.argv[1])))
