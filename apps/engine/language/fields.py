"""The kinds of fields of a strategy: strict types with sensible ranges.

Numbers are JSON numbers: "1" and true are refused, 1.0 is the whole number 1. Lower bounds are
above zero so that no division, tick or step can meet a denormal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar
from unicodedata import category

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

LARGEST = 1e12


class StrictModel(BaseModel):
    """An object of a strategy: strict, frozen, without unknown keys.

    Its validator is built on first use: most are only used as parts of others.
    """

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True
    )


T = TypeVar("T")
if TYPE_CHECKING:
    Maybe: TypeAlias = T | None
else:

    class Maybe:
        """A field that may be absent, and is then None. A null is refused."""

        def __class_getitem__(cls, kind):
            return kind


def refused(message: str, field: str | None = None) -> PydanticCustomError:
    """Return an error beyond ranges; `message` follows the path, `field` is below the object."""
    return PydanticCustomError("refused", "{message}", {"message": message, "field": field})


def incomplete(message: str, field: str | None = None) -> PydanticCustomError:
    """Return an error for right but incomplete data."""
    return PydanticCustomError("incomplete", "{message}", {"message": message, "field": field})


def at_most(entries: int) -> BeforeValidator:
    """Refuse a longer array before reading its items; the schema's own limit comes after."""

    def check(value: object) -> object:
        if isinstance(value, list) and len(value) > entries:
            raise refused(f"must have at most {entries} entries")
        return value

    return BeforeValidator(check)


def without_control(text: str) -> str:
    """Refuse control characters, including invisible formatting characters."""
    if any(category(character) in ("Cc", "Cf") for character in text):
        raise refused("holds a control character")
    return text


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _not_denormal(value: float) -> float:
    if value and abs(value) < 1e-9:
        raise refused("must be 0, or further from 0 than 0.000000001")
    return value


Percentage = Annotated[float, Field(ge=0.0001, le=100)]
LargePercent = Annotated[float, Field(ge=0.0001, le=1000)]
Rupees = Annotated[float, Field(ge=0.01, le=LARGEST)]
Points = Annotated[float, Field(ge=0.0001, le=LARGEST)]
Multiplier = Annotated[
    float, Field(ge=0.01, le=100, description="The distance in average true ranges (ATR).")
]
Ratio = Annotated[float, Field(ge=0.01, le=1000)]
Level = Annotated[float, Field(ge=-LARGEST, le=LARGEST), AfterValidator(_not_denormal)]
Whole = BeforeValidator(_whole)
AtrPeriod = Annotated[
    int,
    Field(ge=1, le=1000, description="The number of candles in the average true range (ATR)."),
    Whole,
]
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


def seconds_of_day(time: str) -> int:
    """Return seconds since midnight of a TimeOfDay, "15:15" for example."""
    return int(time[:2]) * 3600 + int(time[3:]) * 60
