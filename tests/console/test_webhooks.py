"""Webhooks and notices by the forms of the settings."""

from django.test import Client

from apps.accounts.models import User
from apps.webhooks.models import Delivery, EmailNotices, Endpoint
from tests import make
from tests.console.conftest import Browse

PROOF = {"password": make.PASSWORD}
WEBHOOK = {"url": "https://hooks.example.com/", "events": ["trade.executed"], **PROOF}


def make_webhook(client: Client) -> Endpoint:
    page = client.post("/app/settings/webhooks", WEBHOOK)
    [secret] = page.context["secrets"]
    assert secret.startswith("whsec_")
    return Endpoint.objects.get()


def test_a_webhook_is_made_changed_tested_and_deleted(browse: Browse, alice: User) -> None:
    client = browse(alice)
    endpoint = make_webhook(client)
    address = f"/app/settings/webhooks/{endpoint.pk}"
    change = {"url": "https://other.example.com/", "events": ["algorithm.error"]}
    client.post(address, {**change, "description": "Pager"})
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.events) == (change["url"], change["events"])
    client.post(f"{address}/test")
    assert b"webhook.test" in client.get(address).content
    before = bytes(endpoint.secret)
    assert client.post(f"{address}/rotate-secret").status_code == 400
    [secret] = client.post(f"{address}/rotate-secret", PROOF).context["secrets"]
    endpoint.refresh_from_db()
    assert bytes(endpoint.secret) != before
    assert secret.encode() not in client.get(address).content
    client.post(f"{address}/disable")
    assert client.post(f"{address}/test").status_code == 409
    client.post(f"{address}/enable")
    assert client.get(f"{address}/delete").status_code == 200
    client.post(f"{address}/delete")
    assert client.get(address).status_code == 404


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


def test_notices_are_chosen(browse: Browse, alice: User) -> None:
    client = browse(alice)
    client.post("/app/settings/notices", {"events": ["algorithm.error"]})
    assert EmailNotices.objects.get().events == ["algorithm.error"]
    assert b"algorithm.error" in client.get("/app/settings").content
    assert client.post("/app/settings/notices", {"events": ["nothing"]}).status_code == 400
    client.post("/app/settings/notices", {})
    assert EmailNotices.objects.get().events == []
