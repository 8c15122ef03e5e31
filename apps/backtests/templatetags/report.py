"""Template filters of the report; a missing value is a dash."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from django import template

from apps.backtests.analysis.report import formats
from apps.engine.results import METRICS
from apps.engine.studies import ParameterPath

register: Final = template.Library()


def _register_number_filter(name: str, write: Callable[[float], str]) -> None:
    """Register a filter that formats numbers and writes a dash for other values."""

    def format_value(value: object) -> str:
        return write(value) if isinstance(value, int | float) else formats.NO_VALUE

    register.filter(name, format_value)


_register_number_filter("rupees", lambda value: formats.format_rupees(value, 0))
_register_number_filter("paise", formats.format_rupees)
_register_number_filter("number", formats.format_number)
_register_number_filter("percent", lambda value: formats.format_number(value) + "%")
_register_number_filter("count", lambda value: formats.format_number(value, 0))
_register_number_filter("tone", lambda value: "gain" if value > 0 else "loss" if value < 0 else "")
register.filter("named", formats.humanize)
register.filter("parameter", lambda path: ParameterPath(path).words)
register.filter("label", lambda name: name if ":" in name else formats.humanize(name))


@register.filter
def metric(value: object, name: str) -> str:
    """Format the value of the metric with this wire name."""
    return (
        formats.format_metric(value, METRICS[name].unit)
        if isinstance(value, int | float)
        else formats.NO_VALUE
    )


@register.filter
def indian_date(time: str) -> str:
    """Format a time of the wire as the date in India."""
    return formats.format_time(int(datetime.fromisoformat(time).timestamp()), "%d %b %Y")


@register.filter
def local_time(time: str) -> str:
    """Format a time of the wire as people in India read it; a midnight is a day."""
    return formats.format_time(int(datetime.fromisoformat(time).timestamp()))


@register.filter
def clock(value: datetime) -> str:
    """Format a time of the service itself."""
    return formats.format_time(int(value.timestamp()), "%d %b %Y, %H:%M")


def _heat(value: float) -> str:
    """Return the CSS class of a monthly return by its size in percent."""
    size = next((n for n, edge in enumerate((0.005, 1, 3, 6)) if abs(value) < edge), 4)
    return f"{'up' if value > 0 else 'down'}{size}" if size else ""


_register_number_filter("heat", _heat)
