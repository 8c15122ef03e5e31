from django.contrib import admin
from django.http import HttpRequest

from apps.algorithms.models import Algorithm


@admin.register(Algorithm)
class AlgorithmAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """For looking only: an algorithm changes through its owner's requests."""

    list_display = ("name", "owner", "status", "strategy_type", "timeframe", "created_at")
    list_filter = ("status",)
    search_fields = ("=id", "name", "=owner__email")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Algorithm | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Algorithm | None = None) -> bool:
        return False
