"""A PostgreSQL server in a separate folder, for tests."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from apps.ops.database.local_postgres import DATABASE, LocalServer, socket_folder


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a DATA_DIR outside of tmp_path, which root's other account could not enter."""
    directory = Path(tempfile.mkdtemp(prefix="algotrade-test-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
        shutil.rmtree(socket_folder(directory), ignore_errors=True)


def postmaster(server: LocalServer) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


def connect(server: LocalServer) -> psycopg.Connection:
    return psycopg.connect(host=str(server.socket), user=DATABASE, dbname=DATABASE, autocommit=True)
