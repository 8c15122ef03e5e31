"""DATA_DIR is entered by its owner alone, and what root makes in it belongs to that owner too.

When the owner is root, the accounts that root hands database, web and workers to have a group in
common. That group may pass through to the folders that are its members' own, and lists nothing.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def make(directory: Path) -> None:
    """Make the folder if it is not there, for its owner alone. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def keep_private(directory: Path, *, group: int | None) -> None:
    """Take from others what rights they have; `group` may pass through if root owns the folder.

    A folder that everybody shares, such as /tmp, is left as it is, and so is somebody else's.
    """
    status = directory.stat()
    if status.st_mode & stat.S_ISVTX or os.geteuid() not in (0, status.st_uid):
        return
    if group is None or status.st_uid != 0:
        mode = 0o700
    else:
        mode = 0o710
        os.chown(directory, -1, group)
    if stat.S_IMODE(status.st_mode) != mode:
        directory.chmod(mode)


@contextmanager
def private_file(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of a file that its owner alone may read, made if it is not there."""
    descriptor = open_private(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_private(path: Path, flags: int) -> int:
    """As `private_file`; the caller closes it. Raises OSError.

    Root follows no link in a folder of somebody else.
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
    """Whether we are root in a folder of somebody else."""
    return os.geteuid() == 0 and directory.exists() and directory.stat().st_uid != 0
