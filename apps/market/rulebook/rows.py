"""What one row of each file of the rulebook says, and the reading of a file, fault by fault.

Cells that hold several values part them by blanks; an empty one means any, or none, as the field
says. Every row names its source, or says in `unsourced` what of it has none.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

Exchange: TypeAlias = Literal["NSE", "BSE", "MCX", "NCDEX"]
Segment: TypeAlias = Literal["equity", "futures", "options", "agri_futures", "agri_options"]
Group: TypeAlias = Literal["non_agri", "agri_global", "agri"]
Product: TypeAlias = Literal["intraday", "delivery", "carryforward"]
Side: TypeAlias = Literal["buy", "sell"]
Item: TypeAlias = Literal[
    "transaction_tax", "exchange_fee", "ipft", "sebi_fee", "stamp_duty", "gst"
]  # fmt: skip

Value = TypeVar("Value")


def _words(cell: object) -> object:
    return cell.split() if isinstance(cell, str) else cell


def _or_none(cell: object) -> object:
    return None if cell == "" else cell


Some = Annotated[tuple[Value, ...], BeforeValidator(_words), Field(min_length=1)]
AnyOf = Annotated[tuple[Value, ...], BeforeValidator(_words)]
Perhaps = Annotated[Value | None, BeforeValidator(_or_none)]
Amount = Annotated[Decimal, Field(ge=0, lt=10**6)]
Percent = Annotated[Decimal, Field(ge=0, le=100)]


class Row(BaseModel):
    """`line` is where it stands in its file, the header being line 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: int
    source: str
    unsourced: str

    @model_validator(mode="after")
    def _says_where_it_is_from(self) -> "Row":
        if not self.source and not self.unsourced:
            raise ValueError("names no source and does not say what of it is unsourced")
        return self


class ChargeRow(Row):
    """One item's rate from `first_date` until a later row of the same key: percent of a fill's
    value, of an option's premium; `gst` is percent of brokerage, exchange and SEBI fee.

    `roots` names the underlyings it holds for and then beats the row of all others; no `products`
    means all.
    """

    exchanges: Some[Exchange]
    segments: Some[Segment]
    roots: AnyOf[str]
    products: AnyOf[Product]
    sides: Some[Side]
    item: Item
    first_date: date
    percent: Percent


class BrokerRow(Row):
    """A broker's price of one order: `flat` rupees, and percent of the value up to `cap` rupees."""

    broker: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,50}$")]
    segments: Some[Segment]
    products: AnyOf[Product]
    first_date: date
    flat: Amount
    percent: Percent
    cap: Perhaps[Amount]


class CommodityRow(Row):
    """Which group of goods an underlying belongs to; the group decides hours and taxes."""

    exchange: Literal["MCX", "NCDEX"]
    root: Annotated[str, Field(pattern=r"^[A-Z0-9]+$")]
    group: Group


class Fault(BaseModel):
    """One thing wrong with an edition; `line` is 0 for a file as a whole."""

    model_config = ConfigDict(frozen=True)

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}"


Kind = TypeVar("Kind", bound=Row)
_OWN: Final = {"line"}


def read_rows(name: str, text: str, kind: type[Kind]) -> tuple[list[Kind], list[Fault]]:
    """The rows of one file, and what is wrong with it; the columns may stand in any order."""
    reader = csv.DictReader(io.StringIO(text))
    wanted = set(kind.model_fields) - _OWN
    found = set(reader.fieldnames or ())
    if found != wanted:
        return [], [Fault(file=name, line=1, message=_columns(wanted, found))]
    rows: list[Kind] = []
    faults: list[Fault] = []
    for cells in reader:
        try:
            rows.append(kind.model_validate({**cells, "line": reader.line_num}))
        except ValidationError as error:
            faults += _faults(name, reader.line_num, error)
    return rows, faults


def _columns(wanted: set[str], found: set[str]) -> str:
    parts = {"lacks the columns": wanted - found, "has unknown columns": found - wanted}
    told = [f"{what} {', '.join(sorted(names))}" for what, names in parts.items() if names]
    return "; ".join(told)


def _faults(name: str, line: int, error: ValidationError) -> list[Fault]:
    """One for each cell, in the order of the columns."""
    told: dict[str, str] = {}
    for one in error.errors(include_url=False, include_context=False):
        cell = str(one["loc"][0]) if one["loc"] else ""
        told.setdefault(cell, one["msg"].removeprefix("Value error, "))
    return [
        Fault(file=name, line=line, message=f"{cell}: {message}" if cell else message)
        for cell, message in told.items()
    ]


def twice(name: str, rows: Sequence[Kind], keys: Mapping[int, Sequence[object]]) -> list[Fault]:
    """A fault for each row one of whose keys (by line) an earlier row has too."""
    seen: dict[object, int] = {}
    faults = []
    for row in rows:
        earlier = {seen[key] for key in keys[row.line] if key in seen}
        if earlier:
            message = f"says what line {min(earlier)} says"
            faults.append(Fault(file=name, line=row.line, message=message))
        seen.update({key: row.line for key in keys[row.line] if key not in seen})
    return faults
