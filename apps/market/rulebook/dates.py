"""Dates as the engine counts them."""

from datetime import date
from typing import Final

_EPOCH: Final = date(1970, 1, 1)


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return (day - _EPOCH).days
