"""A login to the admin ends after eight hours, and after thirty minutes without a request."""

from datetime import datetime, timedelta
from unittest.mock import patch

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import LoginSession, User
from apps.core.audit import Action
from apps.core.models import AuditRecord
from tests import make

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
BEGAN = datetime(2026, 11, 20, 9, 30, tzinfo=make.NOW.tzinfo)


def at(moment: datetime, client: Client, path: str = "/admin/") -> int:
    with patch.object(timezone, "now", return_value=moment):
        return client.get(path).status_code


def log_in(client: Client, user: User, password: str = make.PASSWORD) -> HttpResponse:
    return client.post("/admin/login/", {"username": user.email, "password": password})  # type: ignore[return-value]  # the client adds its own attributes


@pytest.fixture
def client(olga: User) -> Client:
    """Return a client signed in by the form at BEGAN."""
    client = Client()
    with patch.object(timezone, "now", return_value=BEGAN):
        assert log_in(client, olga).status_code == 302
    return client


def test_a_session_ends_thirty_minutes_after_the_last_request(client: Client) -> None:
    assert at(BEGAN + 30 * MINUTE - SECOND, client) == 200
    assert at(BEGAN + 60 * MINUTE - 2 * SECOND, client) == 200
    assert at(BEGAN + 90 * MINUTE - 2 * SECOND, client) == 302
    assert at(BEGAN + 90 * MINUTE - SECOND, client) == 302


def test_a_session_ends_after_thirty_minutes_without_any_request(client: Client) -> None:
    assert at(BEGAN + 30 * MINUTE, client) == 302


def test_a_session_ends_after_eight_hours_of_work(client: Client) -> None:
    for minutes in range(29, 480, 29):
        assert at(BEGAN + minutes * MINUTE, client) == 200
    assert at(BEGAN + 480 * MINUTE - SECOND, client) == 200
    assert at(BEGAN + 480 * MINUTE, client) == 302


def test_a_static_file_does_not_extend_the_session(client: Client) -> None:
    with patch.object(timezone, "now", return_value=BEGAN + 29 * MINUTE):
        list(client.get("/static/admin/css/base.css"))
    assert at(BEGAN + 31 * MINUTE, client) == 302


def test_a_new_login_restarts_the_session_and_a_wrong_password_does_not(
    client: Client, olga: User
) -> None:
    for minutes in range(29, 475, 29):
        assert at(BEGAN + minutes * MINUTE, client) == 200
    with patch.object(timezone, "now", return_value=BEGAN + 475 * MINUTE):
        assert log_in(client, olga, "wrong").status_code == 200
    assert at(BEGAN + 480 * MINUTE, client) == 302
    with patch.object(timezone, "now", return_value=BEGAN + 481 * MINUTE):
        assert log_in(client, olga).status_code == 302
    assert at(BEGAN + 500 * MINUTE, client) == 200


@pytest.mark.parametrize(
    ("used", "ended_at", "reason"), [([], 30, "idle"), (list(range(29, 480, 29)), 480, "age")]
)
def test_its_end_is_on_record(
    client: Client, olga: User, used: list[int], ended_at: int, reason: str
) -> None:
    for minutes in used:
        at(BEGAN + minutes * MINUTE, client)
    at(BEGAN + ended_at * MINUTE, client)
    record = AuditRecord.objects.latest("id")
    assert (record.action, record.actor_kind) == (Action.ADMIN_LOGOUT, "system")
    assert (record.object_id, record.details) == (olga.pk, {"reason": reason})


def test_the_login_of_the_interface_in_the_same_browser_continues(olga: User) -> None:
    browser = APIClient()
    body = {"email": olga.email, "password": make.PASSWORD, "sessionCookie": True}
    now = timezone.now()
    cookie = browser.post("/api/auth/login", body, format="json").cookies["sessionid"]
    assert cookie["max-age"] == 7 * 24 * 3600
    assert log_in(browser, olga).status_code == 302
    assert at(now + 9 * 60 * MINUTE, browser) == 302
    for days in (1, 6):
        assert at(now + timedelta(days=days), browser, "/api/auth/profile") == 200
    assert at(now + timedelta(days=8), browser, "/api/auth/profile") == 401
    assert LoginSession.objects.count() == 1
