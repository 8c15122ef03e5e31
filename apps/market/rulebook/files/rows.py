"""The rows of each file of the rulebook, and a reader that reports every fault.

Blanks separate several values in a cell; an empty cell means any, or none, depending on the field.
Every row names its source, or names its unsourced facts in `unsourced`.
"""

import csv
import io
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

Exchange: TypeAlias = Literal["NSE", "BSE", "MCX", "NCDEX"]
ChargeSegment: TypeAlias = Literal["equity", "futures", "options", "agri_futures", "agri_options"]
# Exchange-traded funds by their holdings: `equity_etf` holds shares of Indian companies.
EtfKind: TypeAlias = Literal[
    "equity_etf", "gold_etf", "silver_etf", "debt_etf", "liquid_etf", "overseas_etf"
]
# The scope of a rate: rates of a kind of ETF, or of options of the nearest expiry, take precedence
# over those of the whole segment.
RateScope: TypeAlias = ChargeSegment | EtfKind | Literal["nearest_options"]
# Commodities of one group keep the same hours, so a group is a market too.
CommodityGroup: TypeAlias = Literal["non_agri", "agri_global", "agri"]

Market: TypeAlias = Literal[
    "shares_with_derivatives", "other_shares", "derivatives", "non_agri", "agri_global", "agri"
]
Phase: TypeAlias = Literal["pre_open", "continuous", "closing_auction", "post_close"]
DayKind: TypeAlias = Literal["holiday", "morning_closed", "evening_closed", "special", "regular"]
ContractKind: TypeAlias = Literal[
    "share",
    "index_future",
    "stock_future",
    "index_option",
    "stock_option",
    "goods_future",
    "goods_option",
]
# Contracts without a day in their name are monthly ones, quarterly ones among them.
ContractCycle: TypeAlias = Literal["monthly", "weekly"]
Product: TypeAlias = Literal["intraday", "delivery", "carryforward"]
OrderSide: TypeAlias = Literal["buy", "sell"]
ChargeItem: TypeAlias = Literal[
    "transaction_tax", "exercise_tax", "exchange_fee", "ipft", "sebi_fee", "stamp_duty", "gst"
]

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
    """A row of the rulebook; `line` is its line in the file, the header being line 1."""

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
    """The rate of one item from `first_date` until a later row of the same key: percent of a fill's
    value, of an option's premium.

    `gst` is percent of brokerage, exchange fee, SEBI fee and depository charge, `exercise_tax` of
    an option's value at exercise. `roots` names the underlyings of the rate, which precedes a rate
    for all; no `products` means all.
    """

    exchanges: OneOrMore[Exchange]
    segments: OneOrMore[RateScope]
    roots: ZeroOrMore[str]
    products: ZeroOrMore[Product]
    sides: OneOrMore[OrderSide]
    item: ChargeItem
    first_date: date
    percent: Percent


class BrokerRow(RuleRow):
    """A broker's price of one order: `flat` rupees, and percent of the value up to `cap` rupees."""

    broker: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,50}$")]
    segments: OneOrMore[ChargeSegment]
    products: ZeroOrMore[Product]
    first_date: date
    flat: Amount
    percent: Percent
    cap: Nullable[Amount]


class DepositoryRow(RuleRow):
    """The charge of a broker and the depository for each share and day with a sale of shares bought
    on an earlier day: `amount` rupees before GST.
    """

    broker: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,50}$")]
    first_date: date
    amount: Amount


class EtfRow(RuleRow):
    """An exchange-traded fund, taxed by its kind and otherwise charged as a share."""

    exchanges: OneOrMore[Literal["NSE", "BSE"]]
    root: Annotated[str, Field(pattern=r"^[A-Z0-9]+$")]
    kind: Literal["equity", "gold", "silver", "debt", "liquid", "overseas"]


class CommodityRow(RuleRow):
    """The group of a commodity, which decides hours and taxes.

    `lot` is the units of a lot and `multiplier` the rupees that a lot gains per rupee of price; a
    master takes precedence.
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
    """A date that differs from other days of its weekday; no `markets` means all of the exchanges.

    `holiday`: no session; `morning_closed`, `evening_closed`: for commodities, with a day divided
    at 17:00; `regular`: the usual phases, on a weekend; `special`: continuous from `opens` to
    `closes`, in as many parts as there are rows, or at unknown hours.
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
    """The tick of prices under `below` rupees (of all higher prices if it is empty), from
    `first_date` until the next date with rows.
    """

    exchanges: OneOrMore[Exchange]
    kinds: OneOrMore[ContractKind]
    first_date: date
    below: Nullable[Positive]
    tick: Positive


class MarginRow(RuleRow):
    """The percentage of a contract's value that is locked while it is held, and the method; for a
    sold option, the percentage of the price of its underlying, locked beside the premium.
    """

    exchanges: OneOrMore[Exchange]
    kinds: OneOrMore[ContractKind]
    first_date: date
    percent: Annotated[Decimal, Field(gt=0, le=100)]
    method: Annotated[str, Field(min_length=1)]


class LotRow(RuleRow):
    """The lot of contracts that expire on `first_expiry` or later, until the next row of the root.

    Without `cycles` it holds for monthly and weekly contracts.
    """

    exchanges: OneOrMore[Literal["NSE", "BSE"]]
    roots: OneOrMore[str]
    cycles: ZeroOrMore[ContractCycle]
    first_expiry: date
    lot: Positive


class RulebookFault(BaseModel):
    """A fault of a rule set; `line` is 0 for a file as a whole."""

    model_config = ConfigDict(frozen=True)

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line else self.file
        return f"{location}: {self.message}"


RowType = TypeVar("RowType", bound=RuleRow)


def read_rows(
    name: str, text: str, kind: type[RowType]
) -> tuple[list[RowType], list[RulebookFault]]:
    """Read the rows of one file and its faults; the columns may be in any order."""
    if "\0" in text:
        return [], [RulebookFault(file=name, line=0, message="holds a NUL: it is no text")]
    reader = csv.DictReader(io.StringIO(text))
    expected = set(kind.model_fields) - {"line"}
    columns = set(reader.fieldnames or ())
    if columns != expected:
        differences = {
            "lacks the columns": expected - columns,
            "has unknown columns": columns - expected,
        }
        message = "; ".join(
            f"{problem} {', '.join(sorted(names))}"
            for problem, names in differences.items()
            if names
        )
        return [], [RulebookFault(file=name, line=1, message=message)]
    rows: list[RowType] = []
    faults: list[RulebookFault] = []
    try:
        for cells in reader:
            result = _read_row(name, reader.line_num, cells, kind)
            rows += [result] if isinstance(result, kind) else []
            faults += result if isinstance(result, list) else []
    except csv.Error as error:
        faults.append(RulebookFault(file=name, line=reader.line_num, message=str(error)))
    return rows, faults


# Any: the reader marks cells too many and too few by None.
def _read_row(
    name: str, line: int, cells: Mapping[str | Any, str | Any], kind: type[RowType]
) -> RowType | list[RulebookFault]:
    if None in cells or None in cells.values():
        message = "has more or fewer cells than there are columns"
        return [RulebookFault(file=name, line=line, message=message)]
    try:
        return kind.model_validate({**cells, "line": line})
    except ValidationError as error:
        return _faults(name, line, error)


def _faults(name: str, line: int, error: ValidationError) -> list[RulebookFault]:
    """Return one fault for each cell, in the order of the columns."""
    messages: dict[str, str] = {}
    for detail in error.errors(include_url=False, include_context=False):
        cell = str(detail["loc"][0]) if detail["loc"] else ""
        messages.setdefault(cell, detail["msg"].removeprefix("Value error, "))
    return [
        RulebookFault(file=name, line=line, message=f"{cell}: {message}" if cell else message)
        for cell, message in messages.items()
    ]
