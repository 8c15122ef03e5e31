"""Folders and files that others cannot enter or read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.ops.database import private_files
from config import settings


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Set a umask that lets everybody read new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_data_directory_and_its_secret_are_readable_by_the_owner_alone(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "data" / "secret"
    settings.kept_secret(secret)
    assert (mode(secret.parent), mode(secret)) == (0o700, 0o600)


def test_a_file_that_others_could_read_is_tightened(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    log.chmod(0o644)
    with private_files.private_file(log, os.O_WRONLY | os.O_APPEND) as file:
        os.write(file, b"x")
    assert mode(log) == 0o600


def test_files_made_by_root_belong_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes files of others")
    os.chown(tmp_path, 12345, 12345)
    with private_files.private_file(tmp_path / "lock", os.O_RDWR):
        assert (tmp_path / "lock").stat().st_uid == 12345
    (tmp_path / "link").symlink_to("/tmp/elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        private_files.open_private(tmp_path / "link", os.O_RDWR)
