"""manage.py archive_audit, and the months of the audit log."""

import gzip
import hashlib
import json
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.market.dates import INDIA
from apps.ops import audit_files

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def this_month() -> datetime:
    return (
        timezone.now().astimezone(INDIA).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    )


def record(*times: datetime) -> None:
    for at in times:
        audit.record(Action.ALGORITHM_FAILED, None, actor=audit.SYSTEM, now=at)


def partitions() -> dict[str, int]:
    """Return how many records each partition that has any holds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tableoid::regclass::text, count(*) FROM core_auditrecord GROUP BY 1 ORDER BY 1"
        )
        return dict(cursor.fetchall())


def name_of(month: datetime) -> str:
    return f"core_auditrecord_{month:%Y_%m}"


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_a_record_lies_in_its_month_of_india_and_an_older_one_in_the_oldest() -> None:
    month = this_month()
    following = audit_files.end_of_month(month)
    second = timedelta(seconds=1)
    record(month - 40 * DAY, following - second, following)
    assert partitions() == {name_of(month): 2, name_of(following): 1}


def test_months_that_nobody_made_in_time_are_made_with_the_records_that_wait_for_them() -> None:
    late = this_month() + 400 * DAY
    record(late, late + 31 * DAY, late)
    assert partitions() == {"core_auditrecord_default": 3}
    ids = list(AuditRecord.objects.values_list("pk", flat=True).order_by("pk"))
    audit.add_months()
    audit.add_months()
    assert partitions() == {name_of(late): 2, name_of(late + 31 * DAY): 1}
    assert list(AuditRecord.objects.values_list("pk", flat=True).order_by("pk")) == ids


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """A month that has begun, as this command sees it; two have ended before."""
    following = audit_files.end_of_month(this_month())
    now = audit_files.end_of_month(following)
    monkeypatch.setattr(timezone, "now", lambda: now + DAY)
    return now


def test_months_move_into_files(later: datetime, tmp_path: Path, alice: User) -> None:
    month = this_month_before(this_month_before(later))
    record(month, later - DAY, later, month + DAY)
    before = [json.loads(line) for line in audit_files.json_lines(AuditRecord.objects.all())]
    out = StringIO()
    call_command("archive_audit", str(tmp_path), f"--before={later:%Y-%m}", stdout=out)
    first = tmp_path / f"audit-{month:%Y-%m}.jsonl.gz"
    second = tmp_path / f"audit-{later - DAY:%Y-%m}.jsonl.gz"
    assert out.getvalue().splitlines() == [
        f"{first}: {len(lines_in(first))} records", f"{second}: 1 records",
    ]  # fmt: skip
    assert first.stat().st_mode & 0o777 == 0o600
    written = lines_in(first) + lines_in(second)
    stayed = list(AuditRecord.objects.order_by("pk"))
    assert stayed[0].at == later
    assert sorted(line["id"] for line in written) == [
        line["id"] for line in before if line["id"] != stayed[0].pk
    ]
    assert [line["at"] for line in lines_in(first)] == sorted(
        line["at"] for line in lines_in(first)
    )
    assert [entry.details["file"] for entry in stayed[1:]] == [first.name, second.name]
    assert stayed[1].details["sha256"] == hashlib.sha256(first.read_bytes()).hexdigest()
    assert stayed[1].actor_kind == "command"


def this_month_before(month: datetime) -> datetime:
    return (month - DAY).replace(day=1)


def test_a_file_that_is_there_is_left_and_so_is_the_month(later: datetime, tmp_path: Path) -> None:
    month = this_month_before(this_month_before(later))
    record(month)
    (tmp_path / f"audit-{month:%Y-%m}.jsonl.gz").write_text("another one's")
    with pytest.raises(CommandError, match="is there already"):
        call_command("archive_audit", str(tmp_path), f"--before={later:%Y-%m}")
    assert partitions() == {name_of(month): 1}
    assert [path.read_text() for path in tmp_path.iterdir()] == ["another one's"]


def test_a_file_stays_where_the_answer_to_the_drop_is_lost(
    later: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    month = this_month_before(this_month_before(later))
    record(month)
    drop = audit_files._drop

    def drop_without_answer(partition: str, archived: Any, *, now: datetime) -> None:
        drop(partition, archived, now=now)
        raise OperationalError("the connection was lost")

    monkeypatch.setattr(audit_files, "_drop", drop_without_answer)
    with pytest.raises(CommandError):
        call_command("archive_audit", str(tmp_path), f"--before={later:%Y-%m}")
    assert name_of(month) not in partitions()
    assert [len(lines_in(path)) for path in tmp_path.iterdir()] == [1]


def test_a_month_that_goes_on_stays(tmp_path: Path) -> None:
    following = audit_files.end_of_month(this_month())
    with pytest.raises(CommandError, match="that have not ended stay"):
        call_command("archive_audit", str(tmp_path), f"--before={following:%Y-%m}")
    record(this_month())
    call_command("archive_audit", str(tmp_path), f"--before={this_month():%Y-%m}")
    assert (list(tmp_path.iterdir()), AuditRecord.objects.count()) == ([], 1)


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET actor = ''"])
def test_a_partition_is_protected_as_the_whole_is(statement: str) -> None:
    late = this_month() + 400 * DAY
    record(late)
    audit.add_months()
    with (
        pytest.raises(DatabaseError, match="neither changed nor removed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(name_of(late)))
    assert partitions() == {name_of(late): 1}
