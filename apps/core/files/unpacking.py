"""The bytes of a file, or of files packed in it as gzip or zip, with a limit on their size.

A few hundred kilobytes may unpack to gigabytes, so reading stops at the limit, whatever size an
archive declares.
"""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

MOST_MEGABYTES: Final = 256
# Four million minutes of candles; the longest list of instruments has a sixth of it.
MOST_BYTES: Final = MOST_MEGABYTES * 1024 * 1024
MOST_FILES: Final = 10_000
_MOST_DIRECTORY: Final = 4 * 1024 * 1024  # bytes of a zip's list of files
_CHUNK: Final = 1024 * 1024
TOO_LONG: Final = (
    f"holds more than {MOST_MEGABYTES} MB (2^20 bytes) once it is unpacked: unpack it,"
    " split long files into smaller ones, and load those"
)
_DAMAGED: Final = (EOFError, gzip.BadGzipFile, zlib.error)
_DAMAGED_ZIP: Final = (*_DAMAGED, zipfile.BadZipFile, NotImplementedError, RuntimeError)


class Unreadable(Exception):
    """The bytes of a file cannot be read.

    The message continues a sentence that starts with the file's name ("holds more …").
    """


@dataclass(frozen=True, slots=True)
class Content:
    """An unpacked file. `name` is its own name; `shown` adds the name of its archive."""

    name: str
    shown: str
    data: bytes


def unpack(path: Path, *, most_files: int = MOST_FILES) -> Iterator[Content]:
    """Yield the files at a path: the file itself, or the files packed in it, in the order of the
    archive. Together they hold at most MOST_BYTES. An archive inside an archive stays packed.
    Raises Unreadable.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic in (b"PK\x03\x04", b"PK\x05\x06"):
                yield from _members(path, most_files)
            elif magic.startswith(b"\x1f\x8b") or path.suffix == ".gz":
                yield Content(path.name, path.name, _gunzip(file))
            else:
                yield Content(path.name, path.name, _read(file, MOST_BYTES))
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error


def _gunzip(file: IO[bytes]) -> bytes:
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            return _read(stream, MOST_BYTES)
    except _DAMAGED as error:
        raise Unreadable(f"is a damaged or truncated gzip file ({error})") from error


class _ZipOnDisk(io.FileIO):
    """A zip file with a limit on its directory, which zipfile reads in one piece."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MOST_DIRECTORY:
            raise zipfile.BadZipFile(f"its list of files is longer than {_MOST_DIRECTORY:,} bytes")
        return super().read(_MOST_DIRECTORY if size is None or size < 0 else size)


def _members(path: Path, most_files: int) -> Iterator[Content]:
    left = MOST_BYTES
    try:
        with _ZipOnDisk(path) as file, zipfile.ZipFile(file) as archive:
            for member in _files(archive, most_files):
                with archive.open(member) as stream:
                    data = _read(stream, left)
                left -= len(data)
                own = PurePosixPath(member.filename).name
                yield Content(own, f"{path.name}/{member.filename}", data)
    except _DAMAGED_ZIP as error:
        raise Unreadable(f"is a damaged or locked zip file ({error})") from error


def _files(archive: zipfile.ZipFile, most: int) -> list[zipfile.ZipInfo]:
    """Return the members without folders and the extra files of macOS."""
    files = [
        member
        for member in archive.infolist()
        if not (member.is_dir() or member.filename.startswith("__MACOSX/"))
    ]
    if not files:
        raise Unreadable("is a zip file without a file in it")
    if len(files) > most:
        allowed = f"{most:,} at most" if most > 1 else "one"
        raise Unreadable(f"packs {len(files):,} files: give {allowed}")
    # zipfile limits its output only for these two methods.
    bounded = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if any(member.compress_type not in bounded for member in files):
        raise Unreadable("is a zip file packed by another method than deflate: unpack it first")
    return files


def _read(stream: IO[bytes] | gzip.GzipFile, most: int) -> bytes:
    whole = io.BytesIO()
    while chunk := stream.read(_CHUNK):
        if whole.write(chunk) and whole.tell() > most:
            raise Unreadable(TOO_LONG)
    return whole.getvalue()
