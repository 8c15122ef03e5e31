"""Algorithms for operators: to be looked at, never edited."""

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from apps.algorithms.models import Algorithm, Version


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """For looking only: an algorithm changes through its owner's requests, a version never."""

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
    readonly_fields = ("all_versions",)

    @admin.display(description="versions")
    def all_versions(self, algorithm: Algorithm) -> str:
        """A link to their pages: there may be thousands."""
        address = reverse("admin:algorithms_version_changelist")
        return format_html('<a href="{}?algorithm__id={}">all</a>', address, algorithm.pk)


@admin.register(Version)
class VersionAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "created_at")
    ordering = ("-id",)
    search_fields = ("=algorithm__id",)
    show_full_result_count = False
