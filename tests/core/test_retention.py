"""Expired and ended rows are deleted in batches; others stay."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.core.database import batches
from apps.core.jobs import job_queue, retention
from apps.core.models import Counter, IdempotencyKey
from tests import make

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def test_a_counter_is_deleted_after_its_window() -> None:
    for key, expires in (("old", make.NOW - SECOND), ("new", make.NOW)):
        Counter.objects.create(key=key, count=1, expires_at=expires)
    assert retention.purge(now=make.NOW) == 1
    assert Counter.objects.get().key == "new"


def test_a_stored_answer_is_purged_when_its_key_expires() -> None:
    for key, expires in (("old", make.NOW), ("new", make.NOW + SECOND)):
        IdempotencyKey.objects.create(
            user_id="u", method="POST", path="/", key=key, fingerprint="", expires_at=expires
        )
    assert retention.purge(now=make.NOW) == 1
    assert IdempotencyKey.objects.get().key == "new"


def job(name: str, *, status: str, days_ago: int) -> None:
    job_queue.enqueue(name, queue="small", arguments=[{}])
    made = ProcrastinateJob.objects.latest("id").pk
    at = make.NOW - days_ago * DAY
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = %s WHERE id = %s", [status, made])
        cursor.execute("UPDATE procrastinate_events SET at = %s WHERE job_id = %s", [at, made])


def test_only_a_job_that_ended_long_ago_is_deleted() -> None:
    job("old.failed", status="failed", days_ago=31)
    job("old.cancelled", status="cancelled", days_ago=31)
    job("new.failed", status="failed", days_ago=29)
    job("old.waiting", status="todo", days_ago=31)
    job("old.running", status="doing", days_ago=31)
    assert retention.purge(now=make.NOW) == 2
    left = set(ProcrastinateJob.objects.values_list("task_name", flat=True))
    assert left == {"new.failed", "old.waiting", "old.running"}


def test_no_statement_deletes_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", 2)
    old = [Counter(key=str(n), count=1, expires_at=make.NOW - DAY) for n in range(5)]
    Counter.objects.bulk_create(old)
    for number in range(5):
        job(f"job.{number}", status="failed", days_ago=31)
    with CaptureQueriesContext(connection) as queries:
        assert retention.purge(now=make.NOW) == 10
    deletes = [query["sql"] for query in queries if query["sql"].strip().startswith("DELETE")]
    assert len(deletes) >= 6
    assert all("LIMIT 2" in sql for sql in deletes)
