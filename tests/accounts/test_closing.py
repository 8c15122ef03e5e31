"""Closing an account, and the archive of its data."""

import csv
import io
import json
import random
import string
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts import tasks
from apps.accounts.models import DataExport, ExportChunk, SessionEndReason, User
from apps.accounts.own_data import closing, exports, retention
from apps.alerts.models import ReceivedAlert
from apps.algorithms.models import Algorithm
from apps.core.audit import Action
from apps.core.files import personal_data
from apps.core.models import AuditRecord
from apps.trading.tasks import stop_algorithms_of
from tests import make
from tests.alerts.hooks import alert_in, hook_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles
from tests.trading.algorithm_states import algorithm_in

PROFILE, EXPORT = "/api/auth/profile", "/api/auth/export"


def log_in(api: Api, user: User) -> Any:
    return api().post("/api/auth/login", {"email": user.email, "password": make.PASSWORD})


def test_closing_ends_sessions_and_keys_and_stops_running_algorithms(api: Api, alice: User) -> None:
    algorithm, client = algorithm_in(alice, "active"), api(alice)
    client.post("/api/auth/keys", {"name": "A key", "scopes": ["read"]})
    response = client.delete(PROFILE)
    assert response.status_code == 200
    assert response.cookies["refreshToken"]["max-age"] == "0"
    assert_error(client.get(PROFILE), 401, "UNAUTHORIZED")
    assert set(alice.sessions.values_list("end_reason", flat=True)) == {SessionEndReason.CLOSED}
    assert not alice.keys.filter(revoked_at=None).exists()
    stop_algorithms_of(**ProcrastinateJob.objects.get(task_name=closing.CLOSE_JOB).args)
    algorithm.refresh_from_db()
    assert algorithm.status == "stopped"
    assert not algorithm.runs.live().exists()


def test_closing_needs_the_password(api: Api, alice: User) -> None:
    client = api(alice)
    alice.sessions.update(proved_at=timezone.now() - timedelta(hours=1))
    for _ in range(2):
        refused = client.delete(PROFILE)
        assert_error(refused, 403, "FORBIDDEN", reason="recent_proof_required")
        client.post("/api/auth/proof", {"password": "a guess"})
    alice.refresh_from_db()
    assert alice.erase_at is None


def test_a_login_within_seven_days_undoes_closing(api: Api, alice: User) -> None:
    closing.close_account(user=alice, now=timezone.now() - timedelta(days=6))
    assert log_in(api, alice).status_code == 200
    assert closing.erase_due(now=timezone.now() + timedelta(days=30)) == 0
    assert User.objects.filter(pk=alice.pk).exists()
    assert AuditRecord.objects.filter(action=Action.ACCOUNT_REOPENED).count() == 1


def test_algorithms_keep_running_if_closing_is_undone(alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    stop_algorithms_of(user_id=alice.pk)
    algorithm.refresh_from_db()
    assert algorithm.status == "active"


def test_after_seven_days_nothing_of_the_account_is_left_but_the_audit(
    api: Api, alice: User, bob: User
) -> None:
    algorithm_in(alice, "active")
    kept = make.algorithm(bob)
    alert_in(hook_of(alice))
    kept_alert = alert_in(hook_of(bob))
    api(alice).post("/api/auth/keys", {"name": "A key", "scopes": ["read"]})
    closing.close_account(user=alice, now=timezone.now() - timedelta(days=7, seconds=1))
    retention.purge(now=timezone.now())
    assert not User.objects.filter(pk=alice.pk).exists()
    assert list(Algorithm.objects.values_list("pk", flat=True)) == [kept.pk]
    assert list(ReceivedAlert.objects.values_list("pk", flat=True)) == [kept_alert.pk]
    for model, path in personal_data.paths_to_user().items():
        assert not model._default_manager.filter(**{path: alice.pk}).exists(), model
    assert AuditRecord.objects.filter(actor=alice.pk).exists()
    assert log_in(api, alice).status_code == 401


def archive_of(api: Api, user: User) -> zipfile.ZipFile:
    client = api(user)
    asked = client.post(EXPORT)
    assert asked.status_code == 201
    path = asked.json()["archive"]
    assert_error(client.get(path), 409, "CONFLICT")
    again = client.post(EXPORT)
    assert again.json()["id"] == asked.json()["id"]  # one is being made already
    tasks.export_data(export_id=asked.json()["id"])
    assert client.get(path.removesuffix("/archive")).json()["readyAt"]
    response = client.get(path)
    assert (response.status_code, response["Content-Type"]) == (200, "application/zip")
    archive = response.getvalue()
    assert response["Content-Length"] == str(len(archive))
    return zipfile.ZipFile(io.BytesIO(archive))


def test_an_archive_has_everything_of_the_users_and_nothing_of_others(
    api: Api, alice: User, bob: User
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    algorithm = make.algorithm(alice, name="=HYPERLINK(1)", **make.steps())
    make.algorithm(bob, name="Bob's own")
    alert_in(hook_of(bob, name="Bob's hook"), "Bob's alert")
    hook = hook_of(alice)
    alert = alert_in(hook, "Breakout", "NSE:TCS")
    submit(alice, algorithm.pk)
    run_queued()
    archive = archive_of(api, alice)
    stored = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {
        "accounts_user.json",
        "algorithms_algorithm.csv",
        "backtests_backtest.csv",
        "trades_of_backtests.csv",
        "alerts_alerthook.csv",
        "alerts_alertmessage.csv",
        "alerts_receivedalert.csv",
    } <= set(stored)
    (row,) = json.loads(stored["algorithms_algorithm.json"])
    assert (row["id"], row["name"]) == (algorithm.pk, "=HYPERLINK(1)")
    (line,) = csv.DictReader(io.StringIO(stored["algorithms_algorithm.csv"]))
    assert line["name"] == "'=HYPERLINK(1)"
    trades = json.loads(stored["trades_of_backtests.json"])
    assert len(trades) > 0
    (row,) = json.loads(stored["alerts_receivedalert.json"])
    assert (row["id"], row["name"], row["symbol"]) == (alert.pk, "Breakout", "NSE:TCS")
    (row,) = json.loads(stored["alerts_alertmessage.json"])
    assert (row["hook_id"], row["body"]) == (hook.pk, '{"name": "Breakout"}')
    contents = "".join(stored.values())
    assert hook.secret_digest not in contents
    assert "Bob" not in contents
    assert alice.password not in contents


def test_an_archive_is_sent_in_chunks_of_a_megabyte(api: Api, alice: User) -> None:
    for number in range(30):
        description = "".join(random.Random(number).choices(string.printable, k=100_000))
        Algorithm.objects.filter(pk=make.algorithm(alice).pk).update(description=description)
    archive = archive_of(api, alice)
    assert archive.testzip() is None
    assert len(json.loads(archive.read("algorithms_algorithm.json"))) == 30
    assert "accounts_exportchunk.csv" not in archive.namelist()
    sizes = [len(chunk.data) for chunk in ExportChunk.objects.order_by("number")]
    assert len(sizes) > 2
    assert set(sizes[:-1]) == {exports.CHUNK_BYTES}
    assert 0 < sizes[-1] <= exports.CHUNK_BYTES


def test_an_archive_replaces_the_last_an_hour_later(api: Api, alice: User) -> None:
    archive_of(api, alice)
    first = DataExport.objects.get()
    refused = api(alice).post(EXPORT)
    error = assert_error(refused, 429, "TOO_MANY_REQUESTS")
    assert 3500 < error["retryAfter"] <= 3600
    DataExport.objects.update(created_at=first.created_at - exports.INTERVAL)
    assert api(alice).post(EXPORT).status_code == 201
    assert DataExport.objects.get().pk != first.pk
    assert not ExportChunk.objects.exists()
    usage = {row["resource"]: row for row in api(alice).get("/api/auth/limits").json()["limits"]}
    assert usage["exports"] == {"resource": "exports", "limit": 1, "used": 1}


def test_an_archive_whose_job_was_lost_can_be_requested_again(api: Api, alice: User) -> None:
    lost = api(alice).post(EXPORT).json()["id"]
    DataExport.objects.update(created_at=timezone.now() - exports.INTERVAL)
    assert api(alice).post(EXPORT).json()["id"] != lost


def test_an_archive_is_gone_after_a_day(api: Api, alice: User) -> None:
    archive_of(api, alice)
    DataExport.objects.update(expires_at=timezone.now())
    export = DataExport.objects.get()
    assert_error(api(alice).get(f"{EXPORT}/{export.pk}"), 404, "NOT_FOUND")
    retention.purge(now=timezone.now())
    assert not DataExport.objects.exists()


@pytest.mark.django_db
def test_every_table_that_refers_to_users_is_in_the_archive() -> None:
    paths = personal_data.paths_to_user()
    for model in apps.get_models():
        refers = any(
            field.related_model in paths and not field.null
            for field in model._meta.concrete_fields
            if field.is_relation
        )
        assert refers <= (model in paths), model
