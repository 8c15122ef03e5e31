"""The processors available to this process: a container has fewer than its machine."""

import os
from pathlib import Path
from socket import gethostname
from typing import Final
from zlib import crc32

CGROUP: Final = Path("/sys/fs/cgroup")


def cpu_count() -> int:
    """Return the number of processors for this process: its CPU affinity, limited by the quota of
    its control group.
    """
    bound = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(bound, quota(CGROUP) or bound))


def bind_to_processor(number: int) -> None:
    """Bind this thread and the threads it starts to one processor, chosen by number.

    Threads of Python take turns under one lock, and a switch to another processor makes a turn
    slower (decision 0010). Services on one machine start at different processors: containers all
    have the same process ids, but different names.
    """
    if hasattr(os, "sched_setaffinity"):
        available = sorted(os.sched_getaffinity(0))
        first = crc32(f"{gethostname()} {os.getppid()}".encode())
        os.sched_setaffinity(0, {available[(first + number) % len(available)]})


def quota(cgroup: Path) -> int | None:
    """Return the processors, rounded up, that a control group may use; None without a limit.

    Version 2 has one file with "max 100000" or "150000 100000"; version 1 has two files.
    """
    try:
        if (limit := cgroup / "cpu.max").exists():
            most, period = limit.read_text().split()
        else:
            most = (cgroup / "cpu/cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu/cpu.cfs_period_us").read_text()
    except OSError:
        return None
    return -(-int(most) // int(period)) if most != "max" and int(most) > 0 else None
