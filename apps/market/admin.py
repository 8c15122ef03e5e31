"""Files of candles and corporate actions, for operators to read."""

from django.contrib import admin
from django.db.models import Q

from apps.core.operator_pages import OperatorAdmin
from apps.market.models import CandleFile, CorporateAction, Dividend


@admin.register(CandleFile)
class CandleFileAdmin(OperatorAdmin):
    list_display = ("loaded_at", "file", "format", "timeframe", "instruments", "rows", "bars")
    list_filter = ("format", "timeframe")


@admin.register(CorporateAction)
class CorporateActionAdmin(OperatorAdmin):
    list_display = ("symbol", "ex_date", "kind", "terms", "source", "loaded_at")
    list_filter = ("kind",)
    searched = {"symbol": "an instrument"}
    search_help_text = "A whole symbol, such as NSE:RELIANCE."

    def matching(self, term: str) -> Q:
        return Q(symbol=term.upper())


@admin.register(Dividend)
class DividendAdmin(OperatorAdmin):
    list_display = ("symbol", "ex_date", "amount", "source", "loaded_at")
    searched = {"symbol": "an instrument"}
    search_help_text = "A whole symbol, such as NSE:RELIANCE."

    def matching(self, term: str) -> Q:
        return Q(symbol=term.upper())
