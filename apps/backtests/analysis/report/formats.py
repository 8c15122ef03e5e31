"""Formats of numbers, times and names as a trader in India reads them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from apps.engine.candles import DAY, IST
from apps.engine.results import Unit, format_number, format_rupees

__all__ = [
    "NO_VALUE",
    "format_duration",
    "format_metric",
    "format_number",
    "format_rupees",
    "format_time",
    "humanize",
]

# Stands for a metric without a value, such as a ratio without a denominator.
NO_VALUE: Final = "\N{EN DASH}"

# Names that are not simply the words of the wire name.
_NAMES: Final = {
    "transactionTax": "STT / CTT",
    "transaction_tax": "STT / CTT",
    "cagr": "CAGR",
    "sharpeRatio": "Sharpe ratio per trade",
    "sharpeRatioAnnualized": "Sharpe ratio, annual",
    "roi": "ROI",
    "ipft": "IPFT",
    "sebiFee": "SEBI fee",
    "sebi_fee": "SEBI fee",
    "isin": "ISIN",
    "equity_etf": "ETFs of shares",
    "gold_etf": "ETFs of gold",
    "silver_etf": "ETFs of silver",
    "debt_etf": "ETFs of debt",
    "liquid_etf": "liquid ETFs",
    "overseas_etf": "ETFs of shares overseas",
    "gst": "GST",
    "monte_carlo": "Monte Carlo",
}
_WORD_BREAK: Final = re.compile(r"_|(?<=[a-z])(?=[A-Z0-9])")


def humanize(name: str) -> str:
    """Write a name such as `stop_loss` or `exchangeFee` as words."""
    if name in _NAMES:
        return _NAMES[name]
    return " ".join(_WORD_BREAK.split(name)).lower().capitalize()


def format_metric(value: float, unit: Unit) -> str:
    """Format the value of a metric with its unit."""
    match unit:
        case Unit.RUPEES:
            return format_rupees(value)
        case Unit.PERCENT:
            return f"{format_number(value)}%"
        case Unit.COUNT:
            return format_number(value, 0)
        case Unit.RATIO:
            return format_number(value)
    return f"{format_number(value, 0 if float(value).is_integer() else 1)} {unit}"


def format_time(seconds: int, form: str | None = None) -> str:
    """Format epoch seconds in Asia/Kolkata; a midnight stands for a day and becomes a date."""
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds + IST)
    if form is None:
        form = "%d %b %Y" if (seconds + IST) % DAY == 0 else "%d %b %Y, %H:%M"
    return local.strftime(form)


def format_duration(seconds: float) -> str:
    """Describe an approximate duration in a fitting unit."""
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length:
            return f"about {seconds / length:.0f} {unit}s"
    count = max(1, round(seconds))
    return f"about {count} second{'' if count == 1 else 's'}"
