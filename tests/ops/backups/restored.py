"""A backup of the tests' database, restored into another one beside it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import psycopg
from django.core.management import call_command
from django.db import connection

from apps.ops.backups import archive


def back_up(folder: Path, *options: str) -> Path:
    """Return the only backup in the folder."""
    call_command("backup", str(folder), *options, stdout=StringIO())
    [path] = folder.glob(archive.NAMES)
    return path


def restore(path: Path, *options: str) -> str:
    said = StringIO()
    call_command("restore", str(path), *options, stdout=said)
    return said.getvalue()


@contextmanager
def empty_database(suffix: str = "restored") -> Iterator[None]:
    """While it lasts, an empty database stands in the place of the tests' own."""
    parameters = connection.get_connection_params()
    name = f"{parameters['dbname']}_{suffix}"
    with closing(psycopg.connect(**parameters, autocommit=True)) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        with patch.dict(connection.settings_dict, NAME=name):
            try:
                connection.close()
                yield
            finally:
                connection.close()
                server.execute(f"DROP DATABASE {name} WITH (FORCE)")
