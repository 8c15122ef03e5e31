"""5paisa: the scrip master, complete or an extract of its columns.

It has no compact symbol: a contract's name is its underlying followed by the date, NIFTY 26 JUN
2025 CE 18250.00.
"""

import re
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

SOURCE: Final = Source.FIVEPAISA
COLUMNS: Final = frozenset(("Exch", "ExchType", "Name", "Expiry", "ScripType", "ScripCode"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "N C": rows.NSE_CASH,
    "B C": rows.BSE_CASH,
    "N D": rows.NSE_FO,
    "B D": rows.BSE_FO,
    "N U": rows.NSE_CURRENCY,
    "B U": rows.BSE_CURRENCY,
    "M D": rows.MCX,
}
_NAME: Final = re.compile(r"(?P<root>.{1,60}?) {1,9}[0-9]{1,2} [A-Za-z]{3} [0-9]{4}( .{0,60})?")


def read(record: Record, line: int) -> InstrumentRow:
    venue = market(_MARKETS, f"{text(record, 'Exch')} {text(record, 'ExchType')}")
    alias, token = rows.required(record, "Name"), text(record, "ScripCode")
    lot, tick = whole(record, "LotSize"), positive(record, "TickSize")
    kind, freeze = text(record, "ScripType"), whole(record, "QtyLimit")
    full_name = text(record, "FullName")
    if venue.segment == Segment.CASH:
        isin = text(record, "ISIN")
        rank = shares.rank_of(venue.exchange, series=_series(record, venue), isin=isin)
        return InstrumentRow(
            line,
            *venue,
            type=Type.EQUITY,
            raw=alias,
            name=full_name or alias,
            alias=alias,
            token=token,
            lot=lot,
            tick=tick,
            freeze=freeze,
            isin=isin,
            rank=rank,
        )
    is_option = kind in ("CE", "PE")
    in_lots = venue.segment != Segment.DERIVATIVES
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=text(record, "SymbolRoot") or _underlying(alias),
        name=full_name,
        alias=alias,
        token=token,
        lot=None if in_lots else lot,
        tick=tick,
        freeze=None if in_lots else freeze,
        expiry=rows.day(record, "Expiry"),
        strike=rows.strike(number(record, "StrikeRate")) if is_option else None,
        option_type=kind if is_option else "",
    )


def _series(record: Record, venue: MarketSegment) -> str:
    return text(record, "Series") if venue.exchange == "NSE" else ""


def _underlying(name: str) -> str:
    match = _NAME.fullmatch(name)
    if match is None:
        raise RejectedRow(RejectReason.UNREADABLE, f"{name} names no underlying and day")
    return match["root"]
