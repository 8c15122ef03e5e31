"""Events, endpoints and deliveries for operators, who may disable endpoints and redeliver."""

from datetime import datetime
from typing import ClassVar

from django.contrib import admin

from apps.core import audit
from apps.core.operator_pages import OperatorAdmin, ReadOnlyInline, operator_action
from apps.webhooks import services
from apps.webhooks.models import Attempt, Delivery, Endpoint, Event


@admin.register(Event)
class EventAdmin(OperatorAdmin):
    searched = {"pk": "an event", "algorithm_id": "an algorithm", "owner_id": "a user"}
    list_display = ("type", "owner", "name_of_algorithm", "sequence", "created_at")
    list_select_related = ("owner",)
    user_field = "owner"

    @admin.display(description="algorithm")
    def name_of_algorithm(self, event: Event) -> str:
        return str(event.data.get("algorithmName", ""))


def _enable(endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.enable_for_operator(endpoint=endpoint, operator=operator, reason=reason, now=now)


def _disable(endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.disable_for_operator(endpoint=endpoint, operator=operator, reason=reason, now=now)


@admin.register(Endpoint)
class EndpointAdmin(OperatorAdmin):
    actions = (
        operator_action("off", "Switch off", _disable),
        operator_action("on", "Switch on", _enable),
    )
    exclude = ("secret", "previous_secret", "bot", "bot_slot", "chat")
    searched = {"pk": "a webhook", "owner_id": "a user"}
    user_field = "owner"
    list_display = (
        "url",
        "owner",
        "kind",
        "status",
        "disabled_reason",
        "failing_since",
        "failures",
        "slow",
    )
    list_filter = ("status", ("failing_since", admin.EmptyFieldListFilter), "slow")
    list_select_related = ("owner",)


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("number", "at", "http_status", "seconds", "error")
    ordering = ("number",)


def _redeliver(delivery: Delivery, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.redeliver_for_operator(delivery=delivery, operator=operator, reason=reason, now=now)


@admin.register(Delivery)
class DeliveryAdmin(OperatorAdmin):
    actions = (operator_action("replay", "Send again", _redeliver),)
    inlines: ClassVar = [AttemptInline]
    searched = {"pk": "a delivery", "event_id": "an event", "endpoint_id": "a webhook"}
    list_display = (
        "event__type",
        "event__owner",
        "status",
        "attempts",
        "failures",
        "due_at",
        "endpoint__url",
    )
    list_filter = ("status",)
    list_select_related = ("event__owner", "endpoint")
    user_field = "event__owner"
