"""Rows of an instrument master, for tests."""

from datetime import date
from typing import Any

from apps.symbols.models import Instrument, MasterLoad, Segment, Type
from tests import make


def equity(symbol: str, **fields: Any) -> Instrument:
    return _instrument(symbol, **{"type": Type.EQUITY, "segment": Segment.CASH} | fields)


def future(symbol: str, *, expiry: date, **fields: Any) -> Instrument:
    kind = {"type": Type.FUTURES, "segment": Segment.DERIVATIVES, "expiry": expiry}
    return _instrument(symbol, **kind | fields)


def option(
    symbol: str, *, expiry: date, strike: int, option_type: str, **fields: Any
) -> Instrument:
    return _instrument(
        symbol,
        type=Type.OPTIONS,
        segment=Segment.DERIVATIVES,
        expiry=expiry,
        strike=strike,
        option_type=option_type,
        **fields,
    )


def master_of_derivatives(exchange: str = "NSE") -> MasterLoad:
    """Record the load of an empty master of derivatives."""
    return MasterLoad.objects.create(
        source="kite",
        exchange=exchange,
        segment=Segment.DERIVATIVES,
        as_of=date(2026, 6, 1),
        instruments=1,
        file="test",
        loaded_at=make.NOW,
    )


def _instrument(symbol: str, **fields: Any) -> Instrument:
    exchange, _, code = symbol.partition(":")
    facts = {
        "symbol": symbol,
        "exchange": exchange,
        "code": code,
        "exchange_name": code,
        "name": code.title(),
        "lot_size": 1,
        "source": "test",
    }
    return Instrument.objects.create(**facts | fields)
