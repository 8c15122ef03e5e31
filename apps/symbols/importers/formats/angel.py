"""Angel One: the scrip master, as JSON or as CSV, with all values as text.

Strikes and ticks are in paise; those of currencies are 100,000 times finer still. Series are
suffixes. Stock indices have no tick; some are listed twice, the second time like a share.
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
    positive,
    text,
    whole,
)
from apps.symbols.models import Segment, Source, Type

SOURCE: Final = Source.ANGEL
COLUMNS: Final = frozenset(("token", "symbol", "instrumenttype", "exch_seg", "lotsize"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "NSE": rows.NSE_CASH,
    "BSE": rows.BSE_CASH,
    "NFO": rows.NSE_FO,
    "BFO": rows.BSE_FO,
    "CDS": rows.NSE_CURRENCY,
    "BCD": rows.BSE_CURRENCY,
    "NCO": rows.NSE_COMMODITY,
    "MCX": rows.MCX,
    "NCDEX": rows.NCDEX,
}
_INDICES: Final = ("AMXIDX", "INDEX")
# NIFTY25JUN2623000CE, and at NCDEX DHANIYA09OCT26CE11300FOCT26.
_OPTION: Final = re.compile(r".*[0-9](CE|PE)|.*[0-9]{2}(CE|PE)[0-9]+F[A-Z]{3}[0-9]{2}")


def read(record: Record, line: int) -> InstrumentRow:
    venue = market(_MARKETS, text(record, "exch_seg"))
    alias, token = rows.required(record, "symbol"), text(record, "token")
    kind, name = text(record, "instrumenttype"), text(record, "name")
    paise = "0.0000001" if venue.segment == Segment.CURRENCY else "0.01"
    tick, lot = positive(record, "tick_size", times=paise), whole(record, "lotsize")
    untraded = venue.segment == Segment.CASH and tick is None
    if untraded or (kind in _INDICES and venue.segment == Segment.COMMODITY):
        return InstrumentRow(line, *venue, Type.INDEX, name or alias, alias, alias, token)
    if venue.segment == Segment.CASH:
        raw, series = shares.split_series(alias) if venue.exchange == "NSE" else (alias, "")
        rank = shares.rank_of(venue.exchange, series=series)
        return InstrumentRow(
            line, *venue, Type.EQUITY, raw, name or raw, alias, token, lot, tick=tick, rank=rank
        )
    if not text(record, "expiry"):
        raise RejectedRow(
            RejectReason.ELSEWHERE, f"{alias} of {text(record, 'exch_seg')}, no contract"
        )
    option = _OPTION.fullmatch(alias) if kind.startswith("OPT") else None
    if kind.startswith("OPT") and option is None:
        raise RejectedRow(RejectReason.UNREADABLE, f"{alias} is neither call nor put")
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if option else Type.FUTURES,
        raw=rows.required(record, "name"),
        name=name,
        alias=alias,
        token=token,
        lot=lot if venue.segment == Segment.DERIVATIVES else None,
        tick=tick,
        expiry=rows.day(record, "expiry"),
        strike=rows.strike(positive(record, "strike", times=paise)) if option else None,
        option_type=(option[1] or option[2]) if option else "",
    )
