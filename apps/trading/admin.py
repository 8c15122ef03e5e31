"""Trading for operators: read-only pages of accounts, runs and switches, and the global switch."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.core import audit
from apps.core.operator_pages import OperatorAdmin, ReadOnlyInline, operator_action
from apps.trading.brokers import paper
from apps.trading.models import (
    Account,
    BrokerHealth,
    BrokerState,
    DailyLoss,
    Fill,
    GlobalSwitch,
    KillSwitch,
    LedgerEntry,
    Order,
    Position,
    Posting,
    Run,
    Signal,
    Trade,
)
from apps.trading.runs import kill_switches


def _engage(switch: GlobalSwitch, operator: audit.Actor, reason: str, now: datetime) -> None:
    kill_switches.engage_global_switch(operator=operator, reason=reason, now=now)


def _release(switch: GlobalSwitch, operator: audit.Actor, reason: str, now: datetime) -> None:
    kill_switches.release_global_switch(operator=operator, reason=reason, now=now)


@admin.register(GlobalSwitch)
class GlobalSwitchAdmin(OperatorAdmin):
    """One row, over everybody."""

    actions = (
        operator_action("halt", "Halt trading for everybody", _engage),
        operator_action("lift", "Let everybody trade again", _release),
    )
    list_display = ("__str__", "active", "since", "reason")
    ordering = ("id",)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        kill_switches.read_global_switch()
        return super().changelist_view(request, extra_context)


def _declare(state: BrokerState) -> Callable[[BrokerHealth, audit.Actor, str, datetime], None]:
    def do(row: BrokerHealth, operator: audit.Actor, reason: str, now: datetime) -> None:
        paper.declare_health(row, state=state, operator=operator, reason=reason, now=now)

    return do


@admin.register(BrokerHealth)
class BrokerHealthAdmin(OperatorAdmin):
    """A state that an operator declares stays until an operator declares another."""

    actions = (
        operator_action("restore", "Take orders again", _declare(BrokerState.OK)),
        operator_action("limit", "Take no more orders", _declare(BrokerState.LIMITED)),
        operator_action("cut", "Count as unreachable", _declare(BrokerState.UNREACHABLE)),
    )
    list_display = ("name", "state", "detail", "since", "checked_at")
    ordering = ("name",)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        paper.health_row(now=timezone.now())
        return super().changelist_view(request, extra_context)


@admin.register(KillSwitch)
class KillSwitchAdmin(OperatorAdmin):
    searched = {"owner_id": "a user"}
    user_field = "owner"
    list_display = ("owner", "active", "since", "reason")
    list_filter = ("active",)
    list_select_related = ("owner",)


@admin.register(Account)
class AccountAdmin(OperatorAdmin):
    searched = {"owner_id": "a user"}
    user_field = "owner"
    list_display = ("owner", "balance", "reserved", "opened_at")
    list_select_related = ("owner",)


class PostingInline(ReadOnlyInline):
    model = Posting
    fields = ("book", "amount")


@admin.register(LedgerEntry)
class LedgerEntryAdmin(OperatorAdmin):
    """An entry with its postings, which add up to zero."""

    searched = {"account_id": "a user"}
    user_field = "account__owner"
    list_display = ("id", "account__owner", "kind", "fill_id", "at")
    list_select_related = ("account__owner",)
    inlines = (PostingInline,)


@admin.register(Run)
class RunAdmin(OperatorAdmin):
    searched = {"pk": "a run", "algorithm_id": "an algorithm", "account_id": "a user"}
    user_field = "account__owner"
    list_display = (
        "algorithm__name",
        "account__owner",
        "capital",
        "started_at",
        "ended_at",
        "end_reason",
        "released_at",
    )
    list_select_related = ("algorithm", "account__owner")
    list_filter = ("mode", "end_reason")


@admin.register(Position)
class PositionAdmin(OperatorAdmin):
    searched = {"run_id": "a run"}
    user_field = "run__account__owner"
    list_display = (
        "run__algorithm__name",
        "run__account__owner",
        "symbol",
        "quantity",
        "entry_price",
        "unrealised",
        "opened_at",
        "closed_at",
    )
    list_select_related = ("run__algorithm", "run__account__owner")


class FillInline(ReadOnlyInline):
    model = Fill
    fields = ("quantity", "price", "charges", "charges_by_kind", "at")


@admin.register(Order)
class OrderAdmin(OperatorAdmin):
    searched = {"pk": "an order", "run_id": "a run", "algorithm_id": "an algorithm"}
    user_field = "algorithm__owner"
    list_display = (
        "algorithm__name",
        "algorithm__owner",
        "symbol",
        "side",
        "intent",
        "type",
        "quantity",
        "status",
        "reason",
        "placed_at",
    )
    list_filter = ("status", "intent")
    list_select_related = ("algorithm__owner",)
    ordering = ("-placed_at",)
    inlines = (FillInline,)


@admin.register(Trade)
class TradeAdmin(OperatorAdmin):
    searched = {"pk": "a trade", "run_id": "a run", "algorithm_id": "an algorithm"}
    user_field = "algorithm__owner"
    list_display = (
        "algorithm__name",
        "algorithm__owner",
        "symbol",
        "side",
        "quantity",
        "exit_reason",
        "profit",
        "exit_time",
    )
    list_select_related = ("algorithm__owner",)


@admin.register(Signal)
class SignalAdmin(OperatorAdmin):
    searched = {"run_id": "a run", "algorithm_id": "an algorithm"}
    user_field = "algorithm__owner"
    list_display = (
        "algorithm__name",
        "algorithm__owner",
        "symbol",
        "side",
        "action",
        "followed",
        "reason",
        "bar_time",
    )
    list_select_related = ("algorithm__owner",)


@admin.register(DailyLoss)
class DailyLossAdmin(OperatorAdmin):
    searched = {"algorithm_id": "an algorithm"}
    user_field = "algorithm__owner"
    list_display = ("algorithm__name", "algorithm__owner", "day", "loss", "limit", "breached_at")
    list_select_related = ("algorithm__owner",)
    list_filter = (("breached_at", admin.EmptyFieldListFilter),)
