"""A server of PostgreSQL in a folder of its own, as tests look at it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from apps.ops.local_postgres import DATABASE, LocalServer, socket_folder


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a DATA_DIR. Not tmp_path: root's other account could not get in."""
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
