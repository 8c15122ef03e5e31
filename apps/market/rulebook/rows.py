"""What one row of each file of the rulebook says, and the reading of a file, fault by fault.

Cells that hold several values part them by blanks; an empty one means any, or none, as the field
says. Every row names its source, or says in `unsourced` what of it has none.
"""

import csv
import io
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

Exchange: TypeAlias = Literal["NSE", "BSE", "MCX", "NCDEX"]
Segment: TypeAlias = Literal["equity", "futures", "options", "agri_futures", "agri_options"]
EtfKind: TypeAlias = Literal[
    "equity_etf", "gold_etf", "silver_etf", "debt_etf", "liquid_etf", "overseas_etf"
]  # fmt: skip
"""Of exchange-traded funds, by what they hold: `equity_etf` holds shares of Indian companies."""

RateScope: TypeAlias = Segment | EtfKind | Literal["nearest_options"]
"""What rates are given for: those of a kind of ETF, or of options of the nearest expiry, hold in
the place of those of the whole segment.
"""
CommodityGroup: TypeAlias = Literal["non_agri", "agri_global", "agri"]
"""Of goods; goods of one group keep the same hours, so a group is a market too."""

Market: TypeAlias = Literal[
    "shares_with_derivatives", "other_shares", "derivatives", "non_agri", "agri_global", "agri"
]  # fmt: skip
Phase: TypeAlias = Literal["pre_open", "continuous", "closing_auction", "post_close"]
DayKind: TypeAlias = Literal["holiday", "morning_closed", "evening_closed", "special", "regular"]
ContractKind: TypeAlias = Literal[
    "share", "index_future", "stock_future", "index_option", "stock_option",
    "goods_future", "goods_option",
]  # fmt: skip
Product: TypeAlias = Literal["intraday", "delivery", "carryforward"]
Side: TypeAlias = Literal["buy", "sell"]
ChargeItem: TypeAlias = Literal[
    "transaction_tax", "exchange_fee", "ipft", "sebi_fee", "stamp_duty", "gst"
]  # fmt: skip

Value = TypeVar("Value")


def _words(cell: object) -> object:
    return cell.split() if isinstance(cell, str) else cell


def _or_none(cell: object) -> object:
    return None if cell == "" else cell


OneOrMore = Annotated[tuple[Value, ...], BeforeValidator(_words), Field(min_length=1)]
ZeroOrMore = Annotated[tuple[Value, ...], BeforeValidator(_words)]
Nullable = Annotated[Value | None, BeforeValidator(_or_none)]
Positive = Annotated[Decimal, Field(gt=0, lt=10**6)]
Amount = Annotated[Decimal, Field(ge=0, lt=10**6)]
Percent = Annotated[Decimal, Field(ge=0, le=100)]


class RuleRow(BaseModel):
    """`line` is where it stands in its file, the header being line 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: int
    source: str
    unsourced: str

    @model_validator(mode="after")
    def _says_where_it_is_from(self) -> "RuleRow":
        if not self.source and not self.unsourced:
            raise ValueError("names no source and does not say what of it is unsourced")
        return self


class ChargeRate(RuleRow):
    """One item's rate from `first_date` until a later row of the same key: percent of a fill's
    value, of an option's premium; `gst` is percent of brokerage, exchange and SEBI fee, and of what
    a depository takes.

    `roots` names the underlyings it holds for and then beats the row of all others; no `products`
    means all.
    """

    exchanges: OneOrMore[Exchange]
    segments: OneOrMore[RateScope]
    roots: ZeroOrMore[str]
    products: ZeroOrMore[Product]
    sides: OneOrMore[Side]
    item: ChargeItem
    first_date: date
    percent: Percent


class BrokerRow(RuleRow):
    """A broker's price of one order: `flat` rupees, and percent of the value up to `cap` rupees."""

    broker: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,50}$")]
    segments: OneOrMore[Segment]
    products: ZeroOrMore[Product]
    first_date: date
    flat: Amount
    percent: Percent
    cap: Nullable[Amount]


class DepositoryRow(RuleRow):
    """What a broker takes, with the depository's own fee, for each share and day on which shares
    are sold that were bought on an earlier day: `amount` rupees before GST.
    """

    broker: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,50}$")]
    first_date: date
    amount: Amount


class EtfRow(RuleRow):
    """An exchange-traded fund, which is taxed by its kind and otherwise charged as a share."""

    exchanges: OneOrMore[Literal["NSE", "BSE"]]
    root: Annotated[str, Field(pattern=r"^[A-Z0-9]+$")]
    kind: Literal["equity", "gold", "silver", "debt", "liquid", "overseas"]


class CommodityRow(RuleRow):
    """Which group of goods an underlying belongs to; the group decides hours and taxes.

    `lot` is the units of a lot and `multiplier` the rupees that a lot gains per rupee of price;
    they hold where no master says anything else.
    """

    exchange: Literal["MCX", "NCDEX"]
    root: Annotated[str, Field(pattern=r"^[A-Z0-9]+$")]
    group: CommodityGroup
    lot: Nullable[Positive]
    multiplier: Nullable[Positive]

    @model_validator(mode="after")
    def _both_or_none(self) -> "CommodityRow":
        if (self.lot is None) != (self.multiplier is None):
            raise ValueError("has one of lot and multiplier")
        return self


class HoursRow(RuleRow):
    """One phase of the session of every weekday from `first_date` to `last_date`, both included.

    `closes_us_winter` is the close while New York is not on daylight saving time.
    """

    exchanges: OneOrMore[Exchange]
    markets: OneOrMore[Market]
    phase: Phase
    first_date: date
    last_date: Nullable[date]
    opens: time
    closes: time
    closes_us_winter: Nullable[time]

    @model_validator(mode="after")
    def _in_order(self) -> "HoursRow":
        if not self.opens < self.closes <= (self.closes_us_winter or self.closes):
            raise ValueError("opens after it closes, or closes earlier in winter")
        if self.last_date is not None and self.last_date < self.first_date:
            raise ValueError("ends before it begins")
        return self


class DayRow(RuleRow):
    """A date that differs from the weekday it is; no `markets` means all of the exchanges.

    `holiday`: no session; `morning_closed`, `evening_closed`: commodities, which part at 17:00;
    `regular`: the usual phases, on a weekend; `special`: continuous from `opens` to `closes`, in
    as many parts as there are rows, or at hours nobody knows.
    """

    exchanges: OneOrMore[Exchange]
    markets: ZeroOrMore[Market]
    day: date
    kind: DayKind
    name: str
    opens: Nullable[time]
    closes: Nullable[time]

    @model_validator(mode="after")
    def _hours_where_they_belong(self) -> "DayRow":
        if (self.opens is None) != (self.closes is None):
            raise ValueError("has one of opens and closes")
        if self.opens is not None and self.closes is not None:
            if self.kind != "special":
                raise ValueError("has hours, which are for special sessions")
            if self.opens >= self.closes:
                raise ValueError("opens after it closes")
        if self.kind in ("morning_closed", "evening_closed") and {"NSE", "BSE"} & {*self.exchanges}:
            raise ValueError("closes half a day of an exchange that has no halves")
        return self


class TickRow(RuleRow):
    """The step of prices under `below` rupees (of all that are higher than the other rows'), from
    `first_date` until the next date that has rows.
    """

    exchanges: OneOrMore[Exchange]
    kinds: OneOrMore[ContractKind]
    first_date: date
    below: Nullable[Positive]
    tick: Positive


class MarginRow(RuleRow):
    """Which percent of a contract's value is locked while it is held, and by which method."""

    exchanges: OneOrMore[Exchange]
    kinds: OneOrMore[ContractKind]
    first_date: date
    percent: Annotated[Decimal, Field(gt=0, le=100)]
    method: Annotated[str, Field(min_length=1)]


class RulebookFault(BaseModel):
    """One thing wrong with an edition; `line` is 0 for a file as a whole."""

    model_config = ConfigDict(frozen=True)

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}"


RowType = TypeVar("RowType", bound=RuleRow)
_OWN: Final = {"line"}


def read_rows(
    name: str, text: str, kind: type[RowType]
) -> tuple[list[RowType], list[RulebookFault]]:
    """The rows of one file, and what is wrong with it; the columns may stand in any order."""
    if "\0" in text:
        return [], [RulebookFault(file=name, line=0, message="holds a NUL: it is no text")]
    reader = csv.DictReader(io.StringIO(text))
    wanted = set(kind.model_fields) - _OWN
    found = set(reader.fieldnames or ())
    if found != wanted:
        return [], [RulebookFault(file=name, line=1, message=_columns(wanted, found))]
    rows: list[RowType] = []
    faults: list[RulebookFault] = []
    try:
        for cells in reader:
            read = _read_row(name, reader.line_num, cells, kind)
            rows += [read] if isinstance(read, kind) else []
            faults += read if isinstance(read, list) else []
    except csv.Error as error:
        faults.append(RulebookFault(file=name, line=reader.line_num, message=str(error)))
    return rows, faults


def _read_row(
    name: str, line: int, cells: Mapping[str | Any, str | Any], kind: type[RowType]
) -> RowType | list[RulebookFault]:
    """Any: the reader's own marks of cells too many and too few, both None."""
    if None in cells or None in cells.values():
        message = "has more or fewer cells than there are columns"
        return [RulebookFault(file=name, line=line, message=message)]
    try:
        return kind.model_validate({**cells, "line": line})
    except ValidationError as error:
        return _faults(name, line, error)


def _columns(wanted: set[str], found: set[str]) -> str:
    parts = {"lacks the columns": wanted - found, "has unknown columns": found - wanted}
    told = [f"{what} {', '.join(sorted(names))}" for what, names in parts.items() if names]
    return "; ".join(told)


def _faults(name: str, line: int, error: ValidationError) -> list[RulebookFault]:
    """One for each cell, in the order of the columns."""
    told: dict[str, str] = {}
    for one in error.errors(include_url=False, include_context=False):
        cell = str(one["loc"][0]) if one["loc"] else ""
        told.setdefault(cell, one["msg"].removeprefix("Value error, "))
    return [
        RulebookFault(file=name, line=line, message=f"{cell}: {message}" if cell else message)
        for cell, message in told.items()
    ]
