"""The memory of this service's processes, where the system tells (Linux)."""

import os
from pathlib import Path
from typing import Final

PROCESSES: Final = Path("/proc")


def memory_of_session() -> list[int]:
    """Resident bytes of each process of our own session: the supervisor gives every child one, so
    for a web process those that serve and the one that made them. Empty where there is no /proc.
    """
    session = os.getsid(0)
    pids = (int(entry.name) for entry in PROCESSES.glob("[0-9]*"))
    return [_resident(pid) for pid in pids if _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _resident(pid: int) -> int:
    """0 for one that has just ended."""
    try:
        pages = (PROCESSES / str(pid) / "statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
