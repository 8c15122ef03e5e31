"""Trading for operators: accounts, runs and switches to be looked at, and the switch over all."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.core import audit
from apps.core.operator_pages import AdminAction, OperatorAdmin, ReadOnlyInline
from apps.core.times import moment
from apps.trading import services
from apps.trading.brokers import paper
from apps.trading.models import (
    Account,
    BarStream,
    BrokerHealth,
    BrokerState,
    DailyLoss,
    DriftReport,
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


def _halt(switch: GlobalSwitch, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.engage_global_switch(operator=operator, reason=reason, now=now)


def _lift(switch: GlobalSwitch, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.release_global_switch(operator=operator, reason=reason, now=now)


@admin.register(GlobalSwitch)
class GlobalSwitchAdmin(OperatorAdmin):
    """One thing, over everybody: to turn it, one types what that does."""

    object_actions = (
        AdminAction(
            "halt", "Turn on", _halt, lambda switch: not switch.active, typed="HALT EVERYBODY"
        ),
        AdminAction(
            "lift", "Turn off", _lift, lambda switch: switch.active, typed="LET TRADE AGAIN"
        ),
    )
    list_display = ("__str__", "active", "since", "reason")
    ordering = ("id",)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        services.read_global_switch()
        return super().changelist_view(request, extra_context)


def _declare(state: BrokerState) -> Callable[[BrokerHealth, audit.Actor, str, datetime], None]:
    def do(row: BrokerHealth, operator: audit.Actor, reason: str, now: datetime) -> None:
        paper.declare_health(row, state=state, operator=operator, reason=reason, now=now)

    return do


def _is_well(row: BrokerHealth) -> bool:
    return row.state == BrokerState.OK


def _is_out(row: BrokerHealth) -> bool:
    return not _is_well(row)


@admin.register(BrokerHealth)
class BrokerHealthAdmin(OperatorAdmin):
    """What an operator declares holds until an operator declares another state."""

    object_actions = (
        AdminAction("restore", "Take orders again", _declare(BrokerState.OK), _is_out),
        AdminAction("limit", "Take no more orders", _declare(BrokerState.LIMITED), _is_well),
        AdminAction("cut", "Count as unreachable", _declare(BrokerState.UNREACHABLE), _is_well),
    )
    list_display = ("name", "state", "detail", "since", "checked_at")
    ordering = ("name",)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        paper.health_row(now=timezone.now())
        return super().changelist_view(request, extra_context)


@admin.register(KillSwitch)
class KillSwitchAdmin(OperatorAdmin):
    list_display = ("owner", "active", "since", "reason")
    list_filter = ("active",)
    list_select_related = ("owner",)
    ordering = ("-pk",)
    search_fields = ("owner",)
    search_help_text = "A user's e-mail address or id."

    def matching(self, term: str) -> Q:
        return _of_owner(term)


@admin.register(Account)
class AccountAdmin(OperatorAdmin):
    list_display = ("owner", "balance", "reserved", "opened_at")
    list_select_related = ("owner",)
    ordering = ("-pk",)
    search_fields = ("owner",)
    search_help_text = "A user's e-mail address or id."

    def matching(self, term: str) -> Q:
        return _of_owner(term)


def _of_owner(term: str) -> Q:
    return Q(owner__email=term.lower()) if "@" in term else Q(owner_id=term)


class PostingInline(ReadOnlyInline):
    model = Posting
    fields = ("book", "amount")


@admin.register(LedgerEntry)
class LedgerEntryAdmin(OperatorAdmin):
    """With its postings, which add up to zero."""

    list_display = ("id", "account_id", "kind", "fill_id", "at")
    ordering = ("-id",)
    search_fields = ("account",)
    search_help_text = "A user's id."
    inlines = (PostingInline,)

    def matching(self, term: str) -> Q:
        return Q(account_id=term)


@admin.register(Run)
class RunAdmin(OperatorAdmin):
    list_display = (
        "id", "algorithm_id", "capital", "started_at", "ended_at", "end_reason", "released_at",
        "mode", "account_id",
    )  # fmt: skip
    list_filter = ("mode", "end_reason")
    ordering = ("-id",)
    search_fields = ("id",)
    search_help_text = "The id of a run, an algorithm or a user."

    def matching(self, term: str) -> Q:
        return Q(pk=term) | Q(algorithm_id=term) | Q(account_id=term)


@admin.register(Position)
class PositionAdmin(OperatorAdmin):
    list_display = (
        "run_id", "symbol", "quantity", "entry_price", "unrealised", "opened_at", "closed_at",
    )  # fmt: skip
    ordering = ("-id",)
    search_fields = ("run",)
    search_help_text = "The id of a run."

    def matching(self, term: str) -> Q:
        return Q(run_id=term)


class FillInline(ReadOnlyInline):
    model = Fill
    fields = ("quantity", "price", "charges", "charges_by_kind", "at")


@admin.register(Order)
class OrderAdmin(OperatorAdmin):
    list_display = (
        "id", "algorithm_id", "symbol", "side", "intent", "type", "quantity", "status", "reason",
        "placed_at",
    )  # fmt: skip
    list_filter = ("status", "intent")
    ordering = ("-placed_at",)
    search_fields = ("id",)
    search_help_text = "The id of an order, a run or an algorithm."
    inlines = (FillInline,)

    def matching(self, term: str) -> Q:
        return Q(pk=term) | Q(run_id=term) | Q(algorithm_id=term)


@admin.register(Trade)
class TradeAdmin(OperatorAdmin):
    list_display = (
        "id", "algorithm_id", "symbol", "side", "quantity", "exit_reason", "profit", "exit_time",
    )  # fmt: skip
    ordering = ("-id",)
    search_fields = ("id",)
    search_help_text = "The id of a trade, a run or an algorithm."

    def matching(self, term: str) -> Q:
        return Q(pk=term) | Q(run_id=term) | Q(algorithm_id=term)


@admin.register(Signal)
class SignalAdmin(OperatorAdmin):
    list_display = (
        "algorithm_id", "symbol", "side", "action", "followed", "reason", "bar_time",
    )  # fmt: skip
    ordering = ("-id",)
    search_fields = ("algorithm",)
    search_help_text = "The id of a run or an algorithm."

    def matching(self, term: str) -> Q:
        return Q(run_id=term) | Q(algorithm_id=term)


@admin.register(BarStream)
class BarStreamAdmin(OperatorAdmin):
    """Who works on which bars; one that is due and not leased for long waits for a runner."""

    list_display = ("__str__", "last_row", "wake_at", "lease_token", "leased_until")
    list_filter = ("timeframe",)
    ordering = ("-id",)

    @admin.display(ordering="row_time")
    def last_row(self, stream: BarStream) -> datetime | None:
        """The start of its bars."""
        return None if stream.row_time is None else moment(stream.row_time)


@admin.register(DailyLoss)
class DailyLossAdmin(OperatorAdmin):
    list_display = ("algorithm_id", "day", "loss", "limit", "breached_at")
    list_filter = (("breached_at", admin.EmptyFieldListFilter),)
    ordering = ("-id",)
    search_fields = ("algorithm",)
    search_help_text = "The id of an algorithm."

    def matching(self, term: str) -> Q:
        return Q(algorithm_id=term)


@admin.register(DriftReport)
class DriftReportAdmin(OperatorAdmin):
    list_display = ("run_id", "day", "rows", "total", "checked_at")
    ordering = ("-id",)
    search_fields = ("run",)
    search_help_text = "The id of a run."

    def matching(self, term: str) -> Q:
        return Q(run_id=term)
