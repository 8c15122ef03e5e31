"""`manage.py restore`: all of a backup, or nothing."""

import hashlib
import json
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core import encryption
from apps.core.models import InstalledKey, QuietStart
from apps.ops import secret_key
from apps.webhooks.models import Endpoint
from tests import make
from tests.ops.backups.restored import back_up, empty_database, restore
from tests.webhooks.events import endpoint_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]

OTHER_KEY = "another key " * 4


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Return a copy of the backup with another manifest."""
    copy = path.with_name("changed.tar")
    with tarfile.open(path) as file, tarfile.open(copy, "w") as target:
        for member in file.getmembers():
            source = file.extractfile(member)
            assert source is not None
            content = source.read()
            if member.name == "manifest.json":
                manifest = json.loads(content)
                change(manifest)
                content = json.dumps(manifest).encode()
                member.size = len(content)
            target.addfile(member, BytesIO(content))
    return copy


def tables() -> list[str]:
    return connection.introspection.table_names()


def test_everything_is_there_again_and_stands_still(tmp_path: Path) -> None:
    alice = make.user("alice")
    algorithm = make.algorithm(alice, name="Crossing")
    path = back_up(tmp_path)
    before = set(tables())
    with empty_database():
        said = restore(path)
        assert "Restored and verified" in said
        assert "trades nothing and sends nothing" in said
        assert QuietStart.objects.get().ended_at is None
        assert Algorithm.objects.get().name == algorithm.name
        assert User.objects.get().password == alice.password
        assert set(tables()) == before
        make.algorithm(User.objects.get(), name="Another")  # sequences go on where they were
        call_command("migrate", "--check", verbosity=0)


def test_a_database_with_tables_is_refused(tmp_path: Path) -> None:
    make.user("alice")
    path = back_up(tmp_path)
    with pytest.raises(CommandError, match="not empty"):
        restore(path)
    assert User.objects.count() == 1


@pytest.mark.slow
def test_where_a_row_is_missing_nothing_is_restored(tmp_path: Path) -> None:
    def one_more(manifest: dict[str, Any]) -> None:
        manifest["rows"]["accounts_user"] += 1

    path = changed(back_up(tmp_path), one_more)
    with empty_database():
        with pytest.raises(CommandError, match="not all rows of accounts_user"):
            restore(path)
        assert tables() == []


def test_a_damaged_file_restores_nothing(tmp_path: Path) -> None:
    path = back_up(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with empty_database():
        with pytest.raises(CommandError, match="damaged"):
            restore(path)
        assert tables() == []


@pytest.mark.slow
def test_a_dump_that_breaks_off_restores_nothing(tmp_path: Path) -> None:
    """Its checksum may be right: the disk was full when it was made by other means."""
    path = back_up(tmp_path)
    copy = tmp_path / "broken.tar"
    with tarfile.open(path) as file, tarfile.open(copy, "w") as target:
        dump = file.extractfile("database.dump")
        source = file.extractfile("manifest.json")
        assert dump is not None
        assert source is not None
        content = dump.read()
        content = content[: len(content) * 3 // 4]
        manifest = json.loads(source.read())
        manifest["parts"]["database.dump"] = {
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for name, part in (
            ("database.dump", content), ("manifest.json", json.dumps(manifest).encode())
        ):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.size = len(part)
            target.addfile(member, BytesIO(part))
    with empty_database():
        with pytest.raises(CommandError, match=r"could not be restored: .*pg_restore"):
            restore(copy)
        assert tables() == []


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    def newer(manifest: dict[str, Any]) -> None:
        manifest["migrations"]["trading"].append("0999_of_the_future")
        manifest["service_version"] = "9.1.0"

    path = changed(back_up(tmp_path), newer)
    with empty_database(), pytest.raises(CommandError, match=r"by version 9\.1\.0, which is newer"):
        restore(path)


def test_a_newer_layout_of_saved_states_is_refused(tmp_path: Path) -> None:
    path = changed(back_up(tmp_path), lambda manifest: manifest.update(state_version=99))
    with empty_database(), pytest.raises(CommandError, match="newer than this"):
        restore(path)


# -------------------------------------------------------------------------------------------- keys


@pytest.fixture
def endpoint() -> Endpoint:
    secret_key.require_known(now=timezone.now())
    return endpoint_of(make.user("alice"))


def use_kept_secret(settings: Settings, folder: Path, key: str) -> Path:
    """As if no SECRET_KEY were set: DATA_DIR keeps one."""
    settings.DATA_DIR, settings.SECRET_KEY = folder, key
    path = folder / "secret"
    path.write_text(key)
    return path


def test_without_its_key_a_backup_is_refused(
    tmp_path: Path, settings: Settings, endpoint: Endpoint
) -> None:
    path = back_up(tmp_path)
    settings.SECRET_KEY = OTHER_KEY
    with empty_database():
        with pytest.raises(CommandError, match="webhook secrets and second factors would not be"):
            restore(path)
        assert tables() == []


@pytest.mark.slow
def test_on_request_it_is_restored_without_the_key_and_says_what_is_lost(
    tmp_path: Path, settings: Settings, endpoint: Endpoint
) -> None:
    path = back_up(tmp_path)
    settings.SECRET_KEY = OTHER_KEY
    with empty_database():
        said = restore(path, "--without-key")
        assert "Not readable without their SECRET_KEY: 1 of webhooks_endpoint.secret." in said
        secret_key.require_known(now=timezone.now())


@pytest.mark.slow
def test_the_secret_of_the_backup_becomes_the_machine_s(
    tmp_path: Path, settings: Settings, endpoint: Endpoint
) -> None:
    original = settings.SECRET_KEY
    path = back_up(tmp_path / "backups", "--with-secret")
    kept = use_kept_secret(settings, tmp_path, OTHER_KEY)
    with empty_database():
        assert "Not readable" not in restore(path)
        settings.SECRET_KEY = kept.read_text()  # as the next start reads it
        assert kept.read_text() == original
        assert InstalledKey.objects.get().fingerprint == encryption.fingerprint(original)
        assert encryption.decrypt(bytes(Endpoint.objects.get().secret))
    assert (tmp_path / "secret.before-restore").read_text() == OTHER_KEY
    assert kept.stat().st_mode & 0o077 == 0


def test_a_secret_key_that_was_set_is_not_replaced(
    tmp_path: Path, settings: Settings, endpoint: Endpoint
) -> None:
    path = back_up(tmp_path / "backups", "--with-secret")
    settings.DATA_DIR, settings.SECRET_KEY = tmp_path, OTHER_KEY
    with empty_database(), pytest.raises(CommandError, match="unset it to take the one"):
        restore(path)


@pytest.mark.slow
def test_without_the_key_a_secret_key_that_was_set_stays_though_the_backup_holds_another(
    tmp_path: Path, settings: Settings, endpoint: Endpoint
) -> None:
    path = back_up(tmp_path / "backups", "--with-secret")
    settings.DATA_DIR, settings.SECRET_KEY = tmp_path, OTHER_KEY
    with empty_database():
        said = restore(path, "--without-key")
        assert "Not readable without their SECRET_KEY: 1 of webhooks_endpoint.secret." in said
        secret_key.require_known(now=timezone.now())
    assert not (tmp_path / "secret").exists()


@pytest.mark.slow
def test_killed_while_it_replaces_the_secret_it_leaves_a_whole_one(
    tmp_path: Path, settings: Settings, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = back_up(tmp_path / "backups", "--with-secret")
    kept = use_kept_secret(settings, tmp_path, OTHER_KEY)
    rename = Path.rename

    def be_killed(draft: Path, target: Path) -> Path:
        if target == kept:
            raise KeyboardInterrupt
        return rename(draft, target)

    monkeypatch.setattr(Path, "rename", be_killed)
    with empty_database(), pytest.raises(KeyboardInterrupt):
        restore(path)
    assert kept.read_text() == OTHER_KEY
    assert (tmp_path / "secret.before-restore").read_text() == OTHER_KEY


# ------------------------------------------------------------------------------------- quiet start


@pytest.mark.slow
def test_on_request_there_is_no_quiet_start(tmp_path: Path) -> None:
    path = back_up(tmp_path)
    with empty_database():
        assert "trades nothing" not in restore(path, "--no-quiet-start")
        assert not QuietStart.objects.exists()


def test_a_backup_of_before_quiet_starts_is_restored_without_one_alone(tmp_path: Path) -> None:
    def forget(manifest: dict[str, Any]) -> None:
        manifest["migrations"]["core"].remove("0007_quiet_start")

    path = changed(back_up(tmp_path), forget)
    with empty_database():
        with pytest.raises(CommandError, match=r"knows no quiet start: .*--no-quiet-start"):
            restore(path)
        assert tables() == []
