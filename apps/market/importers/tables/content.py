"""The contents of the files at a path, and the error for a bad candle file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from apps.core import files
from apps.core.errors import Code, ServiceError
from apps.core.files import Content

__all__ = ["BadCandleFile", "Content", "contents_of"]

_OLD_EXCEL: Final = b"\xd0\xcf\x11\xe0"


class BadCandleFile(ServiceError):
    """A file that cannot be read as candles: `reason` names line, field and value."""

    code = Code.VALIDATION_ERROR
    message = "{file}: {reason}"


def contents_of(path: Path, *, most_files: int = files.MOST_FILES) -> Iterator[Content]:
    """Read the files at a path, in the order of an archive. Raises BadCandleFile."""
    try:
        for content in files.unpack(path, most_files=most_files):
            _refuse_other_programs(path, content)
            yield content
    except files.Unreadable as error:
        raise BadCandleFile(file=path.name, reason=str(error)) from error


def _refuse_other_programs(path: Path, content: Content) -> None:
    """Refuse a workbook and a web page: users save them by mistake instead of a table."""
    is_workbook = content.name == "[Content_Types].xml" or content.data.startswith(_OLD_EXCEL)
    if is_workbook:
        raise BadCandleFile(file=path.name, reason="is an Excel workbook: save its sheet as CSV")
    if content.data[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise BadCandleFile(
            file=content.shown, reason="is a web page: the site sent it instead of the file"
        )
