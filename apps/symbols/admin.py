"""Instruments for operators.

Their facts come from the master; operators can switch them off and on.
"""

from datetime import datetime

from django.contrib import admin

from apps.core import audit
from apps.core.operator_pages import OperatorAdmin, ReadOnlyInline, SymbolAdmin, operator_action
from apps.symbols import services
from apps.symbols.models import Instrument, InstrumentAlias, InstrumentTerms, MasterLoad


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
class InstrumentAdmin(SymbolAdmin):
    actions = (
        operator_action("enable", "Switch on", _enable),
        operator_action("disable", "Switch off", _disable),
    )
    list_display = ("symbol", "name", "type", "expiry", "lot_size", "enabled", "sample")
    list_filter = ("exchange", "type", "enabled", "sample")
    ordering = ("symbol",)
    inlines = (AliasInline, TermsInline)


@admin.register(MasterLoad)
class MasterLoadAdmin(OperatorAdmin):
    list_display = ("source", "exchange", "segment", "as_of", "instruments", "file", "loaded_at")
    list_filter = ("source", "exchange")
    ordering = ("-loaded_at",)
