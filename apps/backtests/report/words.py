"""Numbers and moments as a trader in India reads them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from apps.engine.candles import DAY, IST
from apps.engine.units import Unit

NOTHING: Final = "\N{EN DASH}"
"""For a figure that there is none of: a ratio without a denominator."""
MINUS: Final = "\N{MINUS SIGN}"

_OWN: Final = {
    "transactionTax": "STT / CTT",
    "cagr": "CAGR",
    "roi": "ROI",
    "ipft": "IPFT",
    "sebiFee": "SEBI fee",
    "gst": "GST",
}
"""Words that are not simply the wire's own, taken apart."""
_PARTS: Final = re.compile(r"_|(?<=[a-z])(?=[A-Z0-9])")


def named(word: str) -> str:
    """`stop_loss` or `exchangeFee` as words."""
    if word in _OWN:
        return _OWN[word]
    return " ".join(_PARTS.split(word)).lower().capitalize()


def rupees(amount: float, digits: int = 2) -> str:
    """₹ with lakhs and crores set apart, such as ₹12,34,567.50."""
    text = f"{abs(amount):.{digits}f}"
    sign = MINUS if amount < 0 and float(text) else ""
    whole, point, fraction = text.partition(".")
    return f"{sign}₹{_grouped(whole)}{point}{fraction}"


def _grouped(digits: str) -> str:
    """The last three together, the others in pairs."""
    head, tail = digits[:-3], digits[-3:]
    pairs = [head[max(end - 2, 0) : end] for end in range(len(head), 0, -2)]
    return ",".join([*reversed(pairs), tail])


def number(value: float, digits: int = 2) -> str:
    """A plain figure, with the proper minus."""
    text = f"{abs(value):.{digits}f}"
    return (MINUS if value < 0 and float(text) else "") + text


def figure(value: float, unit: Unit) -> str:
    """A figure with its unit."""
    match unit:
        case Unit.RUPEES:
            return rupees(value)
        case Unit.PERCENT:
            return f"{number(value)}%"
        case Unit.COUNT:
            return number(value, 0)
        case Unit.RATIO:
            return number(value)
    return f"{number(value, 0 if float(value).is_integer() else 1)} {unit}"


def moment(seconds: int, form: str | None = None) -> str:
    """Epoch seconds in Asia/Kolkata; of a midnight, where days begin, the date alone."""
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds + IST)
    if form is None:
        form = "%d %b %Y" if (seconds + IST) % DAY == 0 else "%d %b %Y, %H:%M"
    return local.strftime(form)
