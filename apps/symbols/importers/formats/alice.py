"""Alice Blue: a contract master of one exchange.

MCX lots are counted as 1; `Board Lot Qty` has the exchange's own size.
"""

from typing import Final

from apps.symbols.importers import rows, shares
from apps.symbols.importers.rows import (
    InstrumentRow,
    MarketSegment,
    Record,
    RejectedRow,
    RejectReason,
    market,
    number,
    positive,
    text,
    whole,
)
from apps.symbols.models import Segment, Source, Type

SOURCE: Final = Source.ALICE
COLUMNS: Final = frozenset(("Exch", "Exchange Segment", "Symbol", "Token", "Trading Symbol"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "NSE": rows.NSE_CASH,
    "BSE": rows.BSE_CASH,
    "NFO": rows.NSE_FO,
    "BFO": rows.BSE_FO,
    "CDS": rows.NSE_CURRENCY,
    "BCD": rows.BSE_CURRENCY,
    "MCX": rows.MCX,
    "NCDEX": rows.NCDEX,
    "NCO": rows.NSE_COMMODITY,
}
_INDICATIVE_VALUE: Final = "INAV"


def read(record: Record, line: int) -> InstrumentRow:
    venue = market(_MARKETS, text(record, "Exch"))
    raw, token = rows.required(record, "Symbol"), text(record, "Token")
    alias = text(record, "Trading Symbol") or raw
    name, tick = text(record, "Instrument Name"), positive(record, "Tick Size")
    kind = text(record, "Instrument Type")
    if kind == "INDEX" or text(record, "Exchange Segment").endswith("_idx"):
        return InstrumentRow(line, *venue, Type.INDEX, raw, name or raw, alias, token)
    if venue.segment == Segment.CASH:
        return _share(record, line, venue, alias)
    option_type = text(record, "Option Type")
    is_option = option_type in ("CE", "PE")
    counted = venue.segment == Segment.CURRENCY
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=raw,
        name=name,
        alias=alias,
        token=token,
        lot=None if counted else _lot(record, venue),
        tick=tick,
        freeze=whole(record, "freeze_qty"),
        expiry=rows.day(record, "Expiry Date"),
        strike=rows.strike(number(record, "Strike Price")) if is_option else None,
        option_type=option_type if is_option else "",
    )


def _lot(record: Record, venue: MarketSegment) -> int | None:
    counted = venue.segment == Segment.COMMODITY
    return whole(record, "Board Lot Qty" if counted else "Lot Size")


def _share(record: Record, line: int, venue: MarketSegment, alias: str) -> InstrumentRow:
    name = text(record, "Instrument Name")
    raw, series = shares.split_series(alias) if venue.exchange == "NSE" else (alias, "")
    if raw.endswith(_INDICATIVE_VALUE) and name.upper().startswith(_INDICATIVE_VALUE):
        raise RejectedRow(RejectReason.NOT_A_SHARE, f"{raw} is a fund's indicative value")
    rank = shares.rank_of(venue.exchange, series=series)
    return InstrumentRow(
        line,
        *venue,
        type=Type.EQUITY,
        raw=raw,
        name=name or raw,
        alias=alias,
        token=text(record, "Token"),
        lot=whole(record, "Lot Size"),
        tick=positive(record, "Tick Size"),
        rank=rank,
    )
