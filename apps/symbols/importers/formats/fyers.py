"""Fyers: a symbol master of one segment, CSV without a header.

Symbols have the exchange as prefix and, for shares, the series as suffix: NSE:GOLDSTAR-SM. The lot
of an MCX contract is written as 1. Each row has the date of its last update.
"""

from collections.abc import Sequence
from typing import Final

from apps.symbols.importers import rows, shares
from apps.symbols.importers.formats import contract_names
from apps.symbols.importers.rows import (
    InstrumentRow,
    MarketSegment,
    Record,
    market,
    number,
    positive,
    text,
    whole,
)
from apps.symbols.models import Segment, Source, Type

SOURCE: Final = Source.FYERS
HEADER: Final = (
    "token",
    "name",
    "kind",
    "lot",
    "tick",
    "isin",
    "session",
    "updated",
    "expiry",
    "ticker",
    "exchange",
    "segment",
    "code",
    "underlying",
    "underlying_code",
    "strike",
    "option",
    "underlying_token",
    "reserved1",
    "reserved2",
    "reserved3",
)
UPDATED: Final = "updated"
_MARKETS: Final[dict[str, MarketSegment]] = {
    "10 10": rows.NSE_CASH,
    "12 10": rows.BSE_CASH,
    "10 11": rows.NSE_FO,
    "12 11": rows.BSE_FO,
    "10 12": rows.NSE_CURRENCY,
    "12 12": rows.BSE_CURRENCY,
    "11 20": rows.MCX,
    "10 20": rows.NSE_COMMODITY,
}
_INDEX: Final = "-INDEX"


def is_row(fields: Sequence[str]) -> bool:
    """Return whether the first row of a file is one of this format."""
    return len(fields) == len(HEADER) and ":" in fields[9] and fields[10] in ("10", "11", "12")


def read(record: Record, line: int) -> InstrumentRow:
    venue = market(_MARKETS, f"{text(record, 'exchange')} {text(record, 'segment')}")
    ticker, token = rows.required(record, "ticker"), text(record, "token")
    alias = ticker.partition(":")[2]
    name, tick = text(record, "name"), positive(record, "tick")
    if alias.endswith(_INDEX):
        raw = text(record, "underlying") or alias.removesuffix(_INDEX)
        name = name.removesuffix(_INDEX)
        return InstrumentRow(line, *venue, Type.INDEX, raw, name, ticker, token)
    if venue.segment == Segment.CASH:
        return _share(record, line, venue, alias)
    option_type = text(record, "option")
    is_option = option_type in ("CE", "PE")
    expiry = rows.day(record, "expiry")
    strike = rows.strike(number(record, "strike")) if is_option else None
    raw, weekly = contract_names.underlying(
        alias, expiry=expiry, strike=strike, option_type=option_type if is_option else ""
    )
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=raw,
        name=name,
        alias=ticker,
        token=token,
        lot=whole(record, "lot") if venue.segment == Segment.DERIVATIVES else None,
        tick=tick,
        expiry=expiry,
        strike=strike,
        option_type=option_type if is_option else "",
        weekly=weekly,
    )


def _share(record: Record, line: int, venue: MarketSegment, alias: str) -> InstrumentRow:
    raw, _, series = alias.rpartition("-")
    isin = text(record, "isin")
    rank = shares.rank_of(venue.exchange, series=series, isin=isin)
    return InstrumentRow(
        line,
        *venue,
        type=Type.EQUITY,
        raw=raw,
        name=text(record, "name"),
        alias=text(record, "ticker"),
        token=text(record, "token"),
        lot=whole(record, "lot"),
        tick=positive(record, "tick"),
        isin=isin,
        rank=rank,
    )
