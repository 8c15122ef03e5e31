"""Instruments for operators: facts come from the master; they can be switched off and on."""

from datetime import datetime

from django.contrib import admin
from django.db.models import Q

from apps.core import audit
from apps.core.operator_pages import OperatorAdmin, Verb
from apps.symbols import services
from apps.symbols.models import Instrument


def _enable(instrument: Instrument, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.switch(instrument=instrument, enabled=True, operator=operator, reason=reason, now=now)


def _disable(instrument: Instrument, operator: audit.Actor, reason: str, now: datetime) -> None:
    services.switch(instrument=instrument, enabled=False, operator=operator, reason=reason, now=now)


@admin.register(Instrument)
class InstrumentAdmin(OperatorAdmin):
    verbs = (
        Verb("enable", "Switch on", _enable, lambda one: not one.enabled),
        Verb("disable", "Switch off", _disable, lambda one: one.enabled),
    )
    list_display = ("symbol", "name", "type", "expiry", "lot_size", "enabled", "sample")
    list_filter = ("exchange", "type", "enabled", "sample")
    ordering = ("symbol",)
    search_fields = ("symbol",)
    search_help_text = (
        "How the symbol, its code, the exchange's name or the name begins; or an ISIN."
    )

    def matching(self, term: str) -> Q:
        begin = term.upper()
        coded = Q(symbol__startswith=begin) | Q(code__startswith=begin) | Q(isin=begin)
        return coded | Q(exchange_name__startswith=begin) | Q(name__istartswith=term)
