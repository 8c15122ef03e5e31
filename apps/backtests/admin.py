"""The admin of backtests: operators can read, cancel and retry them."""

from datetime import datetime

from django.contrib import admin

from apps.backtests import services
from apps.backtests.models import Backtest
from apps.core import audit
from apps.core.operator_pages import OperatorAdmin, operator_action


def _cancel(backtest: Backtest, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.cancel_for_operator(backtest_id=backtest.pk, operator=operator, reason=reason, now=now)


def _retry(backtest: Backtest, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.retry(backtest_id=backtest.pk, operator=operator, reason=reason, now=now)


@admin.register(Backtest)
class BacktestAdmin(OperatorAdmin):
    actions = (
        operator_action("cancel", "Cancel", _cancel),
        operator_action("retry", "Try again", _retry),
    )
    searched = {"pk": "a backtest", "owner_id": "a user", "algorithm_id": "an algorithm"}
    user_field = "owner"
    list_display = (
        "name_of_backtest",
        "algorithm__name",
        "owner",
        "status",
        "progress",
        "attempt",
        "losses",
        "timeframe",
        "created_at",
    )
    list_filter = ("status",)
    list_select_related = ("owner", "algorithm")

    @admin.display(description="backtest")
    def name_of_backtest(self, backtest: Backtest) -> str:
        return backtest.name or f"Backtest {backtest.pk}"
