"""The parameters of a search: numbers of the steps, and their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import floor
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_validator

from apps.engine.language.fields import LARGEST, StrictModel, at_most, refused

MOST_PARAMETERS = 10
MOST_PARAMETER_VALUES = 10_000
"""Of one parameter."""
_NAME = r"[A-Za-z][A-Za-z0-9]*(\[(0|[1-9][0-9]{0,2})\])*"
PARAMETER_PATH = rf"^{_NAME}(\.{_NAME})+$"
_PATH: Final = re.compile(PARAMETER_PATH)
_PART: Final = re.compile(r"[A-Za-z0-9]+")
_FIXED: Final = frozenset({"executionSettings.initialCapital"})
"""What a simulation is told beside its steps."""
_INDEX = re.compile(r"\[(\d+)\]")
_WORD_BREAK = re.compile(r"[_.]|(?<=[a-z])(?=[A-Z0-9])")

StepsJson = dict[str, dict[str, Any]]
"""Any: steps are JSON as the client wrote it."""

Way = list[str | int]
"""Keys and indices, of which the first leads on from where one stands."""

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class ParameterPath(str):
    """A place in the steps, such as entryConditions.conditions[0].indicator1.period."""

    __slots__ = ()

    @property
    def words(self) -> str:
        """The path as words, such as "Entry condition 1 indicator 1 period"."""
        counted = _INDEX.sub(lambda index: f"_{int(index[1]) + 1}", self)
        words = _WORD_BREAK.sub(" ", counted).lower().capitalize()
        return words.replace("conditions conditions", "condition")

    @property
    def way(self) -> Way:
        """The keys and indices on the way."""
        return [int(part) if part.isdigit() else part for part in _PART.findall(self)]

    def fault_in(self, steps: Mapping[str, Any]) -> str:
        """Return the reason why a search cannot vary the path; empty if it leads to a number, or to
        a place for one.
        """
        if self in _FIXED:
            return "is not part of the strategy: it is the backtest's own"
        if not _PATH.fullmatch(self):
            return "is not a path such as exitConditions.stopLoss.percentage"
        try:
            *way, last = self.way
            container: Any = steps
            for part in way:
                container = container[part]
            value = container[last] if isinstance(last, int) else container.get(last, 0)
        except (KeyError, IndexError, TypeError, AttributeError):
            return "leads nowhere in the steps of the algorithm"
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if is_number else "leads to a value that is not a number"


class Parameter(StrictModel):
    """A number of the steps, tried at `from`, `from` + `step` and so on, up to `to`."""

    path: Annotated[str, Field(max_length=200, json_schema_extra={"pattern": PARAMETER_PATH})] = (
        Field(
            description="The dotted path of the number to vary in the steps.",
            examples=["entryConditions.conditions[0].indicator1.period"],
        )
    )
    from_: Number = Field(alias="from", description="The first value.", examples=[5])
    to: Number = Field(description="The last value, included if the steps meet it.", examples=[20])
    step: Annotated[float, Field(ge=1e-9, le=LARGEST)] = Field(
        description="The difference between two consecutive values.", examples=[5]
    )

    @property
    def count(self) -> int:
        """The number of values."""
        return floor((self.to - self.from_) / self.step + 1e-9) + 1

    def value(self, i: int) -> float:
        """Return from + i step, to ten decimals (rule 19); whole numbers as such."""
        value = round(self.from_ + i * self.step, 10)
        return int(value) if value.is_integer() else value

    @model_validator(mode="after")
    def _ascends(self) -> Parameter:
        if self.to < self.from_:
            raise refused("must not be less than from", "to")
        if self.count > MOST_PARAMETER_VALUES:
            raise refused(f"makes more than {MOST_PARAMETER_VALUES:,} values", "step")
        return self


def _some_distinct(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    if not parameters:
        raise refused("needs at least one parameter")
    if len({parameter.path for parameter in parameters}) < len(parameters):
        raise refused("names a path more than once")
    return parameters


ParameterList = Annotated[
    tuple[Parameter, ...],
    Field(strict=False, max_length=MOST_PARAMETERS, json_schema_extra={"minItems": 1}),
    at_most(MOST_PARAMETERS),
    AfterValidator(_some_distinct),
    Field(description=f"Parameters to vary (up to {MOST_PARAMETERS})."),
]


def applied(steps: Mapping[str, Any], values: Mapping[str, float]) -> StepsJson:
    """Return the steps with these values at their existing paths; untouched parts are shared."""
    changed: Any = steps
    for path, value in values.items():
        changed = with_value(changed, ParameterPath(path).way, value)
    return dict(changed)


def with_value(container: Any, way: Way, value: float) -> Any:
    """Return a copy of an object or array of JSON with another value at the end of the path."""
    copied: Any = list(container) if isinstance(container, list) else dict(container)
    first, *remaining = way
    copied[first] = with_value(copied[first], remaining, value) if remaining else value
    return copied
