"""The contents of the files at a path, and the error that says what is wrong with a candle file."""

from collections.abc import Iterator
from pathlib import Path

from apps.core import unpacking
from apps.core.errors import Code, ServiceError
from apps.core.unpacking import Content

__all__ = ["BadCandleFile", "Content", "contents_of"]


class BadCandleFile(ServiceError):
    """A file that cannot be read as candles: `reason` names line, field and value."""

    code = Code.VALIDATION_ERROR
    message = "{file}: {reason}"


def contents_of(path: Path, *, most_files: int = unpacking.MOST_FILES) -> Iterator[Content]:
    """Read the files at a path, in the order of an archive. Raises BadCandleFile."""
    try:
        yield from unpacking.unpack(path, most_files=most_files)
    except unpacking.Unreadable as error:
        raise BadCandleFile(file=path.name, reason=str(error)) from error
