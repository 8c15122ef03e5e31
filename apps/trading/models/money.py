"""Rupees: float64 in the engine, Decimal in whole paise in rows."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

_PAISA: Final = Decimal("0.01")
TICK: Final = Decimal("0.0001")
ZERO: Final = Decimal("0.00")


def rupees(amount: float) -> Decimal:
    """Return the amount in its stored form, half a paisa rounded up."""
    return Decimal(repr(amount)).quantize(_PAISA, ROUND_HALF_UP)


def price(amount: float) -> Decimal:
    """Return the price of one unit in its stored form: four decimals, half of the last
    rounded up.
    """
    return Decimal(repr(amount)).quantize(TICK, ROUND_HALF_UP)
