"""The processors that this process may use: a container has fewer than its machine."""

import os
from pathlib import Path
from socket import gethostname
from typing import Final
from zlib import crc32

CGROUP: Final = Path("/sys/fs/cgroup")


def cpu_count() -> int:
    """Return how many processors this process may keep busy: those that it is bound to, and no more
    than the quota of its control group pays for.
    """
    bound = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(bound, quota(CGROUP) or bound))


def bind_to_processor(number: int) -> None:
    """Bind this thread, and those that it starts, to one processor, for each number the next one.

    Threads of Python take turns under one lock, and a turn on another processor takes longer
    (decision 0010). Services on one machine begin at different
    processors: containers, which all have the same process ids, differ in their names.
    """
    if hasattr(os, "sched_setaffinity"):
        available = sorted(os.sched_getaffinity(0))
        first = crc32(f"{gethostname()} {os.getppid()}".encode())
        os.sched_setaffinity(0, {available[(first + number) % len(available)]})


def quota(cgroup: Path) -> int | None:
    """Return the processors, rounded up, that a control group may use; None without a limit.

    Version 2 writes "max 100000" or "150000 100000" into one file, version 1 has a file for each.
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
