"""The database of DATA_DIR, shared by every command that needs it and stopped by the last.

`attached` holds a shared lock while the server is used, and its parent process (launcher.py) waits
for that lock. So the server neither ends while a process uses it nor outlives the last of them.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from apps.ops import private_files
from apps.ops.embedded_postgres.binaries import NoDatabase
from apps.ops.embedded_postgres.cluster import DATABASE, OWNER, SERVICE, Cluster

__all__ = [
    "DATABASE",
    "OWNER",
    "SERVICE",
    "Cluster",
    "NoDatabase",
    "attached",
    "revive",
    "socket_directory",
]


def socket_directory(data_dir: Path) -> Path:
    """Return where the server listens: a short path, as a socket's has at most 104 bytes."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(data_dir))).hexdigest()
    return Path("/tmp") / f"algotrade-{digest[:16]}"


@contextmanager
def attached(data_dir: Path, *, durable: bool = True) -> Iterator[Cluster]:
    """Use the database of DATA_DIR, which is started if it does not run.

    `durable=False` is for data that is thrown away: nothing is forced to disk. Raises NoDatabase.
    """
    directory = _writable(data_dir)
    users, starting = directory / "postgres.lock", directory / "postgres.start"
    with _locked(starting, fcntl.LOCK_EX):
        hold = _lock(users, fcntl.LOCK_SH)  # waits while a launcher is stopping the server
        try:
            cluster = Cluster.of(
                directory, socket=socket_directory(data_dir), lock=users, durable=durable
            )
            private_files.keep_private(directory, group=cluster.account.group)
            cluster.ensure_running()
        except BaseException:
            os.close(hold)
            raise
    try:
        yield cluster
    finally:
        with _locked(starting, fcntl.LOCK_EX):
            os.close(hold)
            _stop_when_unused(cluster, users)


def revive(cluster: Cluster) -> None:
    """Start the server of an attached database again; of several processes, one does."""
    with _locked(cluster.lock.with_name("postgres.start"), fcntl.LOCK_EX):
        cluster.ensure_running()


def _stop_when_unused(cluster: Cluster, users: Path) -> None:
    """Stop the server if this was its last user; if the launcher was faster, wait for it."""
    descriptor = os.open(users, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        cluster.stop()
    except BlockingIOError:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)
    with suppress(OSError):  # not empty while others use the server, nor after a crash
        cluster.socket.rmdir()


def _writable(data_dir: Path) -> Path:
    directory = Path(os.path.realpath(data_dir))
    try:
        private_files.make(directory)
    except OSError as error:
        raise NoDatabase(f"cannot make DATA_DIR {directory}: {error.strerror}") from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise NoDatabase(f"cannot write to DATA_DIR {directory}")
    return directory


@contextmanager
def _locked(path: Path, operation: int) -> Iterator[None]:
    descriptor = _lock(path, operation)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(path: Path, operation: int) -> int:
    try:
        descriptor = private_files.open_private(path, os.O_RDWR)
    except OSError as error:
        raise NoDatabase(f"cannot write to DATA_DIR: {path}: {error.strerror}") from error
    fcntl.flock(descriptor, operation)
    return descriptor
