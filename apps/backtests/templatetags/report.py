"""The words of the report as filters of its template; what there is none of is a dash."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from django import template

from apps.backtests.report import words

register: Final = template.Library()


def _of_numbers(name: str, write: Callable[[float], str]) -> None:
    """A filter that writes numbers, and a dash for anything else."""

    def written(value: object) -> str:
        return write(value) if isinstance(value, int | float) else words.NOTHING

    register.filter(name, written)


_of_numbers("rupees", lambda value: words.rupees(value, 0))
_of_numbers("paise", words.rupees)
_of_numbers("number", words.number)
_of_numbers("percent", lambda value: words.number(value) + "%")
_of_numbers("moment", lambda value: words.moment(int(value)))
_of_numbers("tone", lambda value: "gain" if value > 0 else "loss" if value < 0 else "")
register.filter("named", words.named)
register.filter("label", lambda name: name if ":" in name else words.named(name))


@register.filter
def clock(value: datetime) -> str:
    """A moment of the service's own."""
    return words.moment(int(value.timestamp()), "%d %b %Y, %H:%M")


def _heat(value: float) -> str:
    """The class of a month's return, by its size in percent."""
    size = next((n for n, edge in enumerate((0.005, 1, 3, 6)) if abs(value) < edge), 4)
    return f"{'up' if value > 0 else 'down'}{size}" if size else ""


_of_numbers("heat", _heat)
