"""POST /hooks/<secret>."""

import json
import re
from ipaddress import ip_network

import pytest
from django.core.cache import caches
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client import generate_latest
from pytest_django import Settings

from apps.accounts.models import User
from apps.alerts import services
from apps.alerts.models import AlertMessage, ReceivedAlert
from apps.core.models import AuditRecord
from apps.ops.monitoring import metrics
from tests.alerts.messages import SECRET, make_hook, send
from tests.error_responses import assert_error

# Windows of an hour: one of a minute may end in the middle of a test.
LIMITED = {"alerts": "60/h", "pages": "300/h"}


@pytest.fixture
def limits(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, **LIMITED}
    caches["process"].clear()


def test_an_alert_is_stored_and_answered_at_once(alice: User) -> None:
    make_hook(alice)
    response = send('{"name": "buy", "symbol": "NSE:INFY", "price": 1500.5}')
    assert response.status_code == 202
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"received": True}
    alert = ReceivedAlert.objects.get()
    assert (alert.owner, alert.name, alert.symbol) == (alice, "buy", "NSE:INFY")
    assert abs((timezone.now() - alert.received_at).total_seconds()) < 60


def test_a_copy_gets_the_same_answer(alice: User) -> None:
    make_hook(alice)
    answers = [send('{"name": "buy", "id": "7"}') for _ in range(3)]
    assert [(answer.status_code, answer.content) for answer in answers] == [
        (202, b'{"received":true}')
    ] * 3
    assert ReceivedAlert.objects.count() == 1


@pytest.mark.parametrize(
    ("format", "body"),
    [
        ("json", '{"name": "buy", "symbol": "NSE:INFY"}'),
        ("tradingview", '{"name": "buy", "ticker": "INFY", "exchange": "NSE"}'),
        ("tradingview", "buy NSE:INFY"),
        ("chartink", '{"alert_name": "buy", "stocks": "INFY", "trigger_prices": "1500"}'),
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        "text/plain; charset=utf-8",
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/octet-stream",
        "what is this",
        "",
    ],
)
def test_each_format_is_read_whatever_type_its_body_claims(
    alice: User, format: str, body: str, kind: str
) -> None:
    make_hook(alice, format=format)
    response = send(body.encode(), content_type=kind)
    assert response.status_code == 202, response.content
    alert = ReceivedAlert.objects.get()
    assert (alert.name, alert.symbol) == ("buy", "NSE:INFY")


@pytest.mark.parametrize("accept", ["text/html", "text/plain", "image/png", "application/json;q=0"])
def test_the_answer_is_json_whatever_is_accepted(alice: User, accept: str) -> None:
    make_hook(alice)
    assert send(headers={"Accept": accept}).json() == {"received": True}
    assert_error(send(secret="ah_unknown", headers={"Accept": accept}), 404, "NOT_FOUND")


def test_what_cannot_be_read_is_kept_and_refused(alice: User) -> None:
    make_hook(alice)
    error = assert_error(
        send('{"name": "buy", "symbol": "INFY"}'), 400, "VALIDATION_ERROR", field="symbol"
    )
    assert AlertMessage.objects.get().refusal == error["message"]
    assert_error(send("buy"), 400, "VALIDATION_ERROR")
    assert_error(send(""), 400, "VALIDATION_ERROR")
    assert AlertMessage.objects.count() == 3
    assert not ReceivedAlert.objects.exists()


# Who may send.


def test_addresses_that_take_nothing_get_one_answer_after_the_same_statements(
    alice: User, limits: None
) -> None:
    make_hook(alice, secret="ah_ended", ended_at=timezone.now())
    make_hook(alice, secret="ah_elsewhere", networks=["203.0.113.0/24"])
    for number in range(2):
        send(secret=f"ah_{number}")  # the counter of the address is made, and remembered
    answers = set()
    for secret in ("ah_unknown", "ah_ended", "ah_elsewhere", "x", "ah_" + "é" * 2_000):
        with CaptureQueriesContext(connection) as captured:
            response = send(secret=secret)
        error = assert_error(response, 404, "NOT_FOUND")
        statements = tuple(_without_values(query["sql"]) for query in captured)
        assert any("alerts_alerthook" in statement for statement in statements)
        answers.add((error["message"], tuple(sorted(response.headers)), statements))
    assert len(answers) == 1
    assert not AlertMessage.objects.exists()


def _without_values(statement: str) -> str:
    return re.sub(r"'[^']*'", "?", statement)


@pytest.mark.parametrize(
    ("networks", "peer", "forwarded", "status"),
    [
        (["203.0.113.0/24"], "203.0.113.7", "", 202),
        (["203.0.113.0/24", "198.51.100.9/32"], "198.51.100.9", "", 202),
        (["203.0.113.0/24"], "198.51.100.9", "", 404),
        (["203.0.113.0/24"], "198.51.100.9", "203.0.113.7", 404),
        (["203.0.113.0/24"], "10.0.0.1", "203.0.113.7", 202),
        (["203.0.113.0/24"], "10.0.0.1", "203.0.113.7, 198.51.100.9", 404),
        (["2001:db8::/32"], "2001:db8::7", "", 202),
        (["2001:db8::/32"], "::ffff:203.0.113.7", "", 404),
        (["203.0.113.0/24"], "::ffff:203.0.113.7", "", 202),
        (["203.0.113.0/24"], "", "", 404),
    ],
)
def test_a_hook_with_networks_takes_alerts_from_them_alone(
    alice: User, settings: Settings, *, networks: list[str], peer: str, forwarded: str, status: int
) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    make_hook(alice, networks=networks)
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    assert send(REMOTE_ADDR=peer, headers=headers).status_code == status


def test_credentials_and_cookies_change_nothing(alice: User) -> None:
    make_hook(alice)
    client = Client(enforce_csrf_checks=True)
    client.cookies["sessionid"] = client.cookies["csrftoken"] = "x" * 32
    response = client.post(
        f"/hooks/{SECRET}",
        b'{"name": "buy"}',
        content_type="application/json",
        headers={"Authorization": "Bearer nonsense", "Origin": "https://evil.example"},
    )
    assert response.status_code == 202
    assert not response.cookies
    assert "Access-Control-Allow-Origin" not in response


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
@pytest.mark.django_db
def test_other_methods_are_refused(method: str) -> None:
    response = Client().generic(method, f"/hooks/{SECRET}", headers={"Accept": "text/html"})
    assert response.status_code == 405
    assert "POST" in response["Allow"]
    if method != "HEAD":
        assert_error(response, 405, "VALIDATION_ERROR", reason="method_not_allowed")


@pytest.mark.parametrize("path", ["/hooks", "/hooks/", f"/hooks/{SECRET}/", f"/hooks/a/{SECRET}"])
@pytest.mark.django_db
def test_no_other_address_is_a_hook(path: str) -> None:
    response = Client().post(path, "buy", content_type="text/plain")
    assert_error(response, 404, "NOT_FOUND")


# Limits.


def test_a_body_has_at_most_64_kb(alice: User) -> None:
    make_hook(alice, format="tradingview")
    body = {"name": "buy", "comment": ""}
    body["comment"] = "x" * (64 * 1024 - len(json.dumps(body)))
    assert send(json.dumps(body)).status_code == 202
    assert_error(send(json.dumps(body) + " "), 413, "VALIDATION_ERROR", reason="payload_too_large")
    chunked = send(headers={"Transfer-Encoding": "chunked"})
    assert_error(chunked, 411, "VALIDATION_ERROR", reason="length_required")


def test_a_secret_takes_60_messages_in_a_window(alice: User, limits: None) -> None:
    make_hook(alice)
    make_hook(alice, secret="ah_other")
    for number in range(60):
        response = send(
            json.dumps({"name": "buy", "id": number}), REMOTE_ADDR=f"203.0.113.{number}"
        )
        assert response.status_code == 202
        assert response["X-RateLimit-Limit"] == "60"
        assert response["X-RateLimit-Remaining"] == str(59 - number)
    response = send()
    assert_error(response, 429, "TOO_MANY_REQUESTS")
    assert 1 <= int(response["Retry-After"]) <= 3600
    assert response["X-RateLimit-Remaining"] == "0"
    assert int(response["X-RateLimit-Reset"]) > timezone.now().timestamp() - 1
    assert send(secret="ah_other").status_code == 202
    assert AlertMessage.objects.count() == 61


@pytest.mark.django_db
def test_an_unknown_secret_is_counted_too(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "alerts": "2/h"}
    answers = [send() for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]
    assert [answer["X-RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]


def test_only_guesses_count_for_their_address(alice: User, settings: Settings) -> None:
    """All alerts of TradingView's users come from a few addresses."""
    make_hook(alice)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "pages": "2/h"}
    caches["process"].clear()
    answers = [send(secret=f"ah_{number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]
    assert "Retry-After" in answers[2]
    assert [send().status_code for _ in range(4)] == [202] * 4
    caches["process"].clear()


@pytest.mark.parametrize("closing", ["maintenance", "full_disk"])
def test_a_closed_service_takes_no_alerts(alice: User, settings: Settings, closing: str) -> None:
    make_hook(alice)
    if closing == "maintenance":
        settings.MAINTENANCE = True
    else:
        settings.DISK_RESERVE = 2**60
    response = send(headers={"Accept": "text/html"})
    assert_error(response, 503, "SERVICE_UNAVAILABLE")
    assert "Retry-After" in response
    assert not AlertMessage.objects.exists()


# Headers and the log.


def test_answers_are_neither_stored_nor_passed_on(alice: User) -> None:
    make_hook(alice)
    for response in (send(), send("buy"), send(secret="ah_unknown"), send("x" * 70_000)):
        assert response["Cache-Control"] == "no-store"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Referrer-Policy"] == "no-referrer"
        assert response["X-Request-ID"]


def test_the_secret_is_in_no_line_of_the_log(
    alice: User,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    service_log: pytest.LogCaptureFixture,
) -> None:
    make_hook(alice)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "alerts": "5/h"}

    def fail(error: Exception) -> None:
        def raising(**_: object) -> None:
            raise error

        monkeypatch.setattr(services, "receive_message", raising)

    answers = [send(), send("buy"), send("x" * 70_000), send(secret=f"{SECRET}/")]
    fail(OperationalError(f"lost at /hooks/{SECRET}"))
    answers.append(send())
    fail(RuntimeError(f"no such path: /hooks/{SECRET}?x=1"))
    answers.append(send())
    settings.MAINTENANCE = True
    answers.append(send())
    settings.MAINTENANCE = False
    answers += [send(), send()]
    client = Client(raise_request_exception=False)
    answers += [client.get(f"/hooks/{SECRET}"), client.get(f"/app/hooks/{SECRET}")]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [202, 400, 413, 404, 503, 500, 503, 500, 429, 405, 404]
    assert SECRET not in service_log.text
    assert SECRET[:20] not in service_log.text
    lines = [json.loads(line) for line in service_log.text.splitlines()]
    messages = [line["message"] for line in lines if line["logger"] == "request"]
    assert messages[:4] == [f"POST /hooks/… {status}" for status in (202, 400, 413, 404)]
    # Django itself writes the address of what failed.
    assert {line["logger"] for line in lines} >= {"request", "django.request"}
    assert any("no such path: /hooks/…" in str(line.get("exc_info")) for line in lines)


def test_the_secret_is_in_no_record_and_no_metric(alice: User, settings: Settings) -> None:
    make_hook(alice)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "alerts": "1/h"}
    assert [send().status_code, send().status_code] == [202, 429]
    assert SECRET not in str(list(AuditRecord.objects.values()))
    assert AuditRecord.objects.filter(action="limit_hit").count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(key, ' ') FROM core_counter")
        assert SECRET not in str(cursor.fetchone())
    text = generate_latest(metrics.REGISTRY).decode()
    assert 'route="/hooks/{secret}"' in text
    assert SECRET not in text
