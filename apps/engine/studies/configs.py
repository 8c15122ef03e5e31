"""The studies beside one simulation: walk-forward, Monte Carlo, optimisation.

The models parse requests, and their JSON schema is the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import floor
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, ValidationError, model_validator

from apps.engine.errors import InvalidStrategy
from apps.engine.language.fields import (
    LARGEST,
    Maybe,
    Percentage,
    StrictModel,
    Whole,
    at_most,
    refused,
)
from apps.engine.language.validation_errors import field_errors
from apps.engine.results.table import METRICS
from apps.engine.studies.windows import sessions_needed

MOST_PARAMETERS = 10
MOST_PARAMETER_VALUES = 10_000
"""Of one parameter."""
MOST_SIMULATIONS = 1_000_000
"""Simulations of one study: a set counts once for each window of a walk-forward."""
MOST_RUNS = 1_000_000
"""Resamplings of one Monte Carlo."""
_NAME = r"[A-Za-z][A-Za-z0-9]*(\[(0|[1-9][0-9]{0,2})\])*"
PARAMETER_PATH = rf"^{_NAME}(\.{_NAME})+$"
"""A place in the steps, such as entryConditions.conditions[0].indicator1.period."""
_INDEX = re.compile(r"\[(\d+)\]")
_WORD_BREAK = re.compile(r"[_.]|(?<=[a-z])(?=[A-Z0-9])")

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
MOST_SEED = int(LARGEST)
"""No number over this one may be sent, so none is drawn."""
Seed = Annotated[int, Field(ge=0, le=MOST_SEED), Whole]

SHOWN = (
    "totalTrades",
    "netProfit",
    "roi",
    "winRate",
    "profitFactor",
    "sharpeRatio",
    "sharpeRatioAnnualized",
    "maxDrawdown",
)
"""The figures that a study shows of each set."""
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
"""That a Monte Carlo tells."""

if TYPE_CHECKING:
    Objective: TypeAlias = str
else:
    Objective = Literal[tuple(METRICS)]

_OBJECTIVE = Field(
    "sharpeRatioAnnualized", description="The metric that ranks the sets, the best first."
)
_SEED = Field(
    None,
    description=(
        "The seed that makes random draws repeatable. Absent: a seed is drawn and shown in"
        " the receipt."
    ),
    examples=[42],
)


def parameter_name(path: str) -> str:
    """Write a path as words: `entryConditions.conditions[0].indicator1.period` as "Entry condition
    1 indicator 1 period".
    """
    counted = _INDEX.sub(lambda index: f"_{int(index[1]) + 1}", path)
    words = _WORD_BREAK.sub(" ", counted).lower().capitalize()
    return words.replace("conditions conditions", "condition")


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


class WalkForwardConfig(StrictModel):
    """Parameters chosen in each window's training days and traded in the days after them."""

    windows: Annotated[int, Field(ge=2, le=50), Whole] = Field(
        5,
        description="The number of windows, each with training and test days: 2 to 50.",
    )
    trainRatio: Annotated[float, Field(ge=0.1, le=0.9)] = Field(
        0.7, description="The share of training days in each window: 0.1 to 0.9."
    )
    anchored: bool = Field(
        False,
        description="An expanding training window, from the first day on; otherwise it rolls.",
    )
    parameters: ParameterList
    objective: Objective = _OBJECTIVE

    def sessions_needed(self, *, days: int = 1) -> int:
        """Return the least number of session days for testing on this many in each window."""
        return sessions_needed(self.windows, self.trainRatio, days=days)


class MonteCarloConfig(StrictModel):
    """The trades resampled many times.

    `ruinThreshold` is the percent of the capital lost at ruin; `blockLength`, the number of trades
    kept together, is for block_bootstrap.
    """

    runs: Annotated[int, Field(ge=1, le=MOST_RUNS), Whole] = Field(
        10_000, description="The number of paths to draw."
    )
    method: Literal["shuffle", "bootstrap", "block_bootstrap"] = Field(
        "bootstrap",
        description=(
            "`shuffle` changes only the order of the trades; `bootstrap` draws each trade"
            " independently; `block_bootstrap` draws runs of trades that stay together."
        ),
    )
    blockLength: Maybe[Annotated[int, Field(ge=1, le=10_000), Whole]] = Field(
        None,
        description=(
            "Only for block_bootstrap: the number of trades that stay together. Absent:"
            " the cube root of the number of trades."
        ),
        examples=[5],
    )
    ruinThreshold: Percentage = Field(
        50.0, description="A loss of this percentage of the capital counts as ruin."
    )
    seed: Maybe[Seed] = _SEED


class OptimizationConfig(StrictModel):
    """Parameters tried over the whole range, all sets or `maxRuns` random ones."""

    parameters: ParameterList
    objective: Objective = _OBJECTIVE
    method: Literal["grid", "random"] = Field(
        "grid", description="Try all sets (`grid`), or `maxRuns` random ones (`random`)."
    )
    seed: Maybe[Seed] = _SEED
    maxRuns: Annotated[int, Field(ge=1, le=MOST_SIMULATIONS), Whole] = Field(
        1000, description="The maximum number of sets; a larger grid is an error."
    )


Config: TypeAlias = WalkForwardConfig | MonteCarloConfig | OptimizationConfig
Asked = TypeVar("Asked", bound=StrictModel)


class InvalidStudy(InvalidStrategy):
    """A field of a study has a wrong type, range, value or name, or is missing."""


def parse_config(kind: type[Asked], sent: Mapping[str, object]) -> Asked:
    """Return the configuration.

    Raises InvalidStudy with every error; its paths begin inside the configuration.
    """
    try:
        return kind.model_validate(dict(sent))
    except ValidationError as error:
        wrong, missing = field_errors(error, kind)  # nothing of a study may be left for later
        raise InvalidStudy((*wrong, *missing)) from error
