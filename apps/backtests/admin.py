"""The admin of backtests: operators can look at them, cancel them and retry them."""

import json
from collections.abc import Callable
from datetime import datetime

from django.contrib import admin
from django.utils.html import format_html

from apps.backtests import services
from apps.backtests.models import BACKTEST_TRANSITIONS, Backtest, BacktestTransition
from apps.core import audit
from apps.core.operator_pages import AdminAction, OperatorAdmin


def _cancel(backtest: Backtest, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.cancel_for_operator(backtest_id=backtest.pk, operator=operator, reason=reason, now=now)


def _retry(backtest: Backtest, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.retry(backtest_id=backtest.pk, operator=operator, reason=reason, now=now)


def _allows(transition: BacktestTransition) -> Callable[[Backtest], bool]:
    sources, _ = BACKTEST_TRANSITIONS[transition]
    return lambda backtest: backtest.status in sources


@admin.register(Backtest)
class BacktestAdmin(OperatorAdmin):
    object_actions = (
        AdminAction("cancel", "Cancel", _cancel, _allows(BacktestTransition.CANCEL)),
        AdminAction("retry", "Try again", _retry, _allows(BacktestTransition.RETRY)),
    )
    searched = {"pk": "a backtest", "owner_id": "a user", "algorithm_id": "an algorithm"}
    user_field = "owner"
    list_display = (
        "id", "owner", "name", "status", "progress", "attempt", "losses", "timeframe", "created_at",
    )  # fmt: skip
    list_filter = ("status",)
    list_select_related = ("owner",)
    fieldsets = (
        (None, {"fields": ("id", "name", "owner", "algorithm", "algorithm_version", "request_id")}),
        ("State", {"fields": (
            "status", "progress", "attempt", "losses", "error_in_full",
            "created_at", "started_at", "heartbeat_at", "worker", "completed_at",
        )}),
        ("Request", {"fields": (
            "kind", "symbols", "timeframe", "start_date", "end_date", "initial_capital", "seed",
            "configuration_in_full", "study_in_full",
        )}),
        ("Result", {"fields": ("performance_in_full", "study_results_in_full", "receipt_in_full")}),
    )  # fmt: skip

    @admin.display(description="error")
    def error_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.error)

    @admin.display(description="configuration")
    def configuration_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.configuration)

    @admin.display(description="study")
    def study_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.study)

    @admin.display(description="study results")
    def study_results_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.study_results)

    @admin.display(description="performance")
    def performance_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.performance)

    @admin.display(description="receipt")
    def receipt_in_full(self, backtest: Backtest) -> str:
        return _indented(backtest.receipt)


def _indented(value: object) -> str:
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2)) if value else "-"
