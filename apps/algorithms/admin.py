"""Algorithms for operators, read-only."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from apps.algorithms.models import Algorithm, StatusChange, Version
from apps.core.operator_pages import OperatorAdmin


@admin.register(Algorithm)
class AlgorithmAdmin(OperatorAdmin):
    searched = {"pk": "an algorithm", "owner_id": "a user"}
    user_field = "owner"
    list_display = ("name", "owner", "status", "strategy_type", "timeframe", "created_at")
    list_filter = ("status",)
    list_select_related = ("owner",)
    readonly_fields = ("all_versions", "status_history")

    @admin.display(description="versions")
    def all_versions(self, algorithm: Algorithm) -> str:
        return _link("version", algorithm)

    @admin.display(description="history of its status")
    def status_history(self, algorithm: Algorithm) -> str:
        return _link("statuschange", algorithm)


def _link(model: str, algorithm: Algorithm) -> str:
    """Return a link to the list of related rows: one algorithm may have thousands."""
    address = reverse(f"admin:algorithms_{model}_changelist")
    return format_html('<a href="{}?algorithm__id={}">all</a>', address, algorithm.pk)


@admin.register(Version)
class VersionAdmin(OperatorAdmin):
    searched = {"algorithm_id": "an algorithm"}
    user_field = "algorithm__owner"
    list_display = ("algorithm__name", "algorithm__owner", "number", "created_at")
    list_select_related = ("algorithm__owner",)


@admin.register(StatusChange)
class StatusChangeAdmin(OperatorAdmin):
    searched = {"algorithm_id": "an algorithm"}
    user_field = "algorithm__owner"
    list_display = ("algorithm__name", "algorithm__owner", "before", "after", "reason", "at")
    list_select_related = ("algorithm__owner",)
