"""The common form of a row of any instrument master, and the reading of its cells.

The module of each format turns its records into `InstrumentRow`s. It raises `RejectedRow` for a row
that cannot be imported; rows are never dropped silently.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from apps.symbols.models import Segment, Type

# A row as the file has it: texts from CSV, texts and numbers from JSON.
Record = Mapping[str, object]

_INDIA: Final = timezone(timedelta(hours=5, minutes=30))
_MILLISECONDS_FROM: Final = 100_000_000_000  # as seconds this would be the year 5138
_LARGEST: Final = Decimal(999_999_999)
_LARGEST_PRICE: Final = Decimal(999_999)
_TIME: Final = re.compile(r"[ T][0-9]{2}:[0-9:.]+(Z|[+-][0-9:]+)?$")
_DATE_FORMATS: Final = ("%Y-%m-%d", "%d-%b-%Y", "%d%b%Y", "%d-%m-%Y", "%d/%m/%Y", "%d/%m/%y")


class RejectReason(StrEnum):
    """The reasons for rejecting a row, in the words of the summary."""

    NOT_A_SHARE = "neither share, fund nor trust unit (debt, warrants, rights, plans)"
    OTHER_SERIES = "another series of a share that is carried"
    DECIMAL_STRIKE = "strike with decimals, which a symbol cannot write"
    ELSEWHERE = "of a market that is not carried"
    TEST = "test rows of an exchange"
    REPEATED = "repeats of an earlier row"
    COLLISION = "would get the symbol of another row"
    NO_SYMBOL = "name that makes no symbol"
    UNREADABLE = "unreadable"


class RejectedRow(Exception):
    """A row that is not imported."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class InstrumentRow(NamedTuple):
    """One instrument as one master describes it; a tuple, because there are 200,000 of them.

    `raw` is the exchange's own name; for a contract it is the underlying's name. None means that
    this master has no value. Prices are in rupees, `multiplier` in rupees that a lot gains per
    rupee of price, `freeze` in units. `weekly` is set if the master has it.
    """

    line: int
    exchange: str
    segment: Segment
    type: Type
    raw: str
    name: str
    alias: str
    token: str
    lot: int | None = None
    multiplier: Decimal | None = None
    tick: Decimal | None = None
    freeze: int | None = None
    isin: str = ""
    rank: int = 0
    listed: date | None = None
    expiry: date | None = None
    strike: Decimal | None = None
    option_type: str = ""
    weekly: bool | None = None


class MarketSegment(NamedTuple):
    """The exchange and segment of an instrument."""

    exchange: str
    segment: Segment


NSE_CASH: Final = MarketSegment("NSE", Segment.CASH)
BSE_CASH: Final = MarketSegment("BSE", Segment.CASH)
NSE_FO: Final = MarketSegment("NSE", Segment.DERIVATIVES)
BSE_FO: Final = MarketSegment("BSE", Segment.DERIVATIVES)
NSE_CURRENCY: Final = MarketSegment("NSE", Segment.CURRENCY)
BSE_CURRENCY: Final = MarketSegment("BSE", Segment.CURRENCY)
NSE_COMMODITY: Final = MarketSegment("NSE", Segment.COMMODITY)
BSE_COMMODITY: Final = MarketSegment("BSE", Segment.COMMODITY)
MCX: Final = MarketSegment("MCX", Segment.COMMODITY)
NCDEX: Final = MarketSegment("NCDEX", Segment.COMMODITY)


def market(markets: Mapping[str, MarketSegment], name: str) -> MarketSegment:
    """Return the market with this name in the file. Raises RejectedRow for an unknown name."""
    segment = markets.get(name)
    if segment is None:
        raise RejectedRow(RejectReason.ELSEWHERE, name or "no exchange")
    return segment


def text(record: Record, key: str) -> str:
    """Return a cell without surrounding blanks; "" if it is missing."""
    value = record.get(key)
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else str(value)


def required(record: Record, key: str) -> str:
    value = text(record, key)
    if not value:
        raise RejectedRow(RejectReason.UNREADABLE, f"{key} is empty")
    return value


def number(record: Record, key: str) -> Decimal | None:
    """Return a number, None where it is missing or empty. Raises RejectedRow for anything else."""
    return _number(text(record, key))


def positive(record: Record, key: str, *, times: str = "1") -> Decimal | None:
    """Return `times` the number, without trailing zeros; None for 0 and below, which masters use
    for "no value".
    """
    return _positive(text(record, key), times)


def whole(record: Record, key: str) -> int | None:
    """Return a whole number above 0, else None. Raises RejectedRow for a fraction."""
    return _whole(text(record, key))


def strike(value: Decimal | None) -> Decimal:
    """Return the strike of an option. Raises RejectedRow without one."""
    if value is None:
        raise RejectedRow(RejectReason.UNREADABLE, "an option without a strike")
    return value


def day(record: Record, key: str) -> date:
    """Return a date in one of the forms of masters, or the Indian date of a timestamp in seconds or
    milliseconds since 1970. Raises RejectedRow.
    """
    return _day(text(record, key))


@lru_cache(maxsize=20_000)
def _number(written: str) -> Decimal | None:
    if not written or written in ("None", "NA"):
        return None
    try:
        value = Decimal(written)
    except InvalidOperation:
        raise RejectedRow(RejectReason.UNREADABLE, f"{written[:20]!r} is no number") from None
    if not value.is_finite() or abs(value) > _LARGEST:
        raise RejectedRow(RejectReason.UNREADABLE, f"{written[:20]!r} is out of range")
    return value


@lru_cache(maxsize=20_000)
def _positive(written: str, times: str) -> Decimal | None:
    value = _number(written)
    if value is None or value <= 0:
        return None
    scaled = (value * Decimal(times)).normalize()
    if scaled > _LARGEST_PRICE:
        raise RejectedRow(RejectReason.UNREADABLE, f"{written[:20]!r} is out of range")
    return scaled


@lru_cache(maxsize=2_000)
def _whole(written: str) -> int | None:
    value = _number(written)
    if value is None or value <= 0:
        return None
    if value != value.to_integral_value():
        raise RejectedRow(RejectReason.UNREADABLE, f"{written[:20]!r} is not whole")
    return int(value)


@lru_cache(maxsize=2_000)
def _day(written: str) -> date:
    if re.fullmatch(r"[0-9]{9,13}(\.0)?", written):
        return _moment(int(float(written))).date()
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(_TIME.sub("", written), form).date()  # noqa: DTZ007  # a date has no zone
        except ValueError:
            continue
    raise RejectedRow(RejectReason.UNREADABLE, f"{written[:20]!r} is no date")


def _moment(since_1970: int) -> datetime:
    seconds = since_1970 / 1000 if since_1970 >= _MILLISECONDS_FROM else since_1970
    return datetime.fromtimestamp(seconds, tz=UTC).astimezone(_INDIA)
