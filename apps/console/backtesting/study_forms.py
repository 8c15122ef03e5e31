"""The form of a study: its configuration by its schema, and the numbers of an algorithm to vary."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final

from apps.algorithms.services import STEPS, Configuration
from apps.backtests.analysis import humanize
from apps.backtests.models import BacktestKind
from apps.backtests.services import STUDY_FIELDS
from apps.console.editing.edits import STEPS_FORM
from apps.console.schema_forms import FormNode, Option, Roots, form_of, read_form
from apps.core.api.resources import ref
from apps.engine.language import read_strategy
from apps.engine.studies import ParameterPath, applied

# The approximate number of steps from the first proposed value to the last.
_STEPS: Final = 6
# Numbers of these steps come first.
_FIRST_STEPS: Final = ("entryConditions", "exitConditions")


@dataclass(frozen=True, slots=True)
class StepNumber:
    """A number in the steps of an algorithm for which a search may try other values."""

    path: str
    label: str
    value: float
    node: FormNode
    steps: Configuration

    @property
    def step(self) -> str:
        return self.path.partition(".")[0]

    def proposal(self) -> dict[str, Any]:
        """Return a parameter around the value, from about half to about twice of it, as far as the
        rest of the algorithm allows it.
        """
        first, last = sorted((self.value / 2, self.value * 2)) if self.value else (0.0, _STEPS)
        if self.node.minimum is not None:
            first = max(first, self.node.minimum)
        if self.node.maximum is not None:
            last = min(last, self.node.maximum)
        step = _round_down((last - first) / _STEPS)
        if self.node.is_whole:
            step = max(step, 1)
        before = self._count_valid(-step, (self.value - first) / step)
        after = self._count_valid(step, (last - self.value) / step)
        values = {"from": self.value - before * step, "to": self.value + after * step, "step": step}
        return {"path": self.path} | {name: _plain(value) for name, value in values.items()}

    def _count_valid(self, step: float, most: float) -> int:
        """Return the number of steps from the value, up to `most`, that leave a valid algorithm."""
        numbers = range(1, math.floor(most + 1e-9) + 1)
        values = (_plain(self.value + number * step) for number in numbers)
        changed = (applied(self.steps, {self.path: value}) for value in values)
        return sum(1 for _ in takewhile(lambda steps: not read_strategy(steps).errors, changed))


def _round_down(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return power * next((digit for digit in (5, 2) if digit * power <= value), 1)


def _plain(value: float) -> float:
    rounded = round(value, 10)
    return int(rounded) if rounded == int(rounded) else rounded


def numbers_of(steps: Configuration) -> list[StepNumber]:
    """Return the numbers that a search may vary, in the order of proposal."""
    numbers = [
        number
        for root in form_of(steps, STEPS_FORM)
        for number in _numbers(root, (), steps)
        if not ParameterPath(number.path).fault_in(steps)
    ]
    steps_in_order = [*_FIRST_STEPS, *(step for step in STEPS if step not in _FIRST_STEPS)]

    def rank(number: StepNumber) -> tuple[int, bool, bool]:
        is_default, is_condition = number.node.value is None, "[" in number.path
        return steps_in_order.index(number.step), is_default, not is_condition

    return sorted(numbers, key=rank)


def _numbers(node: FormNode, names: Sequence[str], steps: Configuration) -> Iterator[StepNumber]:
    """Return the numbers below a part of the form, named by the parts on the way to it."""
    if node.kind == "number":
        value = node.default if node.value is None else node.value
        if isinstance(value, int | float):
            label = " · ".join([*names, node.label])
            yield StepNumber(node.path, f"{label}: {value:g}", value, node, steps)
        return
    is_step = "." not in node.path
    for child in node.children:
        below = [] if is_step else [*names, _name(node)] if node.kind != "list" else names
        yield from _numbers(child, below, steps)


def _name(node: FormNode) -> str:
    """Name a part of the form; an indicator by its type too."""
    types = [str(child.value) for child in node.children if child.changes_form]
    return f"{node.label} {types[0]}" if types and types[0].isupper() else node.label


def study_roots(kind: BacktestKind) -> Roots:
    """Return the fields of this kind's form; empty for a plain backtest."""
    field = STUDY_FIELDS.get(kind)
    return {field.name: ref(field.model.__name__)} if field else {}


def first_configs(
    kind: BacktestKind, own: Mapping[str, Any], numbers: Sequence[StepNumber]
) -> dict[str, Any]:
    """Return the initial values of the form: the algorithm's `own` configuration, or a proposal."""
    field = STUDY_FIELDS.get(kind)
    if field is None:
        return {}
    config = dict(own.get(field.name) or {})
    if "parameters" in field.model.model_fields and not config.get("parameters"):
        config["parameters"] = [number.proposal() for number in numbers[:1]]
        if kind is BacktestKind.WALK_FORWARD:  # its windows may test on a few days
            config.setdefault("objective", "sharpeRatio")
    return {field.name: config}


def read_study_form(
    form: Mapping[str, Any], kind: BacktestKind, numbers: Sequence[StepNumber], *, change: str
) -> dict[str, Any]:
    """Return the configuration of a form, keyed by its field.

    A parameter that is added, or whose number is changed (`choose:` and its path), gets a proposal.
    """
    configs = read_form(form, study_roots(kind), change=change)
    by_path = {number.path: number for number in numbers}
    for name, config in configs.items():
        parameters = config.get("parameters")
        if not isinstance(parameters, list):
            continue
        chosen = {parameter.get("path") for parameter in parameters if isinstance(parameter, dict)}
        for index, parameter in enumerate(parameters):
            if not parameter:
                number = next((row for row in numbers if row.path not in chosen), None)
            elif change == f"choose:{name}.parameters[{index}].path":
                number = by_path.get(str(parameter.get("path")))
            else:
                continue
            parameters[index] = number.proposal() if number else parameter
    return configs


def study_form(
    kind: BacktestKind, configs: Mapping[str, Any], numbers: Sequence[StepNumber]
) -> list[FormNode]:
    """Return the form of a study, filled in; a parameter's path is chosen from the numbers."""
    options = tuple(Option(number.path, number.label, humanize(number.step)) for number in numbers)
    return [
        replace(_with_picker(root, options), label=humanize(kind), hint="")
        for root in form_of(configs, study_roots(kind))
    ]


def _with_picker(node: FormNode, options: tuple[Option, ...]) -> FormNode:
    if not node.path.endswith("].path"):
        children = [_with_picker(child, options) for child in node.children]
        return replace(node, children=children, hint="" if node.is_removable else node.hint)
    if node.value and node.value not in {option.value for option in options}:
        options = (Option(str(node.value), str(node.value)), *options)
    return replace(node, label="Number", hint="", kind="choice", changes_form=True, options=options)
