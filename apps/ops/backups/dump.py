"""Make a backup: a dump of one snapshot of the database, and what is needed to check it later."""

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any, Final

import psycopg
from django.conf import settings
from psycopg import sql

from apps.core import encryption
from apps.core.models import InstalledKey
from apps.engine.kernel.saved import STATE_VERSION
from apps.ops.backups import programs
from apps.ops.backups.archive import (
    DUMP_MEMBER,
    FORMAT_VERSION,
    SECRET_MEMBER,
    BackupFailed,
    Manifest,
    Writer,
)

# Permanent tables, with those of the queue. What is unlogged may be forgotten: it is not dumped.
TABLES: Final = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relpersistence = 'p' AND relnamespace = 'public'::regnamespace
    ORDER BY relname
"""
MIGRATIONS: Final = "SELECT app, name FROM django_migrations ORDER BY app, name"
_KEY_TABLE: Final = InstalledKey._meta.db_table
INSTALLED_KEY: Final = f"SELECT fingerprint FROM {_KEY_TABLE}"
_LONGEST_REASON: Final = 500


class _Snapshot:
    """A moment of the database that several connections see."""

    def __init__(self, server: psycopg.Connection[Any]) -> None:
        self._server = server
        self._server.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        row = server.execute("SELECT pg_export_snapshot(), now()").fetchone()
        assert row is not None
        self.name, self.taken_at = row

    def rows(self) -> Mapping[str, int]:
        """Return how many rows each table has."""
        counts = {}
        for (table,) in self._server.execute(TABLES).fetchall():
            count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            row = self._server.execute(count).fetchone()
            assert row is not None
            counts[table] = row[0]
        return counts

    def migrations(self) -> Mapping[str, list[str]]:
        applied: dict[str, list[str]] = defaultdict(list)
        for app, name in self._server.execute(MIGRATIONS).fetchall():
            applied[app].append(name)
        return applied

    def key_fingerprint(self) -> str:
        """Return that of the key which encrypts the database's secrets: this machine's where none
        is installed yet, as before the first start of this version.
        """
        known = self._server.execute("SELECT to_regclass(%s)", [_KEY_TABLE]).fetchone()
        row = self._server.execute(INSTALLED_KEY).fetchone() if known and known[0] else None
        return str(row[0]) if row else encryption.fingerprint(settings.SECRET_KEY)


def write_backup(writer: Writer, *, with_secret: bool) -> Manifest:
    """Write all parts of a backup. Raises BackupFailed, OSError."""
    address, password = programs.database_address(), programs.environment().get("PGPASSWORD")
    try:
        with psycopg.connect(address, password=password, autocommit=True) as server:
            server.execute("SET statement_timeout = 0")
            server.execute("SET idle_in_transaction_session_timeout = 0")
            snapshot = _Snapshot(server)
            server_version = server.info.server_version
            migrations, rows = snapshot.migrations(), snapshot.rows()
            _dump(writer, snapshot.name, server_version)
            if with_secret:
                _require_own_key(snapshot)
                writer.add(SECRET_MEMBER, BytesIO(settings.SECRET_KEY.encode()))
            manifest = Manifest(
                format_version=FORMAT_VERSION,
                service_version=settings.VERSION,
                state_version=STATE_VERSION,
                taken_at=snapshot.taken_at,
                server_version=server_version,
                key_fingerprint=snapshot.key_fingerprint(),
                migrations=migrations,
                rows=rows,
                parts=dict(writer.parts),
            )
    except psycopg.errors.UndefinedTable as error:
        raise BackupFailed("the database is not set up: there is nothing to back up") from error
    except psycopg.OperationalError as error:
        raise BackupFailed(f"the database was lost: {error}") from error
    writer.finish(manifest)
    return manifest


def _require_own_key(snapshot: _Snapshot) -> None:
    if snapshot.key_fingerprint() != encryption.fingerprint(settings.SECRET_KEY):
        raise BackupFailed(
            "this machine's SECRET_KEY is not the one of the database: run rotate_secret_key"
            " first, or back up without the secret"
        )


def _dump(writer: Writer, snapshot: str, server_version: int) -> None:
    command = programs.programs_for(server_version).command(
        "pg_dump",
        *("--format=custom", "--compress=1", f"--snapshot={snapshot}"),
        *("--no-unlogged-table-data", "--no-owner", "--no-privileges", "--no-comments"),
        *("--no-password", f"--dbname={programs.database_address()}"),
    )
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            command,
            env=programs.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as dumping:
            assert dumping.stdout is not None
            try:
                writer.add(DUMP_MEMBER, dumping.stdout)
            except BaseException:
                dumping.kill()
                raise
        if dumping.returncode:
            raise BackupFailed(f"pg_dump failed: {reason_in(errors)}")


def reason_in(errors: IO[bytes]) -> str:
    """Return the end of what a program has written to standard error, on one line."""
    errors.seek(0)
    return " ".join(errors.read().decode(errors="replace").split())[-_LONGEST_REASON:]
