"""The units of numbers, and their decimals on the wire.

A sum of binary fractions such as 0.30000000000000004 shows digits without meaning. Numbers are
computed with all digits, and rounded here once, on leaving.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray


class Unit(StrEnum):
    """The unit of a number.

    A charge is an item of a contract note before it is rounded to the paisa; a setting is a number
    as written, such as a rate, or a number that a study tries (rule 19).
    """

    COUNT = "count"
    RUPEES = "rupees"
    PRICE = "price"
    QUANTITY = "quantity"
    PERCENT = "percent"
    RATIO = "ratio"
    BARS = "bars"
    HOURS = "hours"
    DAYS = "days"
    CHARGE = "charge"
    SETTING = "setting"

    def round_all(self, values: NDArray[np.float64]) -> list[float]:
        """Round a column as NumPy does; ties may differ from `rounded`."""
        column: list[float] = (np.round(values, DECIMALS[self]) + 0.0).tolist()
        return column


DECIMALS: Final[Mapping[Unit, int]] = {
    Unit.COUNT: 0,
    Unit.RUPEES: 4,
    Unit.PRICE: 4,
    Unit.QUANTITY: 4,
    Unit.PERCENT: 6,
    Unit.RATIO: 6,
    Unit.BARS: 4,
    Unit.HOURS: 4,
    Unit.DAYS: 4,
    Unit.CHARGE: 6,
    Unit.SETTING: 10,
}
"""The most that a number of each unit has. A quantity and a volume have some after a split."""


def rounded(value: float, unit: Unit) -> float:
    """Return the number with the decimals of its unit; a negative zero is 0."""
    return round(value, DECIMALS[unit]) + 0.0


def each_rounded(values: NDArray[np.float64], unit: Unit) -> list[float]:
    """Return `rounded` of each, equal to the last bit.

    Scaled to whole numbers, values round as their decimals do unless they are within a thousandth
    of a tie, or too large to tell: those are rounded one by one.
    """
    decimals = DECIMALS[unit]
    scaled = values * 10.0**decimals
    whole = np.rint(scaled)
    column: list[float] = (whole / 10.0**decimals + 0.0).tolist()
    is_clear = (np.abs(np.abs(scaled - whole) - 0.5) > 1e-3) & (np.abs(scaled) < 1e12)
    for index in np.flatnonzero(~is_clear).tolist():
        column[index] = rounded(float(values[index]), unit)
    return column


def group_digits(digits: str) -> str:
    """Separate lakhs and crores, as India does: the last three digits, and the others in pairs."""
    head, tail = digits[:-3], digits[-3:]
    pairs = [head[max(end - 2, 0) : end] for end in range(len(head), 0, -2)]
    return ",".join([*reversed(pairs), tail])


def format_rupees(amount: float, digits: int = 2) -> str:
    """Format an amount with lakhs and crores set apart, such as ₹12,34,567.50."""
    return _format(amount, digits, "₹")


def format_number(value: float, digits: int = 2) -> str:
    """Format a number with lakhs and crores set apart and a proper minus sign."""
    return _format(value, digits, "")


def _format(value: float, digits: int, unit: str) -> str:
    text = f"{abs(value):.{digits}f}"
    sign = "\N{MINUS SIGN}" if value < 0 and float(text) else ""
    whole, point, fraction = text.partition(".")
    return f"{sign}{unit}{group_digits(whole)}{point}{fraction}"


def rupees_text(amount: float) -> str:
    """Return an amount in whole rupees, as people write it."""
    whole = round(amount)
    return f"{'-' if whole < 0 else ''}₹{group_digits(str(abs(whole)))}"
