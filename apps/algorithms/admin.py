"""Algorithms for operators: to be looked at, never edited."""

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from apps.algorithms.models import Algorithm, StatusChange, Version


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """For looking only: an algorithm changes through its owner's requests, what is kept of it
    never.
    """

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Algorithm)
class AlgorithmAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "status", "strategy_type", "timeframe", "created_at")
    list_filter = ("status",)
    search_fields = ("=id", "name", "=owner__email")
    readonly_fields = ("all_versions", "status_history")

    @admin.display(description="versions")
    def all_versions(self, algorithm: Algorithm) -> str:
        return _link("version", algorithm)

    @admin.display(description="history of its status")
    def status_history(self, algorithm: Algorithm) -> str:
        return _link("statuschange", algorithm)


def _link(model: str, algorithm: Algorithm) -> str:
    """To the pages of what is kept of one algorithm: there may be thousands."""
    address = reverse(f"admin:algorithms_{model}_changelist")
    return format_html('<a href="{}?algorithm__id={}">all</a>', address, algorithm.pk)


@admin.register(Version)
class VersionAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "created_at")
    ordering = ("-id",)
    search_fields = ("=algorithm__id",)
    show_full_result_count = False


@admin.register(StatusChange)
class StatusChangeAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "actor", "reason", "at")
    ordering = ("-id",)
    search_fields = ("=algorithm__id",)
    show_full_result_count = False
