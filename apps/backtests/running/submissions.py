"""The content of a request: the date range, the overrides of the algorithm, and the configuration
of a study.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from apps.algorithms.services import AlgorithmIncomplete, to_fault, unfinished_steps
from apps.backtests.models import BacktestKind
from apps.core.errors import Fault, InvalidInput
from apps.core.times import day_in_india, midnight, read_moment
from apps.engine.language import FieldError, InvalidStrategy, Strategy, read_strategy
from apps.engine.studies import (
    MonteCarloConfig,
    OptimizationConfig,
    StudyConfig,
    WalkForwardConfig,
)
from apps.market.candles import EARLIEST

# The steps of an algorithm, as JSON.
Steps = Mapping[str, Mapping[str, Any]]
# Configurations of studies keyed by field name; None for absent ones.
StudyConfigs = Mapping[str, Mapping[str, object] | None]


class StudyField(NamedTuple):
    """The field of a request that configures a study, and its model."""

    name: str
    model: type[StudyConfig]


STUDY_FIELDS: Final[Mapping[BacktestKind, StudyField]] = {
    BacktestKind.WALK_FORWARD: StudyField("walkForwardConfig", WalkForwardConfig),
    BacktestKind.MONTE_CARLO: StudyField("monteCarloConfig", MonteCarloConfig),
    BacktestKind.OPTIMIZATION: StudyField("optimizationConfig", OptimizationConfig),
}

# The step and the field behind each override.
OVERRIDES: Final[Mapping[str, tuple[str, str]]] = {
    "symbols": ("basicInfo", "symbols"),
    "timeframe": ("basicInfo", "timeframe"),
    "initialCapital": ("executionSettings", "initialCapital"),
    "slippage": ("executionSettings", "slippage"),
    "charges": ("executionSettings", "charges"),
}


@dataclass(frozen=True, slots=True)
class DateRange:
    """The range of bars with start <= time < end, in epoch seconds, and the client's own texts."""

    start: int
    end: int
    start_date: str
    end_date: str


def read_date_range(start_date: str, end_date: str, *, now: datetime) -> DateRange:
    """Return the range of a backtest; dates are whole days in India, the last included (rule 18).

    Raises InvalidInput if a text is not a date or time, the range is empty, or it starts before
    1990 or after `now`.
    """
    start = read_moment("startDate", start_date, last=False)
    end = read_moment("endDate", end_date, last=True)
    if start > now.timestamp():
        raise InvalidInput(Fault("startDate", "must not be in the future", start_date))
    if start < EARLIEST.timestamp():
        raise InvalidInput(Fault("startDate", f"must not be before {EARLIEST.date()}", start_date))
    if end <= start:
        raise InvalidInput(Fault("endDate", "must not be before startDate", end_date))
    return DateRange(start, end, start_date, end_date)


def ends_in_future(end: int, *, submitted_at: datetime) -> bool:
    """Return whether a range that ends before `end` (epoch seconds) extends beyond the date of
    submission in India.
    """
    tomorrow = day_in_india(int(submitted_at.timestamp())) + timedelta(days=1)
    return end > midnight(tomorrow)


def override_steps(steps: Steps, overrides: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """Return the steps with the overrides applied."""
    overridden = {name: dict(step) for name, step in steps.items()}
    for name, value in overrides.items():
        step, field = OVERRIDES[name]
        overridden[step][field] = value
    return overridden


def parse_steps(steps: Steps, stored: Steps, overrides: Mapping[str, object]) -> Strategy:
    """Return the strategy of the overridden steps.

    Raises InvalidInput for an error in an override or caused by one, and AlgorithmIncomplete for
    other errors.
    """
    reading = read_strategy(steps)
    engine_faults = reading.problems
    faults = [fault for error in engine_faults if (fault := _fault_in_override(error, overrides))]
    if reading.errors and not faults:
        faults = _faults_caused_by_overrides(stored, overrides)
    if faults:
        raise InvalidInput(*faults)
    if reading.strategy is None:
        raise AlgorithmIncomplete(missingFields=unfinished_steps(reading))
    return reading.strategy


def _fault_in_override(error: FieldError, overrides: Iterable[str]) -> Fault | None:
    fault = to_fault(error)
    for name in overrides:
        path = ".".join(OVERRIDES[name])
        if fault.field == path or fault.field.startswith(path + "["):
            return Fault(name + fault.field[len(path) :], fault.message, fault.value, fault.allowed)
    return None


def _faults_caused_by_overrides(stored: Steps, overrides: Mapping[str, object]) -> list[Fault]:
    """Return errors that an override causes elsewhere, such as a timeframe longer than those of
    indicators.
    """
    before = {fault.field for fault in read_strategy(stored).errors}
    return [
        Fault(name, fault.message, value)
        for name, value in overrides.items()
        for fault in read_strategy(override_steps(stored, {name: value})).errors
        if fault.field not in before
    ]


def study_config(
    kind: BacktestKind, *, requested: StudyConfigs, stored: StudyConfigs, steps: Mapping[str, Any]
) -> StudyConfig | None:
    """Return the configuration of a study: from the request, else the algorithm's own, else the
    defaults; None for a plain backtest.

    `steps` are complete. Raises InvalidInput.
    """
    field = STUDY_FIELDS.get(kind)
    unused = [name for name in requested if field is None or name != field.name]
    if unused:
        message = f"is not used by kind {kind}"
        raise InvalidInput(*(Fault(name, message, requested[name]) for name in unused))
    if field is None:
        return None
    is_stored = field.name not in requested and stored.get(field.name) is not None
    values = (stored if is_stored else requested).get(field.name)
    try:
        config = field.model.read(values or {})
    except InvalidStrategy as error:
        raise _invalid_config(field.name, error.errors, is_stored=is_stored) from error
    if faults := config.errors_in(steps):
        raise _invalid_config(field.name, faults, is_stored=is_stored)
    return config


def _invalid_config(name: str, faults: tuple[FieldError, ...], *, is_stored: bool) -> InvalidInput:
    """Return the errors of a configuration, with paths that begin at its field in the request."""
    origin = " (in the algorithm, as the request has none)" if is_stored else ""
    return InvalidInput(
        *(
            replace(fault, field=f"{name}.{fault.field}", message=fault.message + origin)
            for fault in map(to_fault, faults)
        )
    )
