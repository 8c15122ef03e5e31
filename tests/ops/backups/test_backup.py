"""`manage.py backup`: one whole file, or none."""

import fcntl
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from apps.core import encryption
from apps.ops.backups import archive, programs
from apps.ops.backups.archive import BackupFailed
from tests import make
from tests.faults.workers import environment_of_test_database
from tests.processes import PROJECT, until

pytestmark = pytest.mark.django_db(transaction=True)


def back_up(folder: Path, *options: str) -> Path:
    said = StringIO()
    call_command("backup", str(folder), *options, stdout=said)
    [path] = folder.glob(archive.NAMES)
    assert said.getvalue().startswith(f"{path}: ")
    return path


def verify(path: Path) -> None:
    with archive.opened(path):
        pass


@contextmanager
def locked_table() -> Iterator[None]:
    """While it lasts, no dump gets beyond its first bytes."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
        yield


def test_a_backup_says_what_it_holds_and_when_its_snapshot_was_taken(tmp_path: Path) -> None:
    make.user("alice")
    before = datetime.now(UTC)
    path = back_up(tmp_path)
    with archive.opened(path) as backup:
        manifest = backup.manifest
        assert backup.secret is None
    assert before <= manifest.taken_at <= datetime.now(UTC)
    assert path.name == f"algotrade-{manifest.taken_at:%Y%m%dT%H%M%SZ}.tar"
    assert manifest.service_version == settings.VERSION
    assert manifest.rows["accounts_user"] == 1
    assert "0001_initial" in manifest.migrations["trading"]
    assert "core_counter" not in manifest.rows  # unlogged: a crash may forget it too
    assert manifest.key_fingerprint == encryption.fingerprint(settings.SECRET_KEY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_secret_is_there_only_when_it_is_asked_for(tmp_path: Path) -> None:
    path = back_up(tmp_path / "with", "--with-secret")
    with archive.opened(path) as backup:
        assert backup.secret == settings.SECRET_KEY
    assert settings.SECRET_KEY.encode() in path.read_bytes()
    assert settings.SECRET_KEY.encode() not in back_up(tmp_path / "without").read_bytes()


def test_any_tar_reads_it(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["tar", "-tvf", back_up(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == ["database.dump", "manifest.json"]


@pytest.mark.slow
def test_standard_output_gets_the_same(tmp_path: Path) -> None:
    path = tmp_path / "piped.tar"
    with path.open("wb") as file:
        subprocess.run(
            [sys.executable, "manage.py", "backup", "-"],
            cwd=PROJECT, env=environment_of_test_database("backup"), stdout=file, check=True,
        )  # fmt: skip
    with archive.opened(path) as backup:
        assert backup.manifest.rows["accounts_user"] == 0


def test_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(CommandError, match="could not be written: File too large"):
            call_command("backup", str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_killed_half_way_it_leaves_a_draft_which_the_next_backup_removes(tmp_path: Path) -> None:
    with locked_table():
        backing_up = subprocess.Popen(
            [sys.executable, "manage.py", "backup", str(tmp_path)],
            cwd=PROJECT, env=environment_of_test_database("backup"),
        )  # fmt: skip
        until(lambda: list(tmp_path.iterdir()), seconds=50)
        [draft] = tmp_path.iterdir()
        backing_up.send_signal(signal.SIGKILL)
        backing_up.wait()
    with pytest.raises(BackupFailed, match="is no"):
        verify(draft)
    path = back_up(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_draft_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    with locked_table():
        backing_up = subprocess.Popen(
            [sys.executable, "manage.py", "backup", str(tmp_path)],
            cwd=PROJECT, env=environment_of_test_database("backup"), stdout=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: list(tmp_path.iterdir()), seconds=50)

        def write(writer: archive.Writer) -> archive.Manifest:
            raise BackupFailed("not this one")

        with pytest.raises(BackupFailed, match="not this one"):
            archive.write_file(tmp_path, write)
        assert len(list(tmp_path.iterdir())) == 1
    assert backing_up.wait(50) == 0
    [path] = tmp_path.iterdir()
    verify(path)


def test_a_draft_that_another_backup_removes_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    removed: list[Path] = []

    def lock_late(file: int, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    path = back_up(tmp_path)
    assert len(removed) == 1
    assert list(tmp_path.iterdir()) == [path]
    verify(path)


def test_without_pg_dump_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(CommandError, match=r"install postgresql-client-\d+ .*set PG_BIN"):
        call_command("backup", str(tmp_path / "backups"))
    assert not list((tmp_path / "backups").iterdir())


def test_programs_that_are_older_than_the_server_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pg_dump", "pg_restore", "psql"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 14.2'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    assert programs.programs_for(140_005).folder == tmp_path
    with pytest.raises(BackupFailed, match="PostgreSQL 15 or later"):
        programs.programs_for(150_000)


@pytest.mark.parametrize("cut", [100, 5_000, -1_100])
def test_a_file_that_was_cut_off_is_no_backup(tmp_path: Path, cut: int) -> None:
    path = back_up(tmp_path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(BackupFailed, match=r"is no|is damaged"):
        verify(path)


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = back_up(tmp_path)
    content = bytearray(path.read_bytes())
    content[3_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(BackupFailed, match=r"database\.dump does not have its checksum"):
        verify(path)


def test_a_format_of_the_future_is_refused(tmp_path: Path) -> None:
    path = back_up(tmp_path)
    with tarfile.open(path) as file, tarfile.open(tmp_path / "newer.tar", "w") as newer:
        source = file.extractfile("manifest.json")
        assert source is not None
        manifest = json.loads(source.read()) | {"format_version": 2, "service_version": "9.0.0"}
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        newer.add(tmp_path / "manifest.json", "manifest.json")
    with pytest.raises(BackupFailed, match=r"made by version 9\.0\.0"):
        verify(tmp_path / "newer.tar")


def test_a_name_is_never_given_twice(tmp_path: Path) -> None:
    path = back_up(tmp_path)
    with archive.opened(path) as backup:
        manifest = backup.manifest
    before = path.read_bytes()
    with pytest.raises(BackupFailed, match="of the same second"):
        archive.write_file(tmp_path, lambda writer: manifest)
    assert path.read_bytes() == before
    assert [entry for entry in os.listdir(tmp_path) if entry != path.name] == []


@pytest.mark.timeout(30)
def test_backups_of_two_containers_with_the_same_process_id_do_not_meet(tmp_path: Path) -> None:
    with archive.opened(back_up(tmp_path / "first")) as backup:
        manifest = backup.manifest
    later = manifest.model_copy(update={"taken_at": manifest.taken_at + timedelta(hours=1)})
    folder = tmp_path / "shared"

    def write(writer: archive.Writer) -> archive.Manifest:
        archive.write_file(folder, lambda other: later)  # by the other one, meanwhile
        return manifest

    archive.write_file(folder, write)
    names = {manifest.file_name, later.file_name}
    assert {path.name for path in folder.iterdir()} == names


def test_a_database_of_the_release_before_is_backed_up_before_it_is_migrated(
    tmp_path: Path,
) -> None:
    """An upgrade begins with a backup, when tables of the new version are not there yet."""
    unknown = ("core_installedkey", "ops_backuprecord")
    with connection.cursor() as cursor:
        for table in unknown:
            cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_later")
    try:
        path = back_up(tmp_path)
    finally:
        with connection.cursor() as cursor:
            for table in unknown:
                cursor.execute(f"ALTER TABLE {table}_later RENAME TO {table}")
    with archive.opened(path) as backup:
        assert backup.manifest.key_fingerprint == encryption.fingerprint(settings.SECRET_KEY)
