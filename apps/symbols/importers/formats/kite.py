"""Kite (Zerodha): `instruments.csv`, one list of all markets. MCX lots are counted, so their size
is always 1 and carries no information. There is no ISIN.
"""

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

SOURCE: Final = Source.KITE
COLUMNS: Final = frozenset(("instrument_token", "tradingsymbol", "instrument_type", "segment"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "NSE": rows.NSE_CASH,
    "BSE": rows.BSE_CASH,
    "NFO": rows.NSE_FO,
    "BFO": rows.BSE_FO,
    "CDS": rows.NSE_CURRENCY,
    "BCD": rows.BSE_CURRENCY,
    "NCO": rows.NSE_COMMODITY,
    "MCX": rows.MCX,
}


def read(record: Record, line: int) -> InstrumentRow:
    venue = market(_MARKETS, text(record, "exchange"))
    alias = rows.required(record, "tradingsymbol")
    token, tick = text(record, "instrument_token"), positive(record, "tick_size")
    name = text(record, "name")
    if text(record, "segment") == "INDICES":
        return InstrumentRow(line, *venue, Type.INDEX, alias, name or alias, alias, token)
    kind = text(record, "instrument_type")
    if venue.segment == Segment.CASH:
        raw, series = shares.split_series(alias) if venue.exchange == "NSE" else (alias, "")
        rank = shares.rank_of(venue.exchange, series=series)
        lot = whole(record, "lot_size")
        return InstrumentRow(
            line, *venue, Type.EQUITY, raw, name or raw, alias, token, lot, tick=tick, rank=rank
        )
    expiry = rows.day(record, "expiry")
    is_option = kind in ("CE", "PE")
    strike = rows.strike(number(record, "strike")) if is_option else None
    raw, weekly = contract_names.underlying(
        alias, expiry=expiry, strike=strike, option_type=kind if is_option else ""
    )
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=raw,
        name=name,
        alias=alias,
        token=token,
        lot=whole(record, "lot_size") if venue.segment == Segment.DERIVATIVES else None,
        tick=tick,
        expiry=expiry,
        strike=strike,
        option_type=kind if is_option else "",
        weekly=weekly,
    )
