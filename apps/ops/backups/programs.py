"""PostgreSQL's own programs that dump and restore, and how they connect."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.db import connection
from psycopg.conninfo import make_conninfo

from apps.ops.backups.archive import BackupFailed
from apps.ops.local_postgres import program_folders

_NEEDED: Final = ("pg_dump", "pg_restore", "psql")
# Those that every libpq of the last years knows; psycopg's may have more by default.
_PARAMETERS: Final = (
    "host", "port", "dbname", "user", "options", "connect_timeout", "target_session_attrs",
    "sslmode", "sslrootcert", "sslcert", "sslkey", "tcp_user_timeout", "keepalives_idle",
    "keepalives_interval", "keepalives_count",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Programs:
    """The folder of one installation's programs."""

    folder: Path

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / name), *arguments]


def programs_for(server_version: int) -> Programs:
    """Return the programs of the oldest installation that knows this server. Raises BackupFailed.

    `server_version` is as PostgreSQL counts: 180006 is 18.6.
    """
    major = server_version // 10_000
    majors = {folder: known for folder in _folders() if (known := _major(folder)) >= major}
    if not majors:
        raise BackupFailed(
            f"no pg_dump of PostgreSQL {major} or later found: install postgresql-client-{major}"
            f" (Debian, Ubuntu) or postgresql@{major} (Homebrew), or set PG_BIN to the folder of"
            " its programs"
        )
    return Programs(min(majors, key=lambda folder: majors[folder]))


def _folders() -> Iterator[Path]:
    """Yield also a client's programs that stand without a server, as others link to them."""
    yield from program_folders()
    if "PG_BIN" not in os.environ and (program := shutil.which("pg_dump")):
        yield Path(program).resolve().parent
        yield Path(program).parent


def _major(folder: Path) -> int:
    """Return the major version of the programs in a folder, 0 if one of them is missing."""
    if not all((folder / name).exists() for name in _NEEDED):
        return 0
    answer = subprocess.run(
        [folder / "pg_dump", "--version"], capture_output=True, text=True, check=False
    )
    match = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(match[1]) if match else 0


def database_address() -> str:
    """Return how libpq reaches the service's database, without the password."""
    connection.ensure_connection()
    parameters = connection.connection.info.get_parameters()
    known = {name: parameters[name] for name in _PARAMETERS if name in parameters}
    return make_conninfo(**known)


def environment() -> Mapping[str, str]:
    """Return the environment in which the programs find the password, which no list of processes
    shows.
    """
    connection.ensure_connection()
    password = connection.connection.info.password
    return os.environ | ({"PGPASSWORD": password} if password else {})
