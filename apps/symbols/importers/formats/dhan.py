"""Dhan: the compact list, whose columns begin with SEM_, and the detailed list.

Ticks are in paise. MCX lots are counted, so their size is always 1. Freeze quantities are one above
the limit, at MCX in lots. Only the detailed list names the underlying in a column: the compact
list's SM_SYMBOL_NAME is often blank or a mnemonic.
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

SOURCE: Final = Source.DHAN
COLUMNS: Final = frozenset(("SEM_SMST_SECURITY_ID", "SEM_TRADING_SYMBOL", "SEM_SEGMENT"))
DETAILED_COLUMNS: Final = frozenset(("EXCH_ID", "SECURITY_ID", "UNDERLYING_SYMBOL", "SEGMENT"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "NSE E": rows.NSE_CASH,
    "BSE E": rows.BSE_CASH,
    "NSE I": rows.NSE_CASH,
    "BSE I": rows.BSE_CASH,
    "NSE D": rows.NSE_FO,
    "BSE D": rows.BSE_FO,
    "NSE C": rows.NSE_CURRENCY,
    "BSE C": rows.BSE_CURRENCY,
    "NSE M": rows.NSE_COMMODITY,
    "BSE M": rows.BSE_COMMODITY,
    "MCX M": rows.MCX,
    "NCDEX M": rows.NCDEX,
}
_TRADED: Final = frozenset(("ES", "ETF", "INVITU", "REIT", "EQUITY", "OTHER"))
_UNDERLYING: Final = re.compile(r"(?P<root>.{1,60})-[A-Z][a-z]{2}[0-9]{4}-.{1,60}")
_PAISE: Final = "0.01"

# The names of the same columns in the compact list.
_COMPACT: Final = {
    "exchange": "SEM_EXM_EXCH_ID",
    "segment": "SEM_SEGMENT",
    "id": "SEM_SMST_SECURITY_ID",
    "symbol": "SEM_TRADING_SYMBOL",
    "name": "SEM_CUSTOM_SYMBOL",
    "lot": "SEM_LOT_UNITS",
    "expiry": "SEM_EXPIRY_DATE",
    "strike": "SEM_STRIKE_PRICE",
    "option": "SEM_OPTION_TYPE",
    "tick": "SEM_TICK_SIZE",
    "kind": "SEM_EXCH_INSTRUMENT_TYPE",
    "series": "SEM_SERIES",
}
_DETAILED: Final = {
    "exchange": "EXCH_ID",
    "segment": "SEGMENT",
    "id": "SECURITY_ID",
    "symbol": "SYMBOL_NAME",
    "underlying": "UNDERLYING_SYMBOL",
    "name": "DISPLAY_NAME",
    "lot": "LOT_SIZE",
    "expiry": "SM_EXPIRY_DATE",
    "strike": "STRIKE_PRICE",
    "option": "OPTION_TYPE",
    "tick": "TICK_SIZE",
    "kind": "INSTRUMENT_TYPE",
    "series": "SERIES",
    "isin": "ISIN",
    "freeze": "SM_FREEZE_QTY",
}


def read(record: Record, line: int) -> InstrumentRow:
    """Read a record of the compact list."""
    return _read({name: record.get(column) for name, column in _COMPACT.items()}, line)


def read_detailed(record: Record, line: int) -> InstrumentRow:
    return _read({name: record.get(column) for name, column in _DETAILED.items()}, line)


def _read(record: Record, line: int) -> InstrumentRow:
    listed = text(record, "segment")
    venue = market(_MARKETS, f"{text(record, 'exchange')} {listed}")
    symbol, token = rows.required(record, "symbol"), text(record, "id")
    tick, name = positive(record, "tick", times=_PAISE), text(record, "name")
    underlying = text(record, "underlying")
    if listed == "I":
        raw = underlying or symbol
        return InstrumentRow(line, *venue, Type.INDEX, raw, name or raw, symbol, token)
    if listed == "E":
        raw = underlying or symbol
        rank = _rank(record, venue.exchange)
        return InstrumentRow(
            line,
            *venue,
            type=Type.EQUITY,
            raw=raw,
            name=name or raw,
            alias=raw,
            token=token,
            lot=whole(record, "lot"),
            tick=tick,
            freeze=_freeze(record),
            isin=text(record, "isin"),
            rank=rank,
        )
    option_type = text(record, "option")
    is_option = option_type in ("CE", "PE")
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=underlying or _underlying(symbol),
        name=name,
        alias=symbol,
        token=token,
        lot=whole(record, "lot") if venue.segment == Segment.DERIVATIVES else None,
        tick=tick,
        freeze=_freeze(record) if venue.segment == Segment.DERIVATIVES else None,
        expiry=rows.day(record, "expiry"),
        strike=rows.strike(number(record, "strike")) if is_option else None,
        option_type=option_type if is_option else "",
    )


def _underlying(symbol: str) -> str:
    """Return the underlying: NIFTY of NIFTY-Sep2026-29150-CE."""
    match = _UNDERLYING.fullmatch(symbol)
    if match is None:
        raise RejectedRow(RejectReason.UNREADABLE, f"{symbol} names no underlying")
    return match["root"]


def _rank(record: Record, exchange: str) -> int:
    kind = text(record, "kind")
    if kind.upper() not in _TRADED:
        raise RejectedRow(RejectReason.NOT_A_SHARE, f"type {kind}")
    return shares.rank_of(exchange, series=text(record, "series"), isin=text(record, "isin"))


def _freeze(record: Record) -> int | None:
    limit = whole(record, "freeze")
    return limit - 1 if limit and limit > 1 else None
