"""The studies beside one simulation: walk-forward, Monte Carlo, optimisation.

The models parse requests, and their JSON schema is the documentation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, ValidationError

from apps.engine.errors import FieldError, InvalidStrategy
from apps.engine.language.fields import (
    LARGEST,
    Maybe,
    Percentage,
    StrictModel,
    Whole,
)
from apps.engine.language.validation_errors import field_errors
from apps.engine.results.table import METRICS, least_dates
from apps.engine.studies.grid import Grid
from apps.engine.studies.parameters import ParameterList
from apps.engine.studies.search_errors import parameters_to_json, path_errors
from apps.engine.studies.windows import sessions_needed

MOST_SIMULATIONS = 1_000_000
"""Simulations of one study: a set counts once for each window of a walk-forward."""
MOST_RUNS = 1_000_000
"""Resamplings of one Monte Carlo."""
Seed = Annotated[int, Field(ge=0, le=int(LARGEST)), Whole]

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


class StudyConfig(StrictModel):
    """The configuration of a study."""

    # No number over this one may be sent, so none is drawn.
    MOST_SEED: ClassVar = int(LARGEST)

    @classmethod
    def read(cls, sent: Mapping[str, object]) -> Self:
        """Return the configuration.

        Raises InvalidStudy with every error; its paths begin inside the configuration.
        """
        try:
            return cls.model_validate(dict(sent))
        except ValidationError as error:
            wrong, missing = field_errors(error, cls)  # nothing of a study may be left for later
            raise InvalidStudy((*wrong, *missing)) from error

    @property
    @abstractmethod
    def items(self) -> int:
        """The number of simulations of a search, or of paths of a Monte Carlo."""

    def errors_in(self, steps: Mapping[str, Any]) -> tuple[FieldError, ...]:
        """Return the errors of the study of complete steps."""
        return ()


class InvalidStudy(InvalidStrategy):
    """A field of a study has a wrong type, range, value or name, or is missing."""


class SearchConfig(StudyConfig):
    """The configuration of a search for the best parameters."""

    if TYPE_CHECKING:  # each search documents its fields in an order of its own
        parameters: ParameterList
        objective: Objective

    @property
    def sets(self) -> int:
        """The number of sets, with those that trade alike."""
        return prod(parameter.count for parameter in self.parameters)

    def grid(self, steps: Mapping[str, Any]) -> Grid:
        """Return all sets of the parameters."""
        return Grid(self.parameters, steps)

    def errors_in(self, steps: Mapping[str, Any]) -> tuple[FieldError, ...]:
        """Return the errors of its parameters, else of its size."""
        return path_errors(steps, self.parameters) or self.size_errors()

    def size_errors(self) -> tuple[FieldError, ...]:
        """Return the error of a search with too many sets."""
        fault = self._size_fault()
        return () if fault is None else (fault,)

    @abstractmethod
    def _size_fault(self) -> FieldError | None: ...


class WalkForwardConfig(SearchConfig):
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

    @property
    def items(self) -> int:
        return self.sets * self.windows

    def test_days(self, timeframe: str) -> int:
        """Return the least number of days to test on: more than one if the objective is annual."""
        return least_dates(timeframe) if METRICS[self.objective].annual else 1

    def sessions_needed(self, *, days: int = 1) -> int:
        """Return the least number of session days for testing on this many in each window."""
        return sessions_needed(self.windows, self.trainRatio, days=days)

    def _size_fault(self) -> FieldError | None:
        most = MOST_SIMULATIONS // self.windows
        if self.sets <= most:
            return None
        message = (
            f"parameters make {self.sets:,} sets; at most {most:,} are tried in so many windows"
        )
        return FieldError("parameters", message, parameters_to_json(self.parameters))


class MonteCarloConfig(StudyConfig):
    """The trades resampled many times.

    `ruinThreshold` is the percent of the capital lost at ruin; `blockLength`, the number of trades
    kept together, is for block_bootstrap.
    """

    # The paths of the chart.
    FAN_PATHS: ClassVar = 500

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

    @property
    def items(self) -> int:
        return self.runs


class OptimizationConfig(SearchConfig):
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

    @property
    def items(self) -> int:
        return min(self.sets, self.maxRuns)

    def _size_fault(self) -> FieldError | None:
        if self.method == "random" or self.sets <= self.maxRuns:
            return None
        message = (
            f"maxRuns is less than the {self.sets:,} sets of the grid; method random draws from"
            " them"
        )
        return FieldError("maxRuns", message, self.maxRuns)
