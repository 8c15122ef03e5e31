"""Backups on a schedule: when they are due, how many are kept, what is known of them."""

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from apps.core.models import QuietStart
from apps.ops.backups import archive, schedule
from apps.ops.models import BackupRecord
from config.settings import env_duration
from tests.ops.backups.restored import back_up
from tests.ops.test_metrics import samples

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
AGE = ("algotrade_backup_age_seconds", frozenset[tuple[str, str]]())


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.BACKUP_DIR, settings.BACKUP_EVERY, settings.BACKUP_KEEP = tmp_path, HOUR, 2
    return tmp_path


def pass_time(time: timedelta) -> None:
    BackupRecord.objects.update(begun_at=F("begun_at") - time, taken_at=F("taken_at") - time)


def test_the_first_is_due_at_once_and_the_next_after_an_hour(folder: Path) -> None:
    record = schedule.back_up_if_due()
    assert record is not None
    [path] = folder.iterdir()
    assert (record.name, record.size) == (path.name, path.stat().st_size)
    assert schedule.back_up_if_due() is None
    pass_time(HOUR - timedelta(minutes=1))
    assert schedule.back_up_if_due() is None
    pass_time(timedelta(minutes=1))
    path.rename(path.with_name("algotrade-20200101T000000Z.tar"))
    assert schedule.back_up_if_due() is not None


def test_a_backup_by_hand_does_not_put_the_schedule_off(tmp_path: Path) -> None:
    back_up(tmp_path / "elsewhere")
    assert schedule.back_up_if_due() is not None
    assert schedule.back_up_if_due() is None


def test_the_newest_files_are_kept_and_others_are_left_alone(folder: Path) -> None:
    names = [f"algotrade-2020010{day}T000000Z.tar" for day in (1, 2, 3)]
    for name in (*names, "notes.txt", "algotrade-before-upgrade.tar"):
        (folder / name).touch()
    record = schedule.back_up_if_due()
    assert record is not None
    assert {path.name for path in folder.iterdir()} == {
        record.name, names[-1], "notes.txt", "algotrade-before-upgrade.tar",
    }  # fmt: skip


def test_of_two_machines_one_makes_it() -> None:
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [schedule.BACKING_UP])
        assert schedule.back_up_if_due() is None
        other.execute("SELECT pg_advisory_unlock(%s)", [schedule.BACKING_UP])
        assert schedule.back_up_if_due() is not None


def test_a_failure_is_on_record_and_tried_again_later(
    folder: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.BACKUP_DIR = folder / "file"
    settings.BACKUP_DIR.touch()
    record = schedule.back_up_if_due()
    assert record is not None
    assert "could not be written: " in record.error
    assert "the backup failed: " in caplog.text
    assert AGE not in samples()
    settings.BACKUP_DIR = folder
    assert schedule.back_up_if_due() is None
    pass_time(schedule.RETRY_AFTER)
    assert schedule.back_up_if_due() is not None
    assert 0 <= samples()[AGE] < 60


def test_a_backup_by_hand_that_fails_is_on_record_too(folder: Path) -> None:
    (folder / "file").touch()
    with pytest.raises(CommandError, match="could not be written"):
        call_command("backup", str(folder / "file"))
    assert BackupRecord.objects.get().error


def test_a_restored_copy_makes_none_before_its_quiet_start_has_ended(folder: Path) -> None:
    QuietStart.objects.create(began_at=timezone.now(), snapshot_at=timezone.now())
    assert schedule.back_up_if_due() is None
    assert not list(folder.glob(archive.NAMES))


def test_old_records_go_but_for_the_newest_backup() -> None:
    now = timezone.now()
    for days in (200, 100):
        past = now - timedelta(days=days)
        BackupRecord.objects.create(name=str(days), begun_at=past, taken_at=past)
    BackupRecord.objects.create(begun_at=now - timedelta(days=95), error="disk full")
    assert schedule.purge(now=now) == 2
    assert BackupRecord.objects.get().name == "100"


@pytest.mark.parametrize("text", ["5", "0m", "1w", "h", "59s", "1.5h"])
def test_a_time_has_a_number_and_a_unit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKUP_EVERY", text)
    with pytest.raises(ImproperlyConfigured, match=r"BACKUP_EVERY='.*': use a time such as"):
        env_duration("BACKUP_EVERY", default="24h", least=HOUR)
