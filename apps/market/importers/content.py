"""The bytes of the files that one path holds: itself, or what a gzip or zip file packs."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from apps.core.errors import Code, ServiceError

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"


class BadCandleFile(ServiceError):
    """A file that cannot be read as candles: `reason` names line, field and value."""

    code = Code.VALIDATION_ERROR
    message = "{file}: {reason}"


@dataclass(frozen=True, slots=True)
class Content:
    """One file, unpacked. `name` is its own, `shown` also says which archive it is in."""

    name: str
    shown: str
    data: bytes


def contents_of(path: Path) -> Iterator[Content]:
    """The files at a path, in the order of an archive. Raises BadCandleFile."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadCandleFile(file=path.name, reason=error.strerror or str(error)) from error
    if data.startswith(_ZIP):
        yield from _members(path.name, data)
    elif data.startswith(_GZIP) or path.suffix == ".gz":
        yield Content(path.name, path.name, _unpacked(path.name, data))
    else:
        yield Content(path.name, path.name, data)


def _unpacked(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = f"is a damaged or truncated gzip file ({error})"
        raise BadCandleFile(file=name, reason=reason) from error


def _members(name: str, data: bytes) -> Iterator[Content]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [each for each in archive.infolist() if _is_file(each)]
            if not members:
                raise BadCandleFile(file=name, reason="is a zip file without a file in it")
            for member in members:
                own = PurePosixPath(member.filename).name
                yield Content(own, f"{name}/{member.filename}", archive.read(member))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        reason = f"is a damaged or locked zip file ({error})"
        raise BadCandleFile(file=name, reason=reason) from error


def _is_file(member: zipfile.ZipInfo) -> bool:
    """Not a folder, nor what macOS adds to an archive."""
    return not (member.is_dir() or member.filename.startswith("__MACOSX/"))
