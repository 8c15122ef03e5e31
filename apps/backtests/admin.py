"""Backtests for operators: to be looked at, never edited."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.backtests.models import Backtest


@admin.register(Backtest)
class BacktestAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    list_display = ["id", "name", "kind", "status", "progress", "timeframe", "created_at"]
    list_filter = ["status", "kind"]
    search_fields = ["id", "owner__email"]
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
