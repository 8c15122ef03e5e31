"""Events for operators: to be looked at."""

from django.contrib import admin
from django.db.models import Q

from apps.core.operator_pages import OperatorAdmin
from apps.webhooks.models import Event


@admin.register(Event)
class EventAdmin(OperatorAdmin):
    list_display = ("id", "type", "owner", "algorithm_id", "sequence", "created_at")
    list_select_related = ("owner",)
    ordering = ("-id",)
    search_fields = ("algorithm_id",)
    search_help_text = "The id of an event, an algorithm or a user."

    def matching(self, term: str) -> Q:
        return Q(pk=term) | Q(algorithm_id=term) | Q(owner_id=term)
