"""Fields and messages of the form of the steps, and drawings of templates."""

from typing import Final

from django.template import Library

from apps.console.describing.drawings import draw
from apps.console.editing.messages import plain_message, plain_path
from apps.console.editing.symbols import SymbolChoice, symbol_choices
from apps.core import database

register: Final = Library()
register.simple_tag(draw, name="drawing_of")
register.filter("plain", plain_message)
register.filter("plain_path", plain_path)


@register.simple_tag(name="choices")
def _symbol_choices(text: str | None) -> list[SymbolChoice]:
    """Return the symbols of a field, and those to choose from."""
    return symbol_choices(text or "", now=database.now())


@register.filter("holds_symbols")
def _holds_symbols(path: str) -> bool:
    """Return whether a field of the steps names symbols."""
    return path.endswith((".symbols", ".on"))
