"""/api/trading/alert-hooks and /api/trading/alerts"""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from apps.accounts.models import User
from apps.alerts.hooks import digest_of_secret
from apps.alerts.models import AlertClock, AlertHook, ReceivedAlert
from apps.core.models import AuditRecord, IdempotencyKey
from tests import make
from tests.alerts.hooks import alert_in, hook_of, message_to
from tests.conftest import Api
from tests.error_responses import assert_error

HOOKS = "/api/trading/alert-hooks"
ALERTS = "/api/trading/alerts"
GOOD = {
    "name": "Breakouts",
    "format": "chartink",
    "networks": ["203.0.113.0/24", "2001:db8::/32"],
    "expectedBy": "15:00",
}


def secret_in(url: str, settings: Settings) -> str:
    start = f"{settings.PUBLIC_URL}/hooks/"
    assert url.startswith(start + "ah_")
    return url.removeprefix(start)


def test_the_address_is_shown_once_and_its_secret_is_stored_as_a_digest(
    api: Api, alice: User, settings: Settings
) -> None:
    settings.PUBLIC_URL = "https://trade.example.com"
    client = api(alice)
    made = client.post(HOOKS, GOOD)
    assert made.status_code == 201
    body = made.json()
    secret = secret_in(body.pop("url"), settings)
    assert len(secret) > 40
    assert body == {"id": body["id"], **GOOD, "createdAt": body["createdAt"]}
    assert client.get(f"{HOOKS}/{body['id']}").json() == body
    assert client.get(HOOKS).json()["data"] == [body]
    hook = AlertHook.objects.get()
    assert hook.secret_digest == digest_of_secret(secret)
    stored = [*AlertHook.objects.values(), *AuditRecord.objects.values()]
    assert secret not in str(stored)
    assert AlertClock.objects.get().owner_id == alice.pk


def test_a_hook_needs_only_a_name_and_a_format(api: Api, alice: User) -> None:
    body = api(alice).post(HOOKS, {"name": "Mine", "format": "json"}).json()
    assert (body["networks"], body["expectedBy"]) == ([], None)


def test_a_repeated_request_makes_one_hook_and_its_answer_is_encrypted(
    api: Api, alice: User
) -> None:
    client = api(alice)
    answers = [client.post(HOOKS, GOOD, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert AlertHook.objects.count() == 1
    assert b"/hooks/" not in bytes(IdempotencyKey.objects.get().body or b"")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "x" * 101}, "name"),
    ({"name": "a\0b"}, "name"),
    ({"format": "xml"}, "format"),
    ({"format": None}, "format"),
    ({"networks": "203.0.113.0/24"}, "networks"),
    ({"networks": ["10.0.0.0/8", "203.0.113.7/24"]}, "networks[1]"),
    ({"networks": ["2001:db8::1/32"]}, "networks[0]"),
    ({"networks": ["everywhere"]}, "networks[0]"),
    ({"networks": [7]}, "networks[0]"),
    ({"networks": ["10.0.0.0/8"] * 21}, "networks"),
    ({"expectedBy": "24:00"}, "expectedBy"),
    ({"expectedBy": "15:00:00"}, "expectedBy"),
    ({"expectedBy": 15}, "expectedBy"),
    ({"secret": "ah_mine"}, "secret"),
]


@pytest.mark.parametrize(("changed", "field"), WRONG)
def test_a_wrong_hook_is_refused_with_the_field(
    api: Api, alice: User, changed: dict[str, Any], field: str
) -> None:
    client, hook = api(alice), hook_of(alice)
    for answer in (
        client.post(HOOKS, GOOD | changed),
        client.patch(f"{HOOKS}/{hook.pk}", changed),
    ):
        assert_error(answer, 400, "VALIDATION_ERROR", field=field)
    assert AlertHook.objects.count() == 1


def test_named_fields_change_and_the_others_stay(api: Api, alice: User) -> None:
    hook = hook_of(alice, expected_by="15:00")
    client, path = api(alice), f"{HOOKS}/{hook.pk}"
    before = client.get(path).json()
    renamed = client.patch(path, {"name": "Banks"}).json()
    assert renamed == {**before, "name": "Banks"}
    body = client.patch(path, {"expectedBy": None, "networks": ["10.0.0.0/8"]}).json()
    assert body == {**renamed, "expectedBy": None, "networks": ["10.0.0.0/8"]}
    assert client.get(path).json() == body
    digest = hook.secret_digest
    hook.refresh_from_db()
    assert hook.secret_digest == digest


def test_a_new_secret_ends_the_old_one_at_once(api: Api, alice: User, settings: Settings) -> None:
    hook = hook_of(alice)
    before = hook.secret_digest
    body = api(alice).post(f"{HOOKS}/{hook.pk}/rotate-secret").json()
    hook.refresh_from_db()
    assert hook.secret_digest == digest_of_secret(secret_in(body["url"], settings)) != before


def test_a_deleted_hook_is_gone_and_its_alerts_stay(api: Api, alice: User) -> None:
    client, hook = api(alice), hook_of(alice)
    alert = alert_in(hook)
    assert client.delete(f"{HOOKS}/{hook.pk}").status_code == 204
    for path in (f"{HOOKS}/{hook.pk}", f"{HOOKS}/{hook.pk}/messages"):
        assert_error(client.get(path), 404, "NOT_FOUND")
    for refused in (
        client.delete(f"{HOOKS}/{hook.pk}"),
        client.patch(f"{HOOKS}/{hook.pk}", {"name": "Mine"}),
        client.post(f"{HOOKS}/{hook.pk}/rotate-secret"),
    ):
        assert_error(refused, 404, "NOT_FOUND")
    assert client.get(HOOKS).json()["data"] == []
    for query in ("", f"?hookId={hook.pk}"):
        assert [row["id"] for row in client.get(ALERTS + query).json()["data"]] == [alert.pk]


def test_a_user_has_at_most_so_many_hooks(api: Api, alice: User, settings: Settings) -> None:
    assert settings.QUOTAS["alertHooks"] == 20
    settings.QUOTAS = {**settings.QUOTAS, "alertHooks": 1}
    client = api(alice)
    first = client.post(HOOKS, GOOD).json()["id"]
    refused = client.post(HOOKS, GOOD)
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY", resource="alertHooks", limit=1, used=1)
    client.delete(f"{HOOKS}/{first}")
    assert client.post(HOOKS, GOOD).status_code == 201


def test_messages_are_listed_newest_first_with_their_alerts_or_their_refusal(
    api: Api, alice: User
) -> None:
    hook, other = hook_of(alice), hook_of(alice)
    alert = alert_in(hook, "Breakout", "NSE:TCS")
    later = make.NOW + timedelta(minutes=1)
    refused = message_to(hook, at=later, refusal="The body is not JSON.")
    message_to(other)
    rows = api(alice).get(f"{HOOKS}/{hook.pk}/messages").json()["data"]
    assert rows == [
        {
            "id": refused.pk,
            "receivedAt": "2026-11-02T04:01:00.000Z",
            "body": '{"name": "Breakout"}',
            "refusal": "The body is not JSON.",
            "copies": 0,
            "lastCopyAt": None,
            "alerts": [],
        },
        {
            "id": alert.message_id,
            "receivedAt": "2026-11-02T04:00:00.000Z",
            "body": '{"name": "Breakout"}',
            "refusal": None,
            "copies": 0,
            "lastCopyAt": None,
            "alerts": [
                {
                    "id": alert.pk,
                    "hookId": hook.pk,
                    "messageId": alert.message_id,
                    "name": "Breakout",
                    "symbol": "NSE:TCS",
                    "price": None,
                    "receivedAt": "2026-11-02T04:00:00.000Z",
                    "sentAt": None,
                }
            ],
        },
    ]
    first = api(alice).get(f"{HOOKS}/{hook.pk}/messages?after={refused.pk}").json()
    assert [row["id"] for row in first["data"]] == [alert.message_id]


@pytest.fixture
def alerts(alice: User) -> list[ReceivedAlert]:
    """Return alerts of two hooks, the newest first."""
    first, second = hook_of(alice), hook_of(alice)
    named = [("Buy", "NSE:TCS"), ("Buy", ""), ("Sell", "NSE:TCS"), ("Buy", "NSE:INFY")]
    rows = [
        alert_in(hook, name, symbol, at=make.NOW + timedelta(seconds=number))
        for number, (hook, (name, symbol)) in enumerate(
            zip((first, first, second, second), named, strict=True)
        )
    ]
    return rows[::-1]


def test_alerts_are_listed_newest_first_and_filtered(
    api: Api, alice: User, bob: User, alerts: list[ReceivedAlert]
) -> None:
    client = api(alice)
    alert_in(hook_of(bob), "Buy", "NSE:TCS")

    def listed(**query: str) -> list[str]:
        return [row["id"] for row in client.get(ALERTS, query).json()["data"]]

    newest, sell, every, oldest = (alert.pk for alert in alerts)
    assert listed() == [newest, sell, every, oldest]
    assert listed(name="Buy") == [newest, every, oldest]
    assert listed(name="buy") == []
    assert listed(symbol="NSE:TCS") == [sell, oldest]
    assert listed(name="Buy", symbol="NSE:TCS") == [oldest]
    assert listed(hookId=alerts[-1].message.hook_id) == [every, oldest]
    assert listed(hookId="unknown") == []
    assert listed(limit="2", after=sell) == [every, oldest]
    assert_error(client.get(ALERTS, {"symbol": "TCS"}), 400, "VALIDATION_ERROR", field="symbol")


def test_a_list_takes_as_many_queries_for_one_alert_as_for_four(
    api: Api, alice: User, alerts: list[ReceivedAlert], django_assert_max_num_queries: Any
) -> None:
    client = api(alice)
    client.get(ALERTS)
    with django_assert_max_num_queries(3):
        assert len(client.get(ALERTS).json()["data"]) == 4
    with django_assert_max_num_queries(4):
        path = f"{HOOKS}/{alerts[0].message.hook_id}/messages"
        assert len(client.get(path).json()["data"]) == 2
