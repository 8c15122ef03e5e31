"""Symbols on the wire."""

from typing import Any

from rest_framework import serializers

from apps.core.input import Body
from apps.symbols.models import Instrument
from apps.symbols.services import Verdict


class VerbatimField(serializers.Field[str, str, str, Any]):
    """Any string, exactly as sent: a blank too many is what the client wants to hear about."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return data


class SymbolBody(Body):
    symbol = VerbatimField()


def verdict_out(verdict: Verdict) -> dict[str, object]:
    out: dict[str, object] = {
        "valid": verdict.valid,
        "exchange": verdict.exchange,
        "symbol": verdict.symbol,
        "type": verdict.type,
        "tradable": verdict.tradable,
    }
    return out | {"reason": verdict.reason} if verdict.reason else out


def match_out(row: Instrument) -> dict[str, object]:
    out: dict[str, object] = {
        "symbol": row.symbol,
        "name": row.name,
        "type": row.type,
        "exchange": row.exchange,
    }
    return out | {"expiry": row.expiry.isoformat()} if row.expiry else out


def instrument_out(row: Instrument, verdict: Verdict) -> dict[str, object]:
    """Everything that is known of an instrument; null where a field does not apply."""
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
        "tradable": verdict.tradable,
    }
