from django.contrib import admin
from django.http import HttpRequest

from apps.market.models import CandleBlock


@admin.register(CandleBlock)
class CandleBlockAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """What history is held. Blocks are written by loading candles, never by hand."""

    list_display = [
        "symbol",
        "timeframe",
        "block_start",
        "bars",
        "first_time",
        "last_time",
        "synthetic",
    ]
    list_filter = ["timeframe", "synthetic"]
    search_fields = ["symbol"]
    exclude = ["data", "days"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: CandleBlock | None = None) -> bool:
        return False
