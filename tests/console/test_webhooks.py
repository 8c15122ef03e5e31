"""Notices by channel, and the channels, by the forms of the settings."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.webhooks.lifecycle import DisabledReason
from apps.webhooks.models import Delivery, EmailNotices, Endpoint, TelegramLink
from tests import make
from tests.console.conftest import Browse
from tests.webhooks.bot_api import TOKEN

PROOF = {"password": make.PASSWORD}
WEBHOOK = {"url": "https://hooks.example.com/", "events": ["trade.executed"], **PROOF}
NOTICES = "/app/settings/notices"


def make_webhook(client: Client) -> Endpoint:
    page = client.post("/app/settings/webhooks", WEBHOOK)
    [secret] = page.context["secrets"]
    assert secret.startswith("whsec_")
    return Endpoint.objects.get()


def add(client: Client, kind: str, **fields: Any) -> Any:
    return client.post(
        "/app/settings/webhooks",
        {"kind": kind, "events": ["trade.executed"], "digest": "off", **fields, **PROOF},
    )


def test_a_webhook_is_made_changed_tested_and_deleted(browse: Browse, alice: User) -> None:
    client = browse(alice)
    endpoint = make_webhook(client)
    address = f"/app/settings/webhooks/{endpoint.pk}"
    change = {"url": "https://other.example.com/", "events": ["algorithm.error"]}
    client.post(address, {**change, "description": "Pager"})
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.events) == (change["url"], change["events"])
    client.post(f"{address}/test")
    assert b">Test<" in client.get(address).content
    before = bytes(endpoint.secret)
    assert client.post(f"{address}/rotate-secret").status_code == 400
    [secret] = client.post(f"{address}/rotate-secret", PROOF).context["secrets"]
    endpoint.refresh_from_db()
    assert bytes(endpoint.secret) != before
    assert secret.encode() not in client.get(address).content
    client.post(f"{address}/disable")
    assert b"You switched it off." in client.get(address).content
    assert client.post(f"{address}/test").status_code == 409
    client.post(f"{address}/enable")
    assert client.get(f"{address}/delete").status_code == 200
    client.post(f"{address}/delete")
    assert client.get(address).status_code == 404


def test_a_telegram_chat_is_added_by_its_code(browse: Browse, alice: User) -> None:
    client = browse(alice)
    assert b"@BotFather" in client.get("/app/settings/webhooks?kind=telegram").content
    hours = {"from": "22:30", "until": "07:00"}
    added = add(client, "telegram", token=TOKEN, description="Phone", **hours)
    address = added["Location"]
    page = client.get(address)
    first = TelegramLink.objects.get()
    assert first.code.encode() in page.content
    assert b'hx-trigger="every 3s"' in page.content
    assert TOKEN.encode() not in page.content
    endpoint = Endpoint.objects.get()
    assert endpoint.quiet_hours == hours
    TelegramLink.objects.update(expires_at=timezone.now())
    expired = client.get(address).content
    assert b"This code no longer works." in expired
    assert b"every 3s" not in expired
    client.post(f"{address}/link")
    assert TelegramLink.objects.get().code != first.code
    TelegramLink.objects.update(problem="token")
    assert b"Telegram refuses the token." in client.get(address).content
    assert b"Telegram: Phone" in client.get(NOTICES).content


def test_a_wrong_token_is_refused_and_not_shown(browse: Browse, alice: User) -> None:
    client = browse(alice)
    for token in ("12345:too-short", f"{TOKEN}?"):
        page = add(client, "telegram", token=token)
        assert (page.status_code, list(page.context["problems"])) == (400, ["token"])
        assert token.encode() not in page.content
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("kind", ["slack", "discord"])
def test_the_address_of_a_chat_is_not_shown(browse: Browse, alice: User, kind: str) -> None:
    client = browse(alice)
    added = add(client, kind, secretUrl="https://chat.example.com/services/secretOfChat")
    page = client.get(added["Location"]).content
    assert b"secretOfChat" not in page + client.get(NOTICES).content
    assert b"Replace secret" not in page
    client.post(added["Location"], {"events": ["day.summary"], "digest": "daily"})
    endpoint = Endpoint.objects.get()
    assert (endpoint.events, endpoint.digest) == (["day.summary"], "daily")


def test_a_wrong_address_of_a_chat_is_not_repeated(browse: Browse, alice: User) -> None:
    page = add(browse(alice), "slack", secretUrl="https://10.0.0.1/services/secretOfChat")
    assert list(page.context["problems"]) == ["url"]
    assert b"secretOfChat" not in page.content
    assert "secretOfChat" not in str(page.context)


def test_quiet_hours_need_both_ends(browse: Browse, alice: User) -> None:
    page = add(browse(alice), "telegram", token=TOKEN, **{"from": "22:00"})
    assert page.status_code == 400
    assert b"Give both times." in page.content


@pytest.mark.parametrize("reason", DisabledReason)
def test_the_page_says_why_a_channel_is_off(
    browse: Browse, alice: User, reason: DisabledReason
) -> None:
    client = browse(alice)
    endpoint = make_webhook(client)
    Endpoint.objects.update(status="disabled", disabled_reason=reason)
    assert client.get(f"/app/settings/webhooks/{endpoint.pk}").context["reason"].endswith(".")


def test_a_delivery_is_sent_again(browse: Browse, alice: User) -> None:
    client = browse(alice)
    endpoint = make_webhook(client)
    client.post(f"/app/settings/webhooks/{endpoint.pk}/test")
    delivery = Delivery.objects.get()
    Delivery.objects.update(status="delivered")
    assert client.post(f"/app/settings/redeliver/{delivery.pk}").status_code == 302
    delivery.refresh_from_db()
    assert delivery.status != "delivered"


def test_no_webhook_is_made_of_a_wrong_form(browse: Browse, alice: User, bob: User) -> None:
    client = browse(alice)
    private = client.post("/app/settings/webhooks", {**WEBHOOK, "url": "https://10.0.0.1/"})
    assert (private.status_code, list(private.context["problems"])) == (400, ["url"])
    unproved = client.post("/app/settings/webhooks", {**WEBHOOK, "password": "not mine"})
    assert list(unproved.context["problems"]) == ["password"]
    assert b"https://hooks.example.com/" in unproved.content
    assert not Endpoint.objects.exists()
    address = f"/app/settings/webhooks/{make_webhook(client).pk}"
    assert browse(bob).post(f"{address}/delete").status_code == 404
    assert client.post(f"{address}/nothing").status_code == 404


def test_notices_are_chosen_by_event_and_channel(browse: Browse, alice: User) -> None:
    client = browse(alice)
    endpoint = make_webhook(client)
    client.post(NOTICES, {"email": ["algorithm.error"], endpoint.pk: ["day.summary"]})
    endpoint.refresh_from_db()
    assert (EmailNotices.objects.get().events, endpoint.events) == (
        ["algorithm.error"],
        ["day.summary"],
    )
    assert b"1 event" in client.get("/app/settings").content
    unchosen = client.post(NOTICES, {"email": ["algorithm.error"]})
    assert unchosen.status_code == 400
    assert b"Choose an event, or switch it off." in unchosen.content
    assert client.post(NOTICES, {"email": ["no"], endpoint.pk: ["day.summary"]}).status_code == 400
    client.post(NOTICES, {endpoint.pk: ["day.summary"]})
    assert EmailNotices.objects.get().events == []


def test_the_log_shows_what_went_where(browse: Browse, alice: User, bob: User) -> None:
    client = browse(alice)
    endpoint = make_webhook(client)
    client.post(f"/app/settings/webhooks/{endpoint.pk}/test")
    delivery = Delivery.objects.get()
    delivery.tries.create(number=1, at=timezone.now(), http_status=500, error="status")
    page = client.get(NOTICES).content.decode()
    log = page[page.index("<caption>Log") :]
    assert ">Test<" in log
    assert "https://hooks.example.com/" in log
    assert "Status 500" in log
    assert "hooks.example.com" not in browse(bob).get(NOTICES).content.decode()
