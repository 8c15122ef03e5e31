"""The audit log as JSON lines, and months of it that files hold in the place of the database.

The log has a partition for each month of India; a month that a file holds is dropped as a whole.
The oldest may hold months before it too: its file then begins with those.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Final, NamedTuple

from django.core.serializers.json import DjangoJSONEncoder
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from psycopg.errors import LockNotAvailable

from apps.core import audit
from apps.core.models import AuditRecord
from apps.market.dates import INDIA
from apps.ops import private_files

_TABLE: Final = AuditRecord._meta.db_table
_DEFAULT: Final = f"{_TABLE}_default"
PARTITIONS: Final = """
    SELECT relid::text FROM pg_partition_tree(%s)
    WHERE isleaf AND relid::text <> %s ORDER BY relid::text
"""


class ArchiveFailed(Exception):
    """A month stays in the database; the message is for the operator."""


class ArchivedMonth(NamedTuple):
    """A file that holds what the database held of a month."""

    path: Path
    records: int
    sha256: str


def parse_month(text: str) -> datetime:
    """Return the beginning of a month in India, 2026-11 for example. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m").replace(tzinfo=INDIA)


def end_of_month(month: datetime) -> datetime:
    """Return the beginning of the next one."""
    return (month + timedelta(days=31)).replace(day=1)


def json_lines(records: QuerySet[AuditRecord]) -> Iterator[str]:
    """Yield each record as JSON, in the order in which they were added."""
    for record in records.order_by("pk").values().iterator():
        yield json.dumps(record, cls=DjangoJSONEncoder, ensure_ascii=False)


def archive_months(folder: Path, *, before: datetime, now: datetime) -> Iterator[ArchivedMonth]:
    """Write each month that has ended `before` into a file of its own, drop it, and yield it. The
    caller is the owner of the tables.

    Raises ArchiveFailed, OSError, and OperationalError where somebody reads the log for long.
    """
    if before > now:
        raise ArchiveFailed("months that have not ended stay in the database")
    audit.add_months()  # which leaves no old record in the default partition
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS, [_TABLE, _DEFAULT])
        partitions = [name for (name,) in cursor.fetchall()]
    for partition in partitions:
        month = datetime.strptime(partition, f"{_TABLE}_%Y_%m").replace(tzinfo=INDIA)
        if end_of_month(month) <= before:
            yield _archive(partition, month, folder, now=now)


def _archive(partition: str, month: datetime, folder: Path, *, now: datetime) -> ArchivedMonth:
    path = folder / f"audit-{month:%Y-%m}.jsonl.gz"
    try:
        descriptor = private_files.open_private(path, os.O_WRONLY | os.O_EXCL)
    except FileExistsError as error:
        raise ArchiveFailed(
            f"{path} is there already: it may hold what nothing else does"
        ) from error
    try:
        with open(descriptor, "wb") as file:
            count = _write(file, AuditRecord.objects.filter(at__lt=end_of_month(month)))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise
    archived = ArchivedMonth(path, count, hashlib.sha256(path.read_bytes()).hexdigest())
    try:
        _drop(partition, archived, now=now)
    except (ArchiveFailed, OperationalError) as error:
        # After anything else, as a lost answer to the commit, the file may hold what nothing does.
        if isinstance(error, ArchiveFailed) or isinstance(error.__cause__, LockNotAvailable):
            path.unlink()
        raise
    return archived


def _write(file: IO[bytes], records: QuerySet[AuditRecord]) -> int:
    count = 0
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        for line in json_lines(records):
            packed.write(f"{line}\n".encode())
            count += 1
    return count


@transaction.atomic
def _drop(partition: str, archived: ArchivedMonth, *, now: datetime) -> None:
    """Drop what the file holds. Nobody is kept waiting: what is read just then stays."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '2s'")
        cursor.execute(f"LOCK TABLE {_TABLE} IN ACCESS EXCLUSIVE MODE")
        cursor.execute(f"SELECT count(*) FROM {partition}")
        if cursor.fetchone() != (archived.records,):
            raise ArchiveFailed("the month has changed while it was written: try again")
        cursor.execute(f"DROP TABLE {partition}")
    audit.record(
        audit.Action.AUDIT_ARCHIVED,
        None,
        actor=audit.command_line(),
        now=now,
        file=archived.path.name,
        records=archived.records,
        sha256=archived.sha256,
    )
