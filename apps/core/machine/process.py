"""This machine: its name, its processes, and the memory that they may hold."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MACHINE: Final = socket.gethostname()[:64]
CGROUP: Final = Path("/sys/fs/cgroup")
GROUPS_OF_PROCESS: Final = Path("/proc/self/cgroup")


def process_name(pid: int | None = None) -> str:
    """Return a name of the process, by default this one, that is unique among all machines."""
    return f"{MACHINE} {pid or os.getpid()}"


def memory_limit() -> int:
    """Return the memory limit in bytes: of this process's control groups, or of the machine."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_limits(CGROUP, GROUPS_OF_PROCESS)])


def _limits(cgroup: Path, groups: Path) -> Iterator[int]:
    """Yield the limits of a process's control groups and their parents.

    Version 2 lists the group as "0::/path", version 1 as "4:memory:/path".
    """
    if not groups.exists():
        return
    for line in groups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = cgroup, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = cgroup / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            limit = folder / name
            if folder.is_relative_to(root) and limit.exists():
                text = limit.read_text().strip()
                if text != "max":
                    yield int(text)
