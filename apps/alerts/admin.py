"""Alert hooks, their messages and received alerts for operators."""

from typing import ClassVar

from django.contrib import admin

from apps.alerts.models import AlertHook, AlertMessage, ReceivedAlert
from apps.core.operator_pages import OperatorAdmin, ReadOnlyInline


@admin.register(AlertHook)
class AlertHookAdmin(OperatorAdmin):
    searched = {"pk": "an alert hook", "owner_id": "a user"}
    user_field = "owner"
    exclude = ("secret_digest",)
    list_display = ("name", "owner", "format", "expected_by", "created_at", "ended_at")
    list_filter = ("format", ("ended_at", admin.EmptyFieldListFilter))
    list_select_related = ("owner",)


class ReceivedAlertInline(ReadOnlyInline):
    model = ReceivedAlert
    fields = ("name", "symbol", "price", "received_at", "sent_at")
    ordering = ("name", "symbol")


@admin.register(AlertMessage)
class AlertMessageAdmin(OperatorAdmin):
    searched = {"pk": "a message", "hook_id": "an alert hook"}
    user_field = "hook__owner"
    inlines: ClassVar = [ReceivedAlertInline]
    exclude = ("key",)
    list_display = ("hook__name", "hook__owner", "received_at", "refusal")
    list_filter = (("refusal", admin.EmptyFieldListFilter),)
    list_select_related = ("hook__owner",)


@admin.register(ReceivedAlert)
class ReceivedAlertAdmin(OperatorAdmin):
    searched = {"pk": "an alert", "message_id": "a message", "owner_id": "a user"}
    user_field = "owner"
    list_display = ("name", "owner", "symbol", "price", "received_at", "sent_at")
    list_select_related = ("owner",)
