"""Edits of the steps in the form: by a button, a choice or the Enter key."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from apps.algorithms.serializers import step_refs
from apps.console.editing.choices import find_choices, fragment_of, verb_of
from apps.console.schema_forms import NUMBER_KIND, read_form

STEPS_FORM = step_refs()
_SEARCH = "search:"
_MOVES = ("rising", "falling")


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a posted form: its action, its path, and the chosen or searched text."""

    action: str = ""  # add, put, remove, choose, find, typing, check or save
    path: str = ""
    text: str = ""

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> "Edit":
        """Read the button. Enter in a search takes its first match."""
        action, _, target = str(form.get("change", "")).partition(":")
        path, _, text = target.partition("=")
        if action == "find":
            return cls(action, path, str(form.get(_SEARCH + path, "")))
        if action == "check":
            for name, typed in form.items():
                if name.startswith(_SEARCH) and str(typed).strip():
                    path = name.removeprefix(_SEARCH)
                    for choice in find_choices(path, str(typed))[:1]:
                        return cls(verb_of(path), path, choice.text)
        return cls(action, path, text)

    def read(self, form: Mapping[str, Any]) -> dict[str, Any]:
        """Return the steps of the form after this edit."""
        change = f"{self.action}:{self.path}"
        steps = read_form(form, STEPS_FORM, change=change, content=self._content)
        trail = steps["exitConditions"].get("trailingStop")
        if change == "choose:exitConditions.trailingStop.type" and isinstance(trail, dict):
            trail.setdefault("enabled", True)
        for step in ("entryConditions", "exitConditions"):
            _agree(steps[step].get("conditions"))
        return steps

    @property
    def _content(self) -> Any:
        if self.text == NUMBER_KIND:
            return 1
        fragment = fragment_of(self.text)
        if fragment is None:
            return self.text or None
        return deepcopy(dict(fragment))


def _agree(conditions: Any) -> None:
    """Give each comparison the type of what it now compares."""
    for condition in conditions if isinstance(conditions, list) else ():
        if not isinstance(condition, dict):
            continue
        _agree(condition.get("conditions"))
        if condition.get("type") not in ("indicator_value", "indicator_indicator"):
            continue
        left = condition.pop("indicator1", None) or condition.pop("indicator", None)
        right = condition.pop("indicator2", None)
        if condition.get("operator") in _MOVES:
            condition.pop("value", None)
        else:
            condition.pop("candles", None)
        is_pair = isinstance(right, dict) and condition.get("operator") not in _MOVES
        condition["type"] = "indicator_indicator" if is_pair else "indicator_value"
        if left is not None:
            condition["indicator1" if is_pair else "indicator"] = left
        if is_pair:
            condition.pop("value", None)
            condition["indicator2"] = right
        elif isinstance(right, int):
            condition["value"] = right
