"""Events, endpoints and deliveries for operators, who may disable endpoints and redeliver."""

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core import audit
from apps.core.operator_pages import AdminAction, OperatorAdmin, ReadOnlyInline
from apps.webhooks import services
from apps.webhooks.lifecycle import DeliveryStatus, EndpointStatus
from apps.webhooks.models import Attempt, Delivery, Endpoint, Event


@admin.register(Event)
class EventAdmin(OperatorAdmin):
    searched = {"pk": "an event", "algorithm_id": "an algorithm", "owner_id": "a user"}
    list_display = ("id", "type", "owner", "algorithm_id", "sequence", "created_at")
    list_select_related = ("owner",)


class FailingFilter(admin.SimpleListFilter):
    """The filter for endpoints whose last attempt failed."""

    title = "failing"
    parameter_name = "failing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("1", "Yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> QuerySet[Endpoint]:
        return queryset.exclude(failing_since=None) if self.value() == "1" else queryset


def _is_enabled(endpoint: Endpoint) -> bool:
    return endpoint.status == EndpointStatus.ENABLED


def _is_disabled(endpoint: Endpoint) -> bool:
    return endpoint.status == EndpointStatus.DISABLED


def _enable(endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.enable_for_operator(endpoint=endpoint, operator=operator, reason=reason, now=now)


def _disable(endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.disable_for_operator(endpoint=endpoint, operator=operator, reason=reason, now=now)


@admin.register(Endpoint)
class EndpointAdmin(OperatorAdmin):
    object_actions = (
        AdminAction("off", "Switch off", _disable, _is_enabled),
        AdminAction("on", "Switch on", _enable, _is_disabled),
    )
    exclude = ("secret", "previous_secret")
    searched = {"pk": "a webhook", "owner_id": "a user"}
    user_field = "owner"
    list_display = (
        "id",
        "owner",
        "status",
        "disabled_reason",
        "failing_since",
        "failures",
        "slow",
        "url",
    )
    list_filter = ("status", FailingFilter, "slow")
    list_select_related = ("owner",)


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("number", "at", "http_status", "seconds", "error")
    ordering = ("number",)


def _is_at_rest(delivery: Delivery) -> bool:
    return delivery.status != DeliveryStatus.SENDING


def _redeliver(delivery: Delivery, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.redeliver_for_operator(delivery=delivery, operator=operator, reason=reason, now=now)


@admin.register(Delivery)
class DeliveryAdmin(OperatorAdmin):
    object_actions = (AdminAction("replay", "Send again", _redeliver, _is_at_rest),)
    inlines: ClassVar = [AttemptInline]
    searched = {"pk": "a delivery", "event_id": "an event", "endpoint_id": "a webhook"}
    list_display = ("id", "status", "event", "attempts", "failures", "due_at", "endpoint")
    list_filter = ("status",)
    list_select_related = ("event", "endpoint")
