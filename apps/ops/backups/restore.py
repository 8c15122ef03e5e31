"""Restore a backup into an empty database, in one transaction that also verifies it.

The script that pg_restore writes is given to psql with more at its end: each table must have as
many rows as the snapshot had, and the quiet start begins. Only then it commits, so a restore that
fails or is killed leaves the database as empty as it was.
"""

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from apps.core import encryption
from apps.core.models import InstalledKey, QuietStart
from apps.engine.kernel.saved import STATE_VERSION
from apps.ops import private_files
from apps.ops.backups import programs
from apps.ops.backups.archive import DUMP_MEMBER, Backup, BackupFailed, Manifest
from apps.ops.backups.dump import reason_in
from apps.ops.secret_key import ENCRYPTED

RELATIONS: Final = """
    SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
        AND relkind IN ('r', 'p', 'v', 'm', 'S')
"""
# pg_restore sets it whatever the server; servers before 17 do not know it.
NEWER_SETTING: Final = b"SET transaction_timeout = "
_LINES_OF_SETTINGS: Final = 40
QUIET_START: Final = "0007_quiet_start"  # the migration that makes its table


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored; `unreadable` says how many values of which columns no known key reads."""

    manifest: Manifest
    unreadable: dict[str, int]


def require_restorable(backup: Backup, *, quiet: bool, without_key: bool) -> None:
    """Raise BackupFailed where restoring would fail or lose something."""
    manifest = backup.manifest
    _require_known_version(manifest)
    if quiet and QUIET_START not in manifest.migrations.get("core", []):
        raise BackupFailed(
            f"the backup of version {manifest.service_version} knows no quiet start: if the service"
            " that was backed up is gone for good, restore with --no-quiet-start"
        )
    with connection.cursor() as cursor:
        cursor.execute(RELATIONS)
        if cursor.fetchone()[0]:
            raise BackupFailed(
                "the database is not empty: restore into a new one (another DATA_DIR, or a"
                " DATABASE_URL that names an empty database)"
            )
    if _is_known(manifest.key_fingerprint) or without_key:
        return
    if backup.secret is None:
        raise BackupFailed(
            f"the backup's secrets are encrypted with another SECRET_KEY (fingerprint"
            f" {manifest.key_fingerprint}): webhook secrets and second factors would not be"
            " readable, and all logins would end. Set that SECRET_KEY, or give --without-key to"
            " restore without them"
        )
    path = _kept_secret()
    if not path.exists() or path.read_text() != settings.SECRET_KEY:
        raise BackupFailed(
            "SECRET_KEY is set to another key than the backup's: unset it to take the one that is"
            " in the backup, or set that one"
        )


def restore(backup: Backup, *, quiet: bool, without_key: bool) -> Restored:
    """Restore into the database, verify it, and migrate it to this version. Raises BackupFailed."""
    require_restorable(backup, quiet=quiet, without_key=without_key)
    _load(backup, _ending(backup.manifest, quiet=quiet))
    call_command("migrate", interactive=False, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return Restored(backup.manifest, _take_key(backup, without_key=without_key))


def _take_key(backup: Backup, *, without_key: bool) -> dict[str, int]:
    """Take the key from the backup if need be; without it, count what is not readable any more."""
    if _is_known(backup.manifest.key_fingerprint):
        return {}
    if backup.secret is not None and not without_key:
        _keep_secret(backup.secret)
        return {}
    own = encryption.fingerprint(settings.SECRET_KEY)
    InstalledKey.objects.update(fingerprint=own)
    return {str(column): _count(column.model, column.name) for column in ENCRYPTED}


def _kept_secret() -> Path:
    """Return the file of the secret that was made on the first start, if none was set."""
    path: Path = settings.DATA_DIR / "secret"
    return path


def _keep_secret(secret: str) -> None:
    """Replace the secret of DATA_DIR; the one before stays beside it."""
    path = _kept_secret()
    draft, before = path.with_name("secret.restored"), path.with_name("secret.before-restore")
    with private_files.private_file(draft, os.O_WRONLY | os.O_TRUNC) as descriptor:
        os.write(descriptor, secret.encode())
        os.fsync(descriptor)
    before.unlink(missing_ok=True)
    before.hardlink_to(path)  # so that there is a secret at any moment
    draft.rename(path)


def _require_known_version(manifest: Manifest) -> None:
    migrations = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    replaced = (name for migration in migrations.values() for name in migration.replaces)
    known = {*migrations, *replaced}
    unknown = [
        f"{app}.{name}"
        for app, names in manifest.migrations.items()
        for name in names
        if (app, name) not in known
    ]
    if unknown or manifest.state_version > STATE_VERSION:
        raise BackupFailed(
            f"the backup was made by version {manifest.service_version}, which is newer than this"
            f" one ({settings.VERSION}): restore it with that version or a later one"
        )


def _is_known(fingerprint: str) -> bool:
    """Return whether this machine has the key."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return fingerprint in map(encryption.fingerprint, keys)


def _count(model: Any, column: str) -> int:
    return int(model._default_manager.filter(**{f"{column}__isnull": False}).count())


def _ending(manifest: Manifest, *, quiet: bool) -> bytes:
    """Return the statements that verify the data, begin the quiet start and commit."""
    checks = [
        f"IF (SELECT count(*) FROM {_quoted(table)}) <> {rows} THEN"
        f" RAISE EXCEPTION 'not all rows of {table} were restored'; END IF;"
        for table, rows in manifest.rows.items()
    ]
    begin = (
        f"INSERT INTO {QuietStart._meta.db_table} (began_at, snapshot_at)"
        f" VALUES (now(), '{manifest.taken_at.isoformat()}');"
    )
    statements = [
        "SET search_path = public;",
        "DO $verify$ BEGIN",
        *checks,
        "END $verify$;",
        begin if quiet else "",
        "COMMIT;",
    ]
    return "\n".join(statements).encode()


def _quoted(table: str) -> str:
    if not re.fullmatch(r"\w+", table):
        raise BackupFailed(f"the manifest names a table that cannot be one: {table!r}")
    return sql.Identifier(table).as_string()


def _load(backup: Backup, ending: bytes) -> None:
    connection.ensure_connection()
    server_version: int = connection.connection.info.server_version
    installed = programs.programs_for(max(server_version, backup.manifest.server_version))
    script = installed.command(
        "pg_restore", "--no-owner", "--no-privileges", "--no-comments", "--file=-"
    )
    load = installed.command(
        "psql",
        *("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null"),
        *("--no-password", f"--dbname={programs.database_address()}"),
    )
    with _running(script, stdout=subprocess.PIPE) as restoring, _running(load) as loading:
        feeding = threading.Thread(
            target=_feed, args=(backup.open(DUMP_MEMBER), restoring.stdin), daemon=True
        )
        feeding.start()
        assert restoring.stdout is not None
        assert loading.stdin is not None
        with suppress(BrokenPipeError):  # psql has said why
            loading.stdin.write(b"BEGIN;\n")
            _copy_settings(restoring.stdout, loading.stdin, server_version)
            shutil.copyfileobj(restoring.stdout, loading.stdin)
            if restoring.wait() == 0:
                loading.stdin.write(ending)
        restoring.stdout.close()


@contextmanager
def _running(command: list[str], **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that reads from here, to its end. Raises BackupFailed with what it said."""
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            command,
            env=programs.environment(),
            stdin=subprocess.PIPE,
            stderr=errors,
            **streams,
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
        if process.returncode:
            raise BackupFailed(f"the backup could not be restored: {reason_in(errors)}")


def _feed(source: IO[bytes], target: IO[bytes]) -> None:
    with suppress(BrokenPipeError), target:
        shutil.copyfileobj(source, target)


def _copy_settings(source: IO[bytes], target: IO[bytes], server_version: int) -> None:
    """Copy the first lines of the script, without what an older server does not know."""
    for _ in range(_LINES_OF_SETTINGS):
        line = source.readline()
        if server_version >= 170_000 or not line.startswith(NEWER_SETTING):
            target.write(line)
