from django.contrib import admin
from django.http import HttpRequest

from apps.symbols.models import Instrument


@admin.register(Instrument)
class InstrumentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Facts come from the master; an operator may only switch an instrument off and on."""

    list_display = ("symbol", "name", "type", "expiry", "enabled", "sample")
    list_filter = ("exchange", "type", "enabled", "sample")
    search_fields = ("symbol", "name", "exchange_name", "isin")

    def get_readonly_fields(self, request: HttpRequest, obj: Instrument | None = None) -> list[str]:
        return [field.name for field in Instrument._meta.fields if field.name != "enabled"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Instrument | None = None) -> bool:
        return False
