"""Folders and files that their owner alone can read, also when root makes them for that owner.

When the owner of DATA_DIR is root, the accounts that root hands database, web and workers to share
a group, which may pass through DATA_DIR to their own folders and lists nothing.
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
    """Take the rights of others away; `group` may pass through if root owns the folder.

    A shared folder such as /tmp is left as it is, and so is somebody else's.
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
    """Open a file that its owner alone may read, and make it if it is not there."""
    descriptor = open_private(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_private(path: Path, flags: int) -> int:
    """Open a file as `private_file` does; the caller closes it. Raises OSError.

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
    """Return whether this process is root and the folder somebody else's."""
    return os.geteuid() == 0 and directory.exists() and directory.stat().st_uid != 0
