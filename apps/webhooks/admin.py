"""Events, endpoints and deliveries for operators: to be looked at, switched off and sent again."""

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.core import audit
from apps.core.operator_pages import AdminAction, OperatorAdmin, ReadOnlyInline
from apps.webhooks import services
from apps.webhooks.lifecycle import EndpointStatus, Status
from apps.webhooks.models import Attempt, Delivery, Endpoint, Event


@admin.register(Event)
class EventAdmin(OperatorAdmin):
    list_display = ("id", "type", "owner", "algorithm_id", "sequence", "created_at")
    list_select_related = ("owner",)
    ordering = ("-id",)
    search_fields = ("algorithm_id",)
    search_help_text = "The id of an event, an algorithm or a user."

    def matching(self, term: str) -> Q:
        return Q(pk=term) | Q(algorithm_id=term) | Q(owner_id=term)


class Failing(admin.SimpleListFilter):
    """Endpoints whose last answer was a failure."""

    title = "failing"
    parameter_name = "failing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Any: as Django has it."""
        return [("1", "Yes")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> QuerySet[Endpoint]:
        return queryset.exclude(failing_since=None) if self.value() == "1" else queryset


def _off(endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.switch(endpoint=endpoint, on=False, operator=operator, reason=reason, now=now)


def _on(endpoint: Endpoint, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.switch(endpoint=endpoint, on=True, operator=operator, reason=reason, now=now)


@admin.register(Endpoint)
class EndpointAdmin(OperatorAdmin):
    """The secrets are not shown."""

    object_actions = (
        AdminAction("off", "Switch off", _off, lambda one: one.status == EndpointStatus.ENABLED),
        AdminAction("on", "Switch on", _on, lambda one: one.status == EndpointStatus.DISABLED),
    )
    exclude = ("secret", "previous_secret")
    list_display = (
        "id", "owner", "status", "disabled_reason", "failing_since", "failures", "slow", "url",
    )  # fmt: skip
    list_filter = ("status", Failing, "slow")
    list_select_related = ("owner",)
    ordering = ("-id",)
    search_fields = ("id",)
    search_help_text = "The id of a webhook or a user, or a user's e-mail address."

    def matching(self, term: str) -> Q:
        return Q(owner__email=term.lower()) if "@" in term else Q(pk=term) | Q(owner_id=term)


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("number", "at", "http_status", "seconds", "error")
    ordering = ("number",)


def _replay(delivery: Delivery, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.replay(delivery=delivery, operator=operator, reason=reason, now=now)


@admin.register(Delivery)
class DeliveryAdmin(OperatorAdmin):
    object_actions = (
        AdminAction("replay", "Send again", _replay, lambda one: one.status != Status.SENDING),
    )
    inlines: ClassVar = [AttemptInline]
    list_display = ("id", "status", "event", "attempts", "failures", "due_at", "endpoint")
    list_filter = ("status",)
    list_select_related = ("event", "endpoint")
    ordering = ("-id",)
    search_fields = ("id",)
    search_help_text = "The id of a delivery, an event or a webhook."

    def matching(self, term: str) -> Q:
        return Q(pk=term) | Q(event_id=term) | Q(endpoint_id=term)
