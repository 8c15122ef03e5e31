"""What operators see of webhooks, and what they may do to them."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.webhooks.lifecycle import DeliveryStatus
from apps.webhooks.models import Delivery
from tests import make
from tests.webhooks.events import attempt, emit, endpoint_of


@pytest.fixture
def olga(db: None) -> User:
    user = make.user("olga")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    return user


@pytest.fixture
def operator(olga: User) -> Client:
    client = Client()
    client.force_login(olga)
    return client


def test_failing_webhooks_and_each_attempt_are_shown_and_no_secret(
    operator: Client, alice: User
) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    attempt(503)
    listed = operator.get("/admin/webhooks/endpoint/?failing=1").text
    assert endpoint.url in listed
    shown = operator.get(f"/admin/webhooks/endpoint/{endpoint.pk}/change/").text
    assert "failing since" in shown.lower()
    assert "secret" not in shown.lower()
    for query in (endpoint.pk, alice.email, "x"):
        assert operator.get("/admin/webhooks/endpoint/", {"q": query}).status_code == 200
    delivery = Delivery.objects.get()
    assert delivery.pk in operator.get("/admin/webhooks/delivery/", {"q": endpoint.pk}).text
    assert "503" in operator.get(f"/admin/webhooks/delivery/{delivery.pk}/change/").text


def test_a_delivery_is_sent_again_and_a_webhook_switched_off_on_record(
    operator: Client, olga: User, alice: User
) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    attempt(204)
    delivery = Delivery.objects.get()
    reason = {"reason": "they asked"}
    page = f"/admin/webhooks/delivery/{delivery.pk}/do/replay/"
    assert "Done" in operator.post(page, reason, follow=True).text
    delivery.refresh_from_db()
    assert delivery.status == DeliveryStatus.WAITING
    off = f"/admin/webhooks/endpoint/{endpoint.pk}/do/off/"
    assert "Done" in operator.post(off, reason, follow=True).text
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "operator")
    assert "disabled" in operator.post(page, reason, follow=True).text
    on = f"/admin/webhooks/endpoint/{endpoint.pk}/do/on/"
    assert "Done" in operator.post(on, reason, follow=True).text
    records = AuditRecord.objects.filter(actor=olga.pk).order_by("id")
    assert [(row.action, row.details) for row in records] == [
        ("webhook_redelivered", reason),
        ("webhook_disabled", reason),
        ("webhook_enabled", reason),
    ]
