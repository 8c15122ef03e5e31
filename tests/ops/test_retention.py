"""The nightly purge: its apps, and its time."""

from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter
from procrastinate.contrib.django import app

from apps.core.models import Counter
from apps.ops import retention, tasks
from apps.ops.processes.worker import QUEUES
from tests import make


@pytest.mark.django_db
def test_the_purge_uses_its_due_time_as_the_clock() -> None:
    for key, expires in (("old", make.NOW - timedelta(seconds=1)), ("new", make.NOW)):
        Counter.objects.create(key=key, count=1, expires_at=expires)
    tasks.purge(int(make.NOW.timestamp()))
    assert Counter.objects.get().key == "new"


@pytest.mark.django_db
def test_every_app_is_purged_and_counts_its_rows() -> None:
    assert retention.purge_all(now=make.NOW) == {
        "accounts": 0,
        "algorithms": 0,
        "backtests": 0,
        "core": 0,
        "trading": 0,
        "webhooks": 0,
    }


def test_retention_is_queued_at_night_in_india_on_a_worked_queue() -> None:
    registry = app.periodic_registry.periodic_tasks
    periodic = registry[tasks.purge.name, ""]
    assert periodic.task.queue in QUEUES["small"]
    due = croniter(periodic.cron, datetime(2026, 11, 2, tzinfo=UTC)).get_next(datetime)
    assert due == datetime(2026, 11, 2, 21, 17, tzinfo=UTC)
