"""Backups on a schedule: BACKUP_DIR, BACKUP_EVERY, BACKUP_KEEP.

Workers of the machines that have a BACKUP_DIR look each minute whether a backup is due, by the
database's clock and its record of the last one. An advisory lock lets one of them make it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection

from apps.core import database_clock, quiet_start
from apps.core.retention import delete_in_batches
from apps.ops.backups import archive, dump
from apps.ops.backups.archive import BackupFailed, Manifest, Writer
from apps.ops.models import BackupRecord

BACKING_UP: Final = 7_305_461_021  # an advisory lock
# After a backup that failed, unless BACKUP_EVERY is shorter.
RETRY_AFTER: Final = timedelta(minutes=15)
RECORDS_KEPT: Final = timedelta(days=90)

log = logging.getLogger(__name__)


def back_up_if_due() -> BackupRecord | None:
    """Make a backup if one is due and nobody else makes it; return its record."""
    folder = settings.BACKUP_DIR
    assert folder is not None, "there is a schedule where BACKUP_DIR is set"
    with _locked() as is_ours:
        if not is_ours or quiet_start.is_quiet() or not _is_due(database_clock.read()):
            return None
        record = back_up(folder, with_secret=False, is_scheduled=True)
    if record.error:
        log.error("the backup failed: %s", record.error)
    else:
        log.info("backed up %d bytes into %s", record.size, record.name)
        _remove_oldest(folder, keep=settings.BACKUP_KEEP)
    return record


def back_up(folder: Path, *, with_secret: bool, is_scheduled: bool = False) -> BackupRecord:
    """Write a backup into the folder; return the record of it, which may be one of a failure.

    The record is not saved in a database that this version has not migrated yet.
    """

    def write(writer: Writer) -> Manifest:
        return dump.write_backup(writer, with_secret=with_secret)

    record = BackupRecord(begun_at=database_clock.read(), is_scheduled=is_scheduled)
    try:
        path, manifest = archive.write_file(folder, write)
    except BackupFailed as error:
        record.error = str(error)[:500]
    except OSError as error:
        record.error = f"the backup could not be written: {error.strerror}"
    else:
        record.name, record.taken_at = path.name, manifest.taken_at
        record.size = path.stat().st_size
    if BackupRecord._meta.db_table in connection.introspection.table_names():
        record.save()
    return record


def seconds_since_backup() -> float | None:
    """Return the age of the newest backup, None if there is none."""
    newest = BackupRecord.objects.successful().order_by("-begun_at").first()
    if newest is None or newest.taken_at is None:
        return None
    return (database_clock.read() - newest.taken_at).total_seconds()


def purge(*, now: datetime) -> int:
    """Delete old records, but for the newest backup's; return how many."""
    old = BackupRecord.objects.filter(begun_at__lt=now - RECORDS_KEPT)
    newest = BackupRecord.objects.successful().order_by("-begun_at").first()
    return delete_in_batches(old if newest is None else old.exclude(pk=newest.pk))


def _is_due(now: datetime) -> bool:
    # One made by hand may be elsewhere, and does not put the schedule off.
    last = BackupRecord.objects.filter(is_scheduled=True).order_by("-begun_at").first()
    if last is None:
        return True
    every: timedelta = settings.BACKUP_EVERY
    if last.taken_at is None:
        return now >= last.begun_at + min(every, RETRY_AFTER)
    return now >= last.taken_at + every


def _remove_oldest(folder: Path, *, keep: int) -> None:
    """Remove all but the newest backups; their names are in the order of their times."""
    for path in sorted(folder.glob(archive.NAMES), reverse=True)[keep:]:
        path.unlink(missing_ok=True)


@contextmanager
def _locked() -> Iterator[bool]:
    """Yield whether this session has the lock, which it keeps until the end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [BACKING_UP])
        (is_ours,) = cursor.fetchone()
    try:
        yield is_ours
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [BACKING_UP])
