"""A user's own data in one archive, made by a job and kept for a day."""

import tempfile
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from apps.accounts.models import DataExport, User
from apps.core import audit, jobs, personal_data
from apps.core.audit import Action
from apps.core.errors import Code, NotFound, ServiceError
from apps.core.ids import is_id

EXPORT_JOB: Final = "accounts.export"
EXPORT_QUEUE: Final = "small"
KEPT: Final = timedelta(hours=24)


class ExportNotReady(ServiceError):
    code = Code.CONFLICT
    message = "The archive is still being made; try again in a minute."


@transaction.atomic
def request_export(*, user: User, now: datetime) -> DataExport:
    """Enqueue the making of an archive, unless one is being made; return it."""
    User.objects.locked(user.pk)  # of two requests at once the second finds the first's
    pending = user.exports.filter(ready_at=None, expires_at__gt=now).first()
    if pending is not None:
        return pending
    export: DataExport = user.exports.create(created_at=now, expires_at=now + KEPT)
    jobs.enqueue(EXPORT_JOB, queue=EXPORT_QUEUE, arguments=[{"export_id": export.pk}])
    audit.record(Action.DATA_EXPORTED, user, actor=audit.user(user), now=now)
    return export


def make_archive(*, export_id: str, now: datetime) -> None:
    """Make the archive; a second try of the job makes it anew."""
    export = DataExport.objects.filter(pk=export_id, ready_at=None).first()
    if export is None:
        return
    with tempfile.TemporaryFile() as file:
        personal_data.write_archive(export.user_id, file)
        file.seek(0)
        archive = file.read()
    DataExport.objects.filter(pk=export_id).update(
        archive=archive, ready_at=now, expires_at=now + KEPT
    )


def find_export(*, user: User, export_id: str, now: datetime) -> DataExport:
    """Return an export of the user, without its archive. Raises NotFound."""
    usable = user.exports.filter(expires_at__gt=now).defer("archive")
    export = usable.filter(pk=export_id if is_id(export_id) else None).first()
    if export is None:
        raise NotFound
    return export


def archive_of(export: DataExport) -> bytes:
    """Return the archive. Raises ExportNotReady."""
    if export.ready_at is None or export.archive is None:
        raise ExportNotReady
    return bytes(export.archive)
