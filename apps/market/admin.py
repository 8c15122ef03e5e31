"""Files of candles and corporate actions, for operators to read."""

from django.contrib import admin

from apps.core.operator_pages import OperatorAdmin, SymbolAdmin
from apps.market.models import CandleFile, CorporateAction, Dividend


@admin.register(CandleFile)
class CandleFileAdmin(OperatorAdmin):
    list_display = ("loaded_at", "file", "format", "timeframe", "instruments", "rows", "bars")
    list_filter = ("format", "timeframe")


@admin.register(CorporateAction)
class CorporateActionAdmin(SymbolAdmin):
    list_display = ("symbol", "ex_date", "kind", "terms", "source", "loaded_at")
    list_filter = ("kind",)


@admin.register(Dividend)
class DividendAdmin(SymbolAdmin):
    list_display = ("symbol", "ex_date", "amount", "source", "loaded_at")
