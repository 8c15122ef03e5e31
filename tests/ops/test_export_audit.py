"""manage.py export_audit"""

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.models import AuditRecord
from apps.market.dates import INDIA

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
NOVEMBER, DECEMBER = (datetime(2026, number, 1, tzinfo=INDIA) for number in (11, 12))
TIMES = (NOVEMBER - SECOND, NOVEMBER, DECEMBER - SECOND, DECEMBER)


def exported(*options: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("export_audit", *options, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def records(alice: User) -> list[AuditRecord]:
    """At the ends of a month, with a name that would break a line."""
    for at in TIMES:
        audit.record(
            Action.BACKTEST_RENAMED, alice, actor=audit.user(alice), now=at, name="रेखा\nline"
        )
    return list(AuditRecord.objects.filter(action=Action.BACKTEST_RENAMED).order_by("pk"))


def test_each_record_is_a_line_with_all_that_it_has(records: list[AuditRecord]) -> None:
    lines = exported()
    assert [line["id"] for line in lines[-4:]] == [record.pk for record in records]
    assert set(lines[0]) == {field.attname for field in AuditRecord._meta.concrete_fields}
    assert datetime.fromisoformat(lines[-1]["at"]) == DECEMBER
    assert lines[-1]["details"] == {"name": "रेखा\nline"}


def test_a_month_is_one_of_india(records: list[AuditRecord]) -> None:
    assert [line["id"] for line in exported("--month=2026-11")] == [
        record.pk for record in records[1:3]
    ]
    assert exported("--month=2020-12") == []


def test_an_export_goes_on_after_the_last_id(records: list[AuditRecord]) -> None:
    assert [line["id"] for line in exported(f"--after={records[2].pk}")] == [records[3].pk]


def test_a_month_that_is_none_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="must be a month, such as 2026-11"):
        exported("--month=November")
