"""A user's own data in one archive, made by a job and kept for a day.

It is written and sent in chunks of a megabyte, so no process holds it in memory.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import DataExport, ExportChunk, User
from apps.core import audit, files, jobs, limits
from apps.core.audit import Action
from apps.core.database import is_id
from apps.core.errors import Code, NotFound, ServiceError
from apps.core.limits import Resource, TooManyRequests

EXPORT_JOB: Final = "accounts.export"
EXPORT_QUEUE: Final = "small"
KEPT: Final = timedelta(hours=24)
INTERVAL: Final = timedelta(hours=1)  # between two archives of a user
CHUNK_BYTES: Final = 1024 * 1024


class ExportNotReady(ServiceError):
    code = Code.CONFLICT
    message = "The archive is still being made; try again in a minute."


@limits.counted_by(Resource.EXPORTS)
def _kept_exports(user_id: str) -> int:
    return DataExport.objects.filter(user_id=user_id, expires_at__gt=timezone.now()).count()


@transaction.atomic
def request_export(*, user: User, now: datetime) -> DataExport:
    """Enqueue the making of an archive, which replaces the last one, and return it.

    If one is being made, return that. Raises TooManyRequests within an hour of the last.
    """
    User.objects.locked(user.pk)  # of two requests at once the second finds the first's
    last = user.exports.first()
    if last is not None and now - last.created_at < INTERVAL:
        if last.ready_at is None:
            return last
        left = last.created_at + INTERVAL - now
        raise TooManyRequests(retryAfter=int(left.total_seconds()) + 1, limit=1)
    user.exports.all().delete()
    export: DataExport = user.exports.create(created_at=now, expires_at=now + KEPT)
    jobs.enqueue(EXPORT_JOB, queue=EXPORT_QUEUE, arguments=[{"export_id": export.pk}])
    audit.record(Action.DATA_EXPORTED, user, actor=audit.user(user), now=now)
    return export


class ChunkWriter:
    """A file that is written from beginning to end into the chunks of an export."""

    def __init__(self, export: DataExport) -> None:
        self._export = export
        self._pending = bytearray()
        self._number = 0
        self.size = 0

    def write(self, data: bytes) -> int:
        self._pending += data
        self.size += len(data)
        while len(self._pending) >= CHUNK_BYTES:
            self._store(CHUNK_BYTES)
        return len(data)

    def flush(self) -> None:
        """Do nothing: `close` stores an unfinished chunk."""

    def close(self) -> None:
        if self._pending:
            self._store(len(self._pending))

    def _store(self, length: int) -> None:
        data = bytes(self._pending[:length])
        ExportChunk.objects.create(export=self._export, number=self._number, data=data)
        self._number += 1
        del self._pending[:length]


@transaction.atomic
def make_archive(*, export_id: str, now: datetime) -> None:
    """Make the archive; a retry of the job starts from the beginning."""
    export = DataExport.objects.filter(pk=export_id, ready_at=None).first()
    if export is None:
        return
    chunks = ChunkWriter(export)
    files.write_archive(export.user_id, chunks)
    chunks.close()
    export.size, export.ready_at, export.expires_at = chunks.size, now, now + KEPT
    export.save(update_fields=["size", "ready_at", "expires_at"])


def find_export(*, user: User, export_id: str, now: datetime) -> DataExport:
    """Return an export of the user. Raises NotFound."""
    usable = user.exports.filter(expires_at__gt=now)
    export = usable.filter(pk=export_id if is_id(export_id) else None).first()
    if export is None:
        raise NotFound
    return export


def chunks_of(export: DataExport) -> Iterator[bytes]:
    """Return the archive, chunk by chunk. Raises ExportNotReady."""
    if export.ready_at is None:
        raise ExportNotReady
    return _read_chunks(export)


def _read_chunks(export: DataExport) -> Iterator[bytes]:
    number = 0
    while chunk := export.chunks.filter(number=number).first():
        yield bytes(chunk.data)
        number += 1
