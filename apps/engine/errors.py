"""Errors about the engine's input. Each carries values beside its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final


class EngineError(Exception):
    """Base of all intentional errors of the engine."""

    is_insufficient: ClassVar[bool] = False
    """Whether a longer range would do."""


class _Absent:
    """Stands for an absent value; None is a null that was sent."""

    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class FieldError:
    """A wrong or missing field of a strategy.

    `field` is the dotted path (`entryConditions.conditions[0].indicator1.period`), `message` a
    sentence with the path, `value` the value sent there, of any size (ABSENT without one),
    `allowed` the closed set of values, if there is one.
    """

    field: str
    message: str
    value: object = ABSENT
    allowed: tuple[object, ...] | None = None

    @property
    def has_value(self) -> bool:
        return self.value is not ABSENT


class InvalidStrategy(EngineError):
    """A field of a strategy has a wrong type, range, value or name."""

    def __init__(self, errors: tuple[FieldError, ...], message: str = "") -> None:
        super().__init__(message or errors[0].message)
        self.errors = errors


class IncompleteStrategy(InvalidStrategy):
    """The given fields are valid, but steps are incomplete."""

    def __init__(self, missing: tuple[str, ...], errors: tuple[FieldError, ...]) -> None:
        super().__init__(errors, f"These steps are not complete: {', '.join(missing)}.")
        self.missing = missing


LEAST_BARS = 2
"""A signal at one bar's close trades at the next one's open."""


class InsufficientBars(EngineError):
    """Too few bars of a symbol remain in the range after the warm-up of its indicators."""

    is_insufficient = True

    def __init__(self, symbol: str, *, held: int, needed: int) -> None:
        super().__init__(f"{symbol} has {held} bars in the range after warm-up; {needed} needed.")
        self.symbol = symbol
        self.held = held
        self.needed = needed


MOST_TRADES = 1_000_000
"""Of one simulation: more than a day trader's lifetime, and more than memory should hold."""


class TooManyTrades(EngineError):
    """A strategy with an endless number of trades."""

    def __init__(self) -> None:
        super().__init__(f"It makes more than {MOST_TRADES:,} trades; shorten the range.")
