"""Stored history, its files and corporate actions, for operators to read."""

from datetime import datetime

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.core.operator_pages import OperatorAdmin
from apps.core.times import moment
from apps.market.models import (
    BufferedCandle,
    CandleChunk,
    CandleFile,
    CorporateAction,
    Replay,
    RuleSetVersion,
)


@admin.register(CandleChunk)
class CandleChunkAdmin(OperatorAdmin):
    list_display = (
        "symbol", "timeframe", "period_start", "bars", "first_time", "last_time", "synthetic",
    )  # fmt: skip
    list_filter = ("timeframe", "synthetic")
    search_fields = ("symbol",)
    search_help_text = "A whole symbol, such as NSE:RELIANCE."
    exclude = ("data", "days")

    def get_queryset(self, request: HttpRequest) -> QuerySet[CandleChunk]:
        return super().get_queryset(request).defer("data", "days")

    def matching(self, term: str) -> Q:
        return Q(symbol=term.upper())


@admin.register(BufferedCandle)
class BufferedCandleAdmin(OperatorAdmin):
    list_display = (
        "symbol", "timeframe", "start", "open", "high", "low", "close", "volume", "received_at",
    )  # fmt: skip
    list_filter = ("timeframe",)
    search_fields = ("symbol",)
    search_help_text = "A whole symbol, such as NSE:RELIANCE."

    @admin.display(ordering="time")
    def start(self, candle: BufferedCandle) -> datetime:
        return moment(candle.time)

    def matching(self, term: str) -> Q:
        return Q(symbol=term.upper())


@admin.register(Replay)
class ReplayAdmin(OperatorAdmin):
    list_display = ("__str__", "moved_at")


@admin.register(RuleSetVersion)
class RuleSetVersionAdmin(OperatorAdmin):
    list_display = ("loaded_at", "source", "sha256")
    exclude = ("files",)


@admin.register(CandleFile)
class CandleFileAdmin(OperatorAdmin):
    list_display = ("loaded_at", "file", "format", "timeframe", "instruments", "rows", "bars")
    list_filter = ("format", "timeframe")


@admin.register(CorporateAction)
class CorporateActionAdmin(OperatorAdmin):
    list_display = ("symbol", "ex_date", "kind", "terms", "source", "loaded_at")
    list_filter = ("kind",)
    search_fields = ("symbol",)
    search_help_text = "A whole symbol, such as NSE:RELIANCE."

    def matching(self, term: str) -> Q:
        return Q(symbol=term.upper())
