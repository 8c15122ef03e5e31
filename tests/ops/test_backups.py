"""`manage.py backup` and `restore`: all of the database, or nothing; and a quiet copy."""

import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core.database import encryption
from apps.core.models import InstalledKey, QuietStart
from apps.ops.database import backups
from apps.ops.database.local_postgres import program_folders
from tests import make
from tests.trading.upgrade.test_upgrade import RELEASE, database_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]

OTHER_KEY = "another key " * 4


def back_up(folder: Path) -> Path:
    call_command("backup", str(folder), stdout=StringIO())
    [path] = folder.iterdir()
    return path


def restore(path: Path, *options: str) -> str:
    said = StringIO()
    call_command("restore", str(path), *options, stdout=said)
    return said.getvalue()


@contextmanager
def empty_database() -> Iterator[None]:
    """During the block, an empty database replaces the tests' own."""
    parameters = connection.get_connection_params()
    name = f"{parameters['dbname']}_empty"
    with closing(psycopg.connect(**parameters, autocommit=True)) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        with patch.dict(connection.settings_dict, NAME=name):
            try:
                connection.close()
                yield
            finally:
                connection.close()
                server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def changed(path: Path, **facts: str) -> Path:
    """Return a copy of the backup with other facts in its manifest."""
    copy = path.with_name("changed.tar")
    with tarfile.open(path) as file, tarfile.open(copy, "w") as target:
        for member in file.getmembers():
            source = file.extractfile(member)
            assert source is not None
            content = source.read()
            if member.name == backups.MANIFEST:
                content = json.dumps(json.loads(content) | facts).encode()
                member.size = len(content)
            target.addfile(member, BytesIO(content))
    return copy


def tables() -> list[str]:
    return connection.introspection.table_names()


def test_a_restored_copy_is_complete_and_inactive(tmp_path: Path) -> None:
    alice = make.user("alice")
    algorithm = make.algorithm(alice, name="Crossing")
    path = back_up(tmp_path)
    before = set(tables())
    with empty_database():
        assert "trades nothing and sends nothing" in restore(path)
        assert QuietStart.objects.get().ended_at is None
        assert Algorithm.objects.get().name == algorithm.name
        assert User.objects.get().password == alice.password
        assert set(tables()) == before
        make.algorithm(User.objects.get(), name="Another")  # sequences go on where they were
        call_command("migrate", "--check", verbosity=0)


def test_a_backup_is_a_tar_with_the_key_readable_only_by_its_owner(
    tmp_path: Path, settings: Settings
) -> None:
    path = back_up(tmp_path / "new")
    assert re.fullmatch(r"algotrade-\d{8}T\d{6}Z\.tar", path.name)
    assert path.stat().st_mode & 0o077 == path.parent.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as tar:
        assert tar.getnames() == [backups.MANIFEST, backups.KEY, backups.DUMP]
        key = tar.extractfile(backups.KEY)
        assert key is not None
        assert key.read().decode() == settings.SECRET_KEY


def test_no_quiet_start_begins_on_request(tmp_path: Path) -> None:
    path = back_up(tmp_path)
    with empty_database():
        restore(path, "--no-quiet-start")
        assert not QuietStart.objects.exists()


def test_a_database_with_tables_is_refused(tmp_path: Path) -> None:
    make.user("alice")
    path = back_up(tmp_path)
    with pytest.raises(CommandError, match="not empty"):
        restore(path)
    assert User.objects.count() == 1


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_a_file_that_was_cut_off_restores_nothing(tmp_path: Path, share: float) -> None:
    path = back_up(tmp_path)
    with tarfile.open(path) as tar:
        dump = tar.getmember(backups.DUMP)
    end = dump.offset_data + dump.size - 10
    path.write_bytes(path.read_bytes()[: int(end * share)])
    with empty_database():
        with pytest.raises(CommandError, match=r"not a complete backup|could not be restored"):
            restore(path)
        assert tables() == []


def test_the_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = changed(back_up(tmp_path), service_version="9.1.0")
    with empty_database(), pytest.raises(CommandError, match=r"of version 9\.1\.0: restore it"):
        restore(path)


def test_a_machine_with_another_key_gets_instructions_for_the_backups(
    tmp_path: Path, settings: Settings
) -> None:
    path, key = back_up(tmp_path), settings.SECRET_KEY
    settings.SECRET_KEY = OTHER_KEY
    with empty_database():
        with pytest.raises(CommandError, match="tar -xOf") as refusal:
            restore(path)
        assert tables() == []
        [command] = re.findall(r"tar -xOf \S+ \S+", str(refusal.value))
        settings.SECRET_KEY = subprocess.check_output(command.split(), text=True)
        assert key == settings.SECRET_KEY
        restore(path)


def test_a_key_that_is_not_rotated_yet_is_not_backed_up(tmp_path: Path, settings: Settings) -> None:
    InstalledKey.objects.create(
        fingerprint=encryption.key_fingerprint(settings.SECRET_KEY), since=make.NOW
    )
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], OTHER_KEY
    with pytest.raises(CommandError, match="run rotate_secret_key first"):
        call_command("backup", str(tmp_path))


def test_an_empty_database_is_not_backed_up(tmp_path: Path) -> None:
    with empty_database(), pytest.raises(CommandError, match="nothing to back up"):
        call_command("backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_dump_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "_environment", lambda: {"PGOPTIONS": "-c role=nobody_at_all"})
    with pytest.raises(CommandError, match=r"pg_dump failed: .*nobody_at_all"):
        call_command("backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_pg_dump_gets_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(CommandError, match=r"install postgresql-client-\d+"):
        call_command("backup", str(tmp_path))


def test_programs_older_than_the_server_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for major in (9, 98, 97):
        program = tmp_path / str(major) / "pg_dump"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.2'\n")
        program.chmod(0o755)
    folders = [tmp_path / name for name in ("9", "98", "97", "none")]
    monkeypatch.setattr(backups, "program_folders", lambda: iter(folders))
    assert backups._programs(18) == tmp_path / "97"


@pytest.mark.slow
def test_a_backup_of_release_1_0_is_restored(tmp_path: Path, settings: Settings) -> None:
    with database_of(RELEASE):
        command = backups._command("pg_dump", "--format=custom", f"--file={tmp_path / 'dump'}")
        subprocess.run(command, env=backups._environment(), check=True)
        algorithms = set(Algorithm.objects.values_list("name", flat=True))
    path = tmp_path / "algotrade-20261126T120000Z.tar"
    manifest = {
        "format_version": 1,
        "service_version": "1.0.0",
        "state_version": 6,
        "taken_at": "2026-11-26T12:00:00Z",
        "server_version": 180006,
        "migrations": {},
        "key_fingerprint": encryption.key_fingerprint(settings.SECRET_KEY),
        "rows": {},
        "parts": {},
    }
    with tarfile.open(path, "w") as tar:
        tar.add(tmp_path / "dump", backups.DUMP)
        text = json.dumps(manifest).encode()
        member = tarfile.TarInfo(backups.MANIFEST)
        member.size = len(text)
        tar.addfile(member, BytesIO(text))
    with empty_database():
        restore(path)
        assert set(Algorithm.objects.values_list("name", flat=True)) == algorithms
        assert QuietStart.objects.get().ended_at is None


@pytest.mark.parametrize("folder", list(program_folders()), ids=str)
def test_programs_of_any_version_reach_the_database(folder: Path) -> None:
    ask = [str(folder / "psql"), *backups._command("psql")[1:], "--command=SELECT 1"]
    subprocess.run(ask, env=backups._environment(), capture_output=True, check=True)
