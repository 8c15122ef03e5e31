"""What can be wrong with what the engine is given. Each error carries values, not prose alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


class EngineError(Exception):
    """Base of everything the engine raises on purpose."""


class _Absent:
    """Stands where nothing was sent; None is a null that was."""

    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong or missing in a strategy.

    `field` is the dotted path (`entryConditions.conditions[0].indicator1.period`), `message` a
    sentence that names it, `value` what was sent there, however large (ABSENT where nothing was),
    `allowed` the closed set of values, if it is one.
    """

    field: str
    message: str
    value: object = ABSENT
    allowed: tuple[object, ...] | None = None


class InvalidStrategy(EngineError):
    """A field of a strategy has a wrong type, range, value or name."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


class IncompleteStrategy(EngineError):
    """Every field that is there is right, but steps are not finished."""

    def __init__(self, missing: tuple[str, ...], errors: tuple[FieldError, ...]) -> None:
        super().__init__(f"These steps are not complete: {', '.join(missing)}.")
        self.missing = missing
        self.errors = errors


LEAST_BARS = 2
"""A signal at one bar's close trades at the next one's open."""


class InsufficientBars(EngineError):
    """Too few bars of a symbol are left in the range once its indicators are warm."""

    def __init__(self, symbol: str, *, held: int, needed: int) -> None:
        super().__init__(f"{symbol} has {held} bars in the range after warm-up; {needed} needed.")
        self.symbol = symbol
        self.held = held
        self.needed = needed


MOST_TRADES = 1_000_000
"""Of one simulation: more than a day trader's lifetime, and more than memory should hold."""


class TooManyTrades(EngineError):
    """A strategy that trades without end."""

    def __init__(self) -> None:
        super().__init__(f"It makes more than {MOST_TRADES:,} trades; shorten the range.")
