"""Rupees: float64 where the engine reckons, Decimal in whole paise where they are kept."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

PAISA: Final = Decimal("0.01")
TICK: Final = Decimal("0.0001")
NOTHING: Final = Decimal("0.00")


def rupees(amount: float) -> Decimal:
    """The amount as it is written, half a paisa rounded up."""
    return Decimal(repr(amount)).quantize(PAISA, ROUND_HALF_UP)


def price(amount: float) -> Decimal:
    """Of one unit, as it is kept: four decimals, half of the last rounded up."""
    return Decimal(repr(amount)).quantize(TICK, ROUND_HALF_UP)
