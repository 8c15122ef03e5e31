"""Shoonya (Finvasia): a symbol file of one segment; every line ends with an extra comma.

For commodities the lot is the exchange's, and GNGD is the gain of one unit per rupee of price. At
NCDEX the token is the trading symbol.
"""

from typing import Final

from apps.symbols.importers import rows, shares
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

SOURCE: Final = Source.SHOONYA
COLUMNS: Final = frozenset(("Exchange", "Token", "LotSize", "Symbol", "TradingSymbol"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "NSE": rows.NSE_CASH,
    "BSE": rows.BSE_CASH,
    "NFO": rows.NSE_FO,
    "BFO": rows.BSE_FO,
    "CDS": rows.NSE_CURRENCY,
    "BCD": rows.BSE_CURRENCY,
    "MCX": rows.MCX,
    "NCX": rows.NCDEX,
}


def read(record: Record, line: int) -> InstrumentRow:
    venue = market(_MARKETS, text(record, "Exchange"))
    raw, token = rows.required(record, "Symbol"), text(record, "Token")
    alias, kind = rows.required(record, "TradingSymbol"), text(record, "Instrument")
    lot, tick = whole(record, "LotSize"), positive(record, "TickSize")
    if kind in ("INDEX", "UNDIND", "UNDCUR", "UNDCOM"):
        return InstrumentRow(line, *venue, Type.INDEX, raw, raw, alias, token)
    if venue.segment == Segment.CASH:
        rank = shares.rank_of(venue.exchange, series=kind)
        return InstrumentRow(
            line, *venue, Type.EQUITY, raw, raw, alias, token, lot, tick=tick, rank=rank
        )
    option_type = text(record, "OptionType")
    is_option = option_type in ("CE", "PE")
    factor = number(record, "GNGD")
    by_lot = venue.segment == Segment.COMMODITY and lot and factor
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=raw,
        name=raw,
        alias=alias,
        token=token,
        lot=lot if venue.segment != Segment.CURRENCY else None,
        multiplier=(lot * factor).normalize() if by_lot and lot and factor else None,
        tick=tick,
        expiry=rows.day(record, "Expiry"),
        strike=rows.strike(number(record, "StrikePrice")) if is_option else None,
        option_type=option_type if is_option else "",
    )
