"""Files that only their owner can read, even if root creates them in another account's folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_file(path: Path, flags: int) -> Iterator[int]:
    """Open a file that only its owner may read, and create it if necessary."""
    descriptor = open_private(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_private(path: Path, flags: int) -> int:
    """Open a file as `private_file` does; the caller closes it.

    Raises OSError. In a folder of another account root follows no link, and that account becomes
    the owner.
    """
    guest = is_guest(path.parent)
    descriptor = os.open(path, flags | os.O_CREAT | (os.O_NOFOLLOW if guest else 0), 0o600)
    if os.geteuid() in (0, os.fstat(descriptor).st_uid):
        os.fchmod(descriptor, 0o600)
    if guest:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def is_guest(directory: Path) -> bool:
    """Return whether this process is root and the folder belongs to another account."""
    return os.geteuid() == 0 and directory.exists() and directory.stat().st_uid != 0
