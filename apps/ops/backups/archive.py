"""A backup as one file: a tar of the database's dump, the secret if it was asked for, and last the
manifest, with a checksum of each part.

The manifest stands at the end, so a file that was cut off has none. A file gets its name when it is
complete and on disk; before that it is a draft, which the next backup into the folder removes if
nobody writes it any more.
"""

import fcntl
import hashlib
import os
import secrets
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from apps.ops import private_files

FORMAT_VERSION: Final = 1
DUMP_MEMBER: Final = "database.dump"
SECRET_MEMBER: Final = "secret"
MANIFEST_MEMBER: Final = "manifest.json"
_NAME: Final = "algotrade-{at:%Y%m%dT%H%M%SZ}.tar"
NAMES: Final = "algotrade-[0-9]*T[0-9]*Z.tar"
_DRAFTS: Final = ".algotrade-*.draft"
_CHUNK: Final = 1024 * 1024


class BackupFailed(Exception):
    """The backup could not be made, or cannot be restored; the message is for the operator."""


class Part(BaseModel):
    """A member of the tar, as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    sha256: str


class Manifest(BaseModel):
    """What a backup holds. `taken_at` is the time of the snapshot by the database's clock."""

    model_config = ConfigDict(frozen=True)

    format_version: int
    service_version: str
    state_version: int
    taken_at: datetime
    server_version: int
    key_fingerprint: str
    migrations: Mapping[str, list[str]]
    rows: Mapping[str, int]
    parts: Mapping[str, Part]

    @property
    def file_name(self) -> str:
        return _NAME.format(at=self.taken_at)


class Writer:
    """Writes the parts of a backup into a file, which must be seekable."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.parts: dict[str, Part] = {}

    def add(self, name: str, source: IO[bytes]) -> None:
        """Add a part of unknown length: its header is written when it has ended."""
        header = self._file.tell()
        self._file.write(bytes(tarfile.BLOCKSIZE))
        digest, size = hashlib.sha256(), 0
        while chunk := source.read(_CHUNK):
            self._file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        self._file.write(bytes(-size % tarfile.BLOCKSIZE))
        end = self._file.tell()
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        self._file.seek(header)
        self._file.write(member.tobuf(tarfile.GNU_FORMAT))
        self._file.seek(end)
        self.parts[name] = Part(size=size, sha256=digest.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        text = manifest.model_dump_json(indent=2).encode()
        self.add(MANIFEST_MEMBER, BytesIO(text))
        self._file.write(bytes(2 * tarfile.BLOCKSIZE))
        self._file.flush()


# Writes a whole backup, and returns its manifest.
Write = Callable[[Writer], Manifest]


def write_file(folder: Path, write: Write) -> tuple[Path, Manifest]:
    """Write a backup into the folder. Raises BackupFailed, OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_old_drafts(folder)
    with _new_draft(folder) as (draft, descriptor):
        with open(descriptor, "r+b", closefd=False) as file:
            manifest = write(Writer(file))
        os.fsync(descriptor)
        path = folder / manifest.file_name
        if path.exists():
            raise BackupFailed(f"{path} is there already: a backup of the same second")
        draft.rename(path)
    _sync_folder(folder)
    return path, manifest


@contextmanager
def _new_draft(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the path and descriptor of a locked draft, which goes unless it gets another name."""
    while True:
        # Not named by the process: containers that share the folder have processes of the same id.
        draft = folder / f".algotrade-{secrets.token_hex(8)}.draft"
        with private_files.private_file(draft, os.O_RDWR | os.O_EXCL) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink == 0:
                continue  # before it was locked, another backup has taken it for an old one
            try:
                yield draft, descriptor
            finally:
                draft.unlink(missing_ok=True)
            return


def write_stream(stream: IO[bytes], write: Write) -> Manifest:
    """Write a backup to a stream, once it is complete in a temporary file."""
    with tempfile.TemporaryFile() as file:
        manifest = write(Writer(file))
        file.seek(0)
        shutil.copyfileobj(file, stream, _CHUNK)
        stream.flush()
    return manifest


def _remove_old_drafts(folder: Path) -> None:
    """Remove what a process has left that was killed; a draft that is being written is locked."""
    for draft in folder.glob(_DRAFTS):
        try:
            with draft.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink(missing_ok=True)
        except (BlockingIOError, FileNotFoundError):
            continue


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Backup:
    """An opened backup whose parts have the checksums of its manifest."""

    def __init__(self, file: tarfile.TarFile, manifest: Manifest) -> None:
        self._file = file
        self.manifest = manifest

    def open(self, name: str) -> IO[bytes]:
        source = self._file.extractfile(name)
        assert source is not None, "a verified part is a file"
        return source

    @property
    def secret(self) -> str | None:
        """The SECRET_KEY of the service that was backed up, if the backup holds it."""
        return (
            self.open(SECRET_MEMBER).read().decode()
            if SECRET_MEMBER in self.manifest.parts
            else None
        )


@contextmanager
def opened(path: Path) -> Iterator[Backup]:
    """Open a backup and verify all of it. Raises BackupFailed."""
    try:
        file = tarfile.open(path, "r:")  # noqa: SIM115 (closed below)
    except (OSError, tarfile.TarError) as error:
        raise BackupFailed(f"{path} is no backup: {error}") from error
    with file:
        backup = Backup(file, _manifest_of(file, path))
        for name, part in backup.manifest.parts.items():
            if _part_of(file, name) != part:
                raise BackupFailed(f"{path} is damaged: {name} does not have its checksum")
        yield backup


def _manifest_of(file: tarfile.TarFile, path: Path) -> Manifest:
    try:
        source = file.extractfile(MANIFEST_MEMBER)
        assert source is not None, "the manifest is a file"
        manifest = Manifest.model_validate_json(source.read())
    except (KeyError, AssertionError, tarfile.TarError, ValidationError) as error:
        raise BackupFailed(f"{path} is no whole backup: it has no readable manifest") from error
    if manifest.format_version > FORMAT_VERSION:
        raise BackupFailed(
            f"{path} was made by version {manifest.service_version}, in a format that this version"
            " does not know: restore it with that version or a later one"
        )
    return manifest


def _part_of(file: tarfile.TarFile, name: str) -> Part | None:
    """Return the part as it is in the file now; None if it is not there or cut off."""
    try:
        source = file.extractfile(name)
        if source is None:
            return None
        digest, size = hashlib.sha256(), 0
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    except (KeyError, OSError, tarfile.TarError):
        return None
    return Part(size=size, sha256=digest.hexdigest())
