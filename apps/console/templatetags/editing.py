"""Fields and messages of the form of the steps, and drawings of templates."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from django.template import Library
from django.utils.html import format_html

from apps.console.describing.drawings import draw
from apps.console.editing.choices import find_choices, verb_of
from apps.console.editing.messages import plain_message, plain_path
from apps.console.editing.symbols import SymbolChoice, symbol_choices
from apps.console.schema_forms import FormNode
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


@register.inclusion_tag("console/parts/matches.html", name="matches")
def _matches(path: str, text: str = "") -> dict[str, Any]:
    """List what may stand at a path of the steps."""
    return {"path": path, "verb": verb_of(path), "choices": find_choices(path, text)}


@register.filter(name="concerned_by")
def _is_concerned(nodes: Collection[FormNode], messages: Mapping[str, str]) -> bool:
    """Return whether one of the messages by field is about one of the nodes."""
    paths = tuple(node.path for node in nodes)
    return any(field.startswith(paths) for field in messages)


@register.filter(name="compared")
def _compared(condition: FormNode) -> FormNode:
    """Return the empty place of the second indicator of a comparison with a number."""
    return FormNode(f"{condition.path}.indicator2", "Compared with", "", "operand")


@register.simple_tag(takes_context=True, name="problem")
def _problem(context: Mapping[str, Any], path: str) -> str:
    """Write the problem of a field or, without one, what is doubtful about it."""
    problem, doubt = (context.get(name, {}).get(path) for name in ("problems", "doubts"))
    if problem:
        return plain_message(problem)
    return format_html('<span class="doubt">{}</span>', plain_message(doubt)) if doubt else ""
