"""A backup: one tar of the key for the database's secrets and of the output of pg_dump.

The dump comes last: a truncated file lacks a part of it, and pg_restore reports that. Backups of
release 1.0 have the same parts, most of them without the key, and can be restored too.
"""

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.management import call_command
from django.db import ProgrammingError, connection
from psycopg import sql
from psycopg.conninfo import make_conninfo

from apps.core import database
from apps.core.models import InstalledKey, QuietStart
from apps.ops.database.local_postgres import program_folders

DUMP, KEY, MANIFEST = "database.dump", "secret", "manifest.json"
# psycopg's libpq may have more of them by default than older programs know.
_PARAMETERS: Final = (
    "host",
    "port",
    "dbname",
    "user",
    "options",
    "connect_timeout",
    "target_session_attrs",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
)
# Archives of users' data: copies that are deleted after a day.
_LEFT_OUT = ("accounts_dataexport", "accounts_exportchunk")


class BackupFailed(Exception):
    """The backup could not be made or restored; the message is for the operator."""


def back_up(folder: Path, *, now: datetime) -> Path:
    """Write a backup into the folder, and give it its name once it is complete.

    Raises BackupFailed, OSError.
    """
    fingerprint = database.key_fingerprint(settings.SECRET_KEY)
    try:
        installed = InstalledKey.objects.first()
    except ProgrammingError as error:
        raise BackupFailed("the database is not set up: there is nothing to back up") from error
    if installed and installed.fingerprint != fingerprint:
        raise BackupFailed("SECRET_KEY is not the database's yet: run rotate_secret_key first")
    manifest = {
        "taken_at": now.isoformat(),
        "service_version": settings.VERSION,
        "key_fingerprint": fingerprint,
    }
    path = folder / f"algotrade-{now:%Y%m%dT%H%M%SZ}.tar"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".algotrade-") as unfinished:
        dump, draft = Path(unfinished) / "dump", Path(unfinished) / "tar"
        command = _command(
            "pg_dump",
            "--format=custom",
            "--compress=1",
            f"--file={dump}",
            "--no-owner",
            "--no-privileges",
            "--no-comments",
            "--no-unlogged-table-data",
            *(f"--exclude-table-data={table}" for table in _LEFT_OUT),
        )
        dumped = subprocess.run(command, env=_environment(), stderr=subprocess.PIPE, check=False)
        if dumped.returncode:
            raise BackupFailed(f"pg_dump failed: {_end_of(dumped.stderr)}")
        draft.touch(mode=0o600)
        with draft.open("r+b") as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                parts = {MANIFEST: json.dumps(manifest), KEY: settings.SECRET_KEY}
                for name, text in parts.items():
                    member = tarfile.TarInfo(name)
                    member.size, member.mode = len(text.encode()), 0o600
                    tar.addfile(member, io.BytesIO(text.encode()))
                tar.add(dump, DUMP)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    return path


def restore(path: Path, *, quiet: bool) -> datetime:
    """Restore a backup into the empty database, and migrate it; return the time of the backup.

    The quiet start of the copy begins in the transaction that loads the data. Raises BackupFailed,
    OSError.
    """
    try:
        with tarfile.open(path) as tar:
            manifest = json.load(tar.extractfile(MANIFEST) or io.BytesIO())
        taken_at = datetime.fromisoformat(manifest["taken_at"])
        version, fingerprint = manifest["service_version"], manifest["key_fingerprint"]
    except (tarfile.TarError, KeyError, TypeError, ValueError) as error:
        raise BackupFailed(f"{path} is not a complete backup: {error}") from error
    if _number(version) > _number(settings.VERSION):
        raise BackupFailed(
            f"the backup is of version {version}: restore it with that or a later one"
        )
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    if fingerprint not in map(database.key_fingerprint, keys):
        raise BackupFailed(
            f"SECRET_KEY is not the backup's (its fingerprint is {fingerprint}): set that one, or"
            f" put it in its place: tar -xOf {path} {KEY} > {settings.DATA_DIR / 'secret'}"
        )
    if connection.introspection.table_names():
        raise BackupFailed(
            "the database is not empty: restore into another DATA_DIR, or set DATABASE_URL to an"
            " empty one"
        )
    _load(path, quiet_since=taken_at if quiet else None)
    call_command("migrate", interactive=False, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return taken_at


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _load(path: Path, *, quiet_since: datetime | None) -> None:
    begin, end = "BEGIN;\n", "COMMIT;\n"
    if quiet_since is not None:
        insert = sql.SQL("INSERT INTO public.{} (began_at, snapshot_at) VALUES (now(), {});\n")
        table = sql.Identifier(QuietStart._meta.db_table)
        end = insert.format(table, sql.Literal(quiet_since)).as_string() + end
    psql = _command("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
    pg_restore = [str(Path(psql[0]).with_name("pg_restore")), "--no-owner", "--no-privileges"]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile() as errors,
        path.open("rb") as file,
        subprocess.Popen(["tar", "-xOf", "-", DUMP], stdin=file, stdout=pipe, stderr=errors) as tar,
        subprocess.Popen(
            [*pg_restore, "--no-comments", "--file=-"], stdin=tar.stdout, stdout=pipe, stderr=errors
        ) as script,
        subprocess.Popen(psql, env=_environment(), stdin=pipe, stderr=errors) as loading,
    ):
        assert script.stdout is not None
        assert loading.stdin is not None
        with suppress(BrokenPipeError):  # psql has said why
            loading.stdin.write(begin.encode())
            shutil.copyfileobj(script.stdout, loading.stdin)
            if script.wait() == 0:  # else nothing is committed
                loading.stdin.write(end.encode())
            loading.stdin.close()
        script.stdout.close()
        if loading.wait() or script.wait():
            errors.seek(0)
            raise BackupFailed(f"the backup could not be restored: {_end_of(errors.read())}")


def _command(name: str, *arguments: str) -> list[str]:
    """Return the command of a PostgreSQL program that works on the service's database."""
    connection.ensure_connection()
    server = connection.connection.info
    program = _programs(server.server_version // 10_000) / name
    parameters = server.get_parameters()
    address = make_conninfo(**{key: parameters[key] for key in _PARAMETERS if key in parameters})
    return [str(program), *arguments, "--no-password", f"--dbname={address}"]


def _environment() -> Mapping[str, str]:
    """Return the environment with the password: lists of processes do not show it."""
    password = connection.connection.info.password
    return os.environ | ({"PGPASSWORD": password} if password else {})


def _programs(server: int) -> Path:
    """Return the folder of the oldest programs that support a server of this major version."""
    known: dict[Path, int] = {}
    for folder in program_folders():
        with suppress(OSError, IndexError):
            said = subprocess.run(
                [folder / "pg_dump", "--version"], capture_output=True, check=False
            )
            known[folder] = int(re.findall(rb"\d+", said.stdout)[0])
    if suitable := [folder for folder in known if known[folder] >= server]:
        return min(suitable, key=known.__getitem__)
    raise BackupFailed(
        f"no pg_dump of PostgreSQL {server} or later found: install postgresql-client-{server}, or"
        " set PG_BIN to the folder of its programs"
    )


def _end_of(said: bytes) -> str:
    return " ".join(said.decode(errors="replace").split())[-500:]
