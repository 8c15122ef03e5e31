"""Backtests for operators: to be looked at, cancelled, and tried again."""

import json
from datetime import datetime

from django.contrib import admin
from django.db.models import Q
from django.utils.html import format_html

from apps.backtests import services
from apps.backtests.lifecycle import MOVES, Move
from apps.backtests.models import Backtest
from apps.core import audit
from apps.core.operator_pages import AdminAction, OperatorAdmin


def _cancel(backtest: Backtest, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.cancel_for_operator(backtest_id=backtest.pk, operator=operator, reason=reason, now=now)


def _retry(backtest: Backtest, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.retry(backtest_id=backtest.pk, operator=operator, reason=reason, now=now)


@admin.register(Backtest)
class BacktestAdmin(OperatorAdmin):
    object_actions = (
        AdminAction("cancel", "Cancel", _cancel, lambda one: one.status in MOVES[Move.CANCEL][0]),
        AdminAction("retry", "Try again", _retry, lambda one: one.status in MOVES[Move.RETRY][0]),
    )
    list_display = (
        "id", "owner", "name", "status", "progress", "attempt", "losses", "timeframe", "created_at",
    )  # fmt: skip
    list_filter = ("status",)
    list_select_related = ("owner",)
    ordering = ("-id",)
    search_fields = ("id",)
    search_help_text = "The id of a backtest, a user or an algorithm, or a user's e-mail address."
    fieldsets = (
        (None, {"fields": ("id", "name", "owner", "algorithm", "algorithm_version", "request_id")}),
        ("State", {"fields": (
            "status", "progress", "attempt", "losses", "error_in_full",
            "created_at", "started_at", "beat_at", "completed_at",
        )}),
        ("Asked for", {"fields": (
            "kind", "symbols", "timeframe", "start_date", "end_date", "initial_capital", "seed",
            "configuration_in_full", "study_in_full",
        )}),
        ("Came of it", {"fields": ("performance_in_full", "findings_in_full", "receipt_in_full")}),
    )  # fmt: skip

    def matching(self, term: str) -> Q:
        if "@" in term:
            return Q(owner__email=term.lower())
        return Q(pk=term) | Q(owner_id=term) | Q(algorithm_id=term)

    @admin.display(description="error")
    def error_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.error)

    @admin.display(description="configuration")
    def configuration_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.configuration)

    @admin.display(description="study")
    def study_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.study)

    @admin.display(description="findings")
    def findings_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.findings)

    @admin.display(description="performance")
    def performance_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.performance)

    @admin.display(description="receipt")
    def receipt_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.receipt)


def _indented(value: object) -> str:
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2)) if value else "-"
