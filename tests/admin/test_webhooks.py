"""Operators view webhooks, and act on them."""

from django.test import Client

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.webhooks.lifecycle import DeliveryStatus
from apps.webhooks.models import Delivery
from tests.admin.conftest import act
from tests.webhooks.events import attempt, emit, endpoint_of


def test_failing_webhooks_and_each_attempt_are_shown_and_no_secret(
    operator: Client, alice: User
) -> None:
    endpoint = endpoint_of(alice)
    emit(alice)
    attempt(503)
    listed = operator.get("/admin/webhooks/endpoint/?failing_since__isempty=0").text
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
    assert "Done" in act(operator, "replay", delivery, "they asked")
    delivery.refresh_from_db()
    assert delivery.status == DeliveryStatus.WAITING
    assert "Done" in act(operator, "off", endpoint, "they asked")
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "operator")
    assert "disabled" in act(operator, "replay", delivery, "they asked")
    assert "Done" in act(operator, "on", endpoint, "they asked")
    records = AuditRecord.objects.filter(actor=olga.pk).order_by("id")
    assert [(row.action, row.details) for row in records] == [
        ("webhook_redelivered", reason),
        ("webhook_disabled", reason),
        ("webhook_enabled", reason),
    ]
