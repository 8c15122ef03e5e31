"""Processes, their silence, and the backlog: in /readyz, in /metrics, and on a page for people."""

import os
import re
import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import ProgrammingError, connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.core import audit
from apps.core.audit import Action
from apps.core.jobs import job_queue
from apps.core.machine.process import MACHINE
from apps.ops.models import ServiceProcess
from apps.ops.monitoring.backlog import read_backlog
from apps.ops.processes import presence
from tests import make
from tests.ops.test_metrics import samples, value

ROLES: Final = Path(__file__).resolve().parents[2] / "config" / "deploy" / "roles.sql"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def embedded(settings: Settings) -> None:
    """The tests' database role is a superuser."""
    settings.EMBEDDED_DATABASE = True


def beat(role: str = "backtests") -> None:
    presence.report(role, now=timezone.now())


def freeze(seconds: int) -> None:
    ServiceProcess.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=seconds))


def status() -> str:
    said = StringIO()
    call_command("status", stdout=said)
    return said.getvalue()


def test_a_frozen_worker_is_noticed(settings: Settings) -> None:
    beat()
    assert Client().get("/readyz").json() == {
        "status": "ok",
        "checks": {"database": "ok", "migrations": "ok", "queue": "ok"},
    }
    assert value("algotrade_processes", role="backtests", state="alive") == 1
    assert f"backtests          {os.getpid():8} {settings.VERSION} works" in status()
    freeze(45)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    reason = rf"not heard of: backtests {os.getpid()} on {MACHINE} for (4[5-9]|5\d) s"
    assert re.fullmatch(reason, answer.json()["checks"]["processes"])
    stranger = Client(REMOTE_ADDR="203.0.113.9").get("/readyz")
    assert stranger.json()["checks"]["processes"] == "degraded"
    assert value("algotrade_processes", role="backtests", state="silent") == 1
    with pytest.raises(CommandError, match=reason):
        status()
    beat()
    assert Client().get("/readyz").json()["status"] == "ok"


def test_a_process_that_has_ended_is_forgotten_by_its_machine_or_after_a_while() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    rows = [("elsewhere", ended.pid), (MACHINE, ended.pid)]
    for machine, pid in rows:
        ServiceProcess.objects.create(
            machine=machine, pid=pid, role="web", version="1", key_fingerprint="", clock_ahead=0
        )
    beat()
    assert set(ServiceProcess.objects.values_list("machine", "pid")) == {
        ("elsewhere", ended.pid),
        (MACHINE, os.getpid()),
    }
    freeze(601)
    beat()
    assert ServiceProcess.objects.get().pid == os.getpid()
    with presence.present("web"):
        pass
    assert not ServiceProcess.objects.exists()


def test_a_role_that_could_do_more_than_serve_is_a_concern(settings: Settings) -> None:
    settings.EMBEDDED_DATABASE = False
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert "is a superuser" in answer.json()["checks"]["role"]


def test_the_role_of_the_deployment_changes_neither_schema_nor_audit_log(
    settings: Settings,
) -> None:
    settings.EMBEDDED_DATABASE = False
    statements = ROLES.read_text().replace(":'password'", "'of the service'")
    with connection.cursor() as cursor:
        cursor.execute(statements)
        cursor.execute("SET LOCAL ROLE algotrade_service")
        user = make.user()
        audit.record(Action.SIGNUP, user, actor=audit.user(user), now=make.NOW)
        assert "role" not in Client().get("/readyz").json()["checks"]
        for statement in (
            "UPDATE core_auditrecord SET action = 'other'",
            "DELETE FROM core_auditrecord",
            "ALTER TABLE accounts_user ADD COLUMN other int",
            "CREATE TABLE other ()",
            "DROP TABLE accounts_user",
        ):
            refusal = pytest.raises(ProgrammingError, match=r"permission denied|must be owner")
            with refusal, transaction.atomic():
                cursor.execute(statement)


def test_a_full_disk_is_reported_and_allows_reads(settings: Settings) -> None:
    settings.DISK_RESERVE = 2**60
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert "calls that write are refused" in answer.json()["checks"]["disk"]
    assert presence.idle_reason() == "disk_full"


def test_waiting_jobs_are_counted_by_queue() -> None:
    job_queue.enqueue("backtests.use_slot", queue="backtests", arguments=[{}, {}])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_events SET at = at - interval '90 seconds'")
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'doing'"
            " WHERE id = (SELECT max(id) FROM procrastinate_jobs)"
        )
    counts = read_backlog().queues["backtests"]
    assert (counts.waiting, counts.stalled) == (1, 1)
    assert 89 < counts.oldest_seconds < 120
    assert value("algotrade_queue_waiting", queue="backtests") == 1
    assert value("algotrade_queue_stalled", queue="backtests") == 1
    assert value("algotrade_queue_oldest_seconds", queue="small") == 0
    names = {name for name, _ in samples()}
    assert {"algotrade_deliveries_due", "algotrade_live_bar_lag_seconds"} <= names
    assert "backtests 1 jobs wait, the oldest for 0:01:" in status()


def test_a_link_out_of_the_data_folder_is_reported(settings: Settings, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "data"
    outside.mkdir()
    folder.mkdir()
    (folder / "pg18").symlink_to(outside)
    settings.DATA_DIR = folder
    assert f"pg18 is a link to {outside}" in status()


def test_a_machine_without_a_data_folder_has_a_status(settings: Settings, tmp_path: Path) -> None:
    """The machine has neither the database nor the secret: DATABASE_URL and SECRET_KEY are set."""
    settings.DATA_DIR = tmp_path / "never made"
    settings.EMBEDDED_DATABASE = False
    assert f"DATA_DIR  {settings.DATA_DIR}" in status()
