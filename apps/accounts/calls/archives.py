"""The archive of a user's data as a response."""

from django.http import StreamingHttpResponse

from apps.accounts.models import DataExport
from apps.accounts.own_data import exports


def archive_response(export: DataExport) -> StreamingHttpResponse:
    """Answer with the archive, chunk by chunk. Raises ExportNotReady."""
    headers = {
        "Content-Disposition": 'attachment; filename="algotrade-export.zip"',
        "Content-Length": str(export.size),
    }
    chunks = exports.chunks_of(export)
    return StreamingHttpResponse(chunks, content_type="application/zip", headers=headers)
