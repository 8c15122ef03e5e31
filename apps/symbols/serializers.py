"""Symbols on the wire."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from apps.core.api.serializers import Body
from apps.symbols.models import Instrument
from apps.symbols.services import InstrumentDetails, SymbolCheck


class VerbatimField(serializers.Field[str, str, str, Any]):
    """Any string, exactly as sent: a blank too many is what the client wants to hear about."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return data


class SymbolBody(Body):
    symbol = VerbatimField()


def verdict_out(verdict: SymbolCheck, suggestions: Sequence[str]) -> dict[str, object]:
    """`reason` and `suggestions` are left out where there are none."""
    out: dict[str, object] = {
        "valid": verdict.valid,
        "exchange": verdict.exchange,
        "symbol": verdict.symbol,
        "type": verdict.type,
        "tradable": verdict.tradable,
    }
    if verdict.reason:
        out["reason"] = verdict.reason
    if suggestions:
        out["suggestions"] = list(suggestions)
    return out


def match_out(row: Instrument) -> dict[str, object]:
    out: dict[str, object] = {
        "symbol": row.symbol,
        "name": row.name,
        "type": row.type,
        "exchange": row.exchange,
    }
    return out | {"expiry": row.expiry.isoformat()} if row.expiry else out


def profile_out(profile: InstrumentDetails) -> dict[str, object]:
    """Everything that is known of an instrument; null where a field does not apply."""
    row = profile.instrument
    return {
        "symbol": row.symbol,
        "exchange": row.exchange,
        "exchangeName": row.exchange_name,
        "name": row.name,
        "type": row.type,
        "isin": row.isin or None,
        "underlying": row.underlying or None,
        "expiry": row.expiry.isoformat() if row.expiry else None,
        "strike": row.strike,
        "optionType": row.option_type or None,
        "lotSize": row.lot_size,
        "tickSize": row.tick_size,
        "multiplier": row.multiplier,
        "freezeQuantity": row.freeze_quantity,
        "tradable": profile.verdict.tradable,
        "nextExpiries": [day.isoformat() for day in profile.next_expiries],
        "aliases": [
            {"source": alias.source, "name": alias.name, "token": alias.token or None}
            for alias in profile.aliases
        ],
    }
