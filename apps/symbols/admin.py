"""Instruments for operators: facts come from the master; they can be switched off and on."""

from datetime import datetime

from django.contrib import admin
from django.db.models import Case, QuerySet, When
from django.http import HttpRequest
from django.utils import timezone

from apps.core import audit
from apps.core.operator_pages import AdminAction, OperatorAdmin, ReadOnlyInline
from apps.core.times import INDIA
from apps.symbols import services
from apps.symbols.models import Instrument, InstrumentAlias, InstrumentTerms, MasterLoad
from apps.symbols.search.tiers import search_among

MOST_FOUND = 100


def _enable(instrument: Instrument, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.switch(instrument=instrument, enabled=True, operator=operator, reason=reason, now=now)


def _disable(instrument: Instrument, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.switch(instrument=instrument, enabled=False, operator=operator, reason=reason, now=now)


class AliasInline(ReadOnlyInline):
    model = InstrumentAlias


class TermsInline(ReadOnlyInline):
    model = InstrumentTerms
    ordering = ("-valid_from",)


@admin.register(Instrument)
class InstrumentAdmin(OperatorAdmin):
    object_actions = (
        AdminAction("enable", "Switch on", _enable, lambda instrument: not instrument.enabled),
        AdminAction("disable", "Switch off", _disable, lambda instrument: instrument.enabled),
    )
    list_display = ("symbol", "name", "type", "expiry", "lot_size", "enabled", "sample")
    list_filter = ("exchange", "type", "enabled", "sample")
    ordering = ("symbol",)
    inlines = (AliasInline, TermsInline)
    searched = {"symbol": "an instrument"}
    search_help_text = "A symbol, a name, an ISIN, or what an exchange or a broker calls it."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Instrument], search_term: str
    ) -> tuple[QuerySet[Instrument], bool]:
        """By the tiers of the interface's search, the best first."""
        if not search_term.strip():
            return queryset, False
        today = timezone.now().astimezone(INDIA).date()
        instruments = search_among(queryset, query=search_term, today=today, limit=MOST_FOUND)
        rank = Case(*(When(pk=row.pk, then=at) for at, row in enumerate(instruments)), default=0)
        return queryset.filter(pk__in=[row.pk for row in instruments]).order_by(rank), False


@admin.register(MasterLoad)
class MasterLoadAdmin(OperatorAdmin):
    list_display = ("source", "exchange", "segment", "as_of", "instruments", "file", "loaded_at")
    list_filter = ("source", "exchange")
    ordering = ("-loaded_at",)
