"""How the console writes amounts, ratios, times and names."""

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.template import Library

from apps.backtests.report import formats
from apps.core.times import duration_text
from apps.engine.units import Unit

register: Final = Library()
_INDIA: Final = ZoneInfo("Asia/Kolkata")


@register.filter("rupees")
def _write_rupees(amount: float | None) -> str:
    """Write whole rupees, lakhs and crores set apart."""
    return formats.NO_VALUE if amount is None else formats.format_rupees(float(amount), 0)


@register.filter("number")
def _write_number(value: float | None, digits: int = 2) -> str:
    return formats.NO_VALUE if value is None else formats.format_number(float(value), digits)


@register.filter("percent")
def _write_percent(value: float | None) -> str:
    return formats.NO_VALUE if value is None else f"{formats.format_number(float(value))}%"


@register.filter("sign")
def _write_sign(value: float | None) -> str:
    """Name the class of a gain or a loss; its number says the sign too."""
    return "gain" if value and value > 0 else "loss" if value and value < 0 else ""


@register.filter("when")
def _write_when(moment: str | datetime | None) -> str:
    """Write a moment of the wire as people in India read it."""
    if not moment:
        return formats.NO_VALUE
    time = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return time.astimezone(_INDIA).strftime("%d %b %Y, %H:%M")


@register.filter("duration")
def _write_duration(seconds: float) -> str:
    """Write hours, minutes and seconds."""
    return duration_text(max(seconds, 1))


@register.filter("words")
def _write_words(name: Any) -> str:
    """Write a wire name such as `stop_loss` as words."""
    return formats.humanize(str(name)) if name else formats.NO_VALUE


@register.filter("of")
def _write_of(mapping: Any, key: Any) -> Any:
    """Look a key up that is itself a variable; None where there is none."""
    return mapping.get(key) if mapping else None


@register.filter("rate")
def _write_rate(percent: float) -> str:
    """Write a rate with all of its places: 0.0001 percent of a crore is 10 rupees."""
    return f"{percent:.7f}".rstrip("0").rstrip(".") + "%"


@register.filter("fact")
def _write_fact(value: Any) -> str:
    """Write what is known of an instrument: a text, a number, yes or no, or several of them."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or formats.NO_VALUE
    return formats.NO_VALUE if value in (None, "") else str(value)


@register.simple_tag(name="metric")
def _write_metric(value: float | None, unit: Unit) -> str:
    """Write the value of a metric with its unit."""
    return formats.NO_VALUE if value is None else formats.format_metric(value, unit)
