"""The configuration steps: their names, and the engine's findings about them.

The engine describes the steps (`apps.engine.language`). Here its findings become errors, missing
steps and warnings.
"""

from collections.abc import Collection, Mapping
from typing import Final

from apps.core.errors import WITHHELD, Code, Fault, InvalidInput, ServiceError
from apps.engine.language import FieldError, Reading, Strategy, read_strategy

Configuration = dict[str, dict[str, object]]
"""All six objects of the five steps, by wire name."""

STEPS: Final[Mapping[str, str]] = {
    "basicInfo": "basic_info",
    "positionSizing": "position_sizing",
    "entryConditions": "entry_conditions",
    "exitConditions": "exit_conditions",
    "riskParameters": "risk_parameters",
    "executionSettings": "execution_settings",
}
"""The wire name of each object of the five steps (the fifth has two), and its column."""

STRATEGY_TYPES: Final = Strategy.TYPES


class AlgorithmIncomplete(ServiceError):
    """The stored steps cannot be run."""

    code = Code.ALGORITHM_INCOMPLETE
    message = "The algorithm is not complete; these steps are missing: {missingFields}."


def is_complete(configuration: Configuration, *, sent: Collection[str]) -> bool:
    """Return whether every step is complete and valid.

    Raises InvalidInput for errors in `sent` steps. A step stored before a rule became stricter does
    not block a change elsewhere: the configuration is then only incomplete.
    """
    reading = read_strategy(configuration)
    refused = [to_fault(fault) for fault in reading.errors if step_of(fault) in sent]
    if refused:
        raise InvalidInput(*refused)
    return reading.strategy is not None


def unfinished_steps(reading: Reading) -> list[str]:
    """Return the steps that keep the configuration from running: incomplete steps, and steps stored
    before a rule became stricter.
    """
    faulty = {step_of(fault) for fault in reading.problems}
    return [step for step in STEPS if step in faulty]


def step_of(fault: FieldError) -> str:
    return fault.field.partition(".")[0]


def to_fault(fault: FieldError) -> Fault:
    """Return the engine's fault in the service's form, with a message that does not repeat the
    path.
    """
    return Fault(
        field=fault.field,
        message=fault.message.removeprefix(f"{fault.field} "),
        value=fault.value if fault.has_value else WITHHELD,
        allowed=fault.allowed,
    )
