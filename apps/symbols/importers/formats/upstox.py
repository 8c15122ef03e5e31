"""Upstox: the complete list as CSV, and as JSON, which has more columns.

Ticks are in paise in all of the JSON, but in the CSV only for commodities and currencies. A
commodity's freeze quantity counts lots, and NSE's commodity lots are counted too.
"""

from typing import Final

from apps.symbols.importers import rows, shares
from apps.symbols.importers.formats import contract_names
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

SOURCE: Final = Source.UPSTOX
COLUMNS: Final = frozenset(("instrument_key", "exchange_token", "tradingsymbol", "option_type"))
JSON_COLUMNS: Final = frozenset(("instrument_key", "trading_symbol", "segment"))
_MARKETS: Final[dict[str, MarketSegment]] = {
    "NSE_EQ": rows.NSE_CASH,
    "BSE_EQ": rows.BSE_CASH,
    "NSE_INDEX": rows.NSE_CASH,
    "BSE_INDEX": rows.BSE_CASH,
    "NSE_FO": rows.NSE_FO,
    "BSE_FO": rows.BSE_FO,
    "NCD_FO": rows.NSE_CURRENCY,
    "BCD_FO": rows.BSE_CURRENCY,
    "NSE_COM": rows.NSE_COMMODITY,
    "MCX_FO": rows.MCX,
    "MCX_INDEX": rows.MCX,
}
_PAISE: Final = "0.01"
_UNITS_OF_LOTS: Final = (Segment.COMMODITY, Segment.CURRENCY)


def read(record: Record, line: int) -> InstrumentRow:
    """Read a record of the CSV."""
    listed = text(record, "exchange")
    venue = market(_MARKETS, listed)
    alias, key = rows.required(record, "tradingsymbol"), text(record, "instrument_key")
    name = text(record, "name")
    if listed.endswith("_INDEX"):
        return InstrumentRow(line, *venue, Type.INDEX, alias, name, alias, key)
    paise = _PAISE if venue.segment in _UNITS_OF_LOTS else "1"
    tick, lot = positive(record, "tick_size", times=paise), whole(record, "lot_size")
    if venue.segment == Segment.CASH:
        isin = _isin(key)
        rank = shares.rank_of(venue.exchange, isin=isin)
        return InstrumentRow(
            line, *venue, Type.EQUITY, alias, name, alias, key, lot, tick=tick, isin=isin, rank=rank
        )
    option_type = text(record, "option_type")
    if option_type == "COM":
        return InstrumentRow(line, *venue, Type.COMMODITY, name, name, alias, key, tick=tick)
    expiry, is_option = rows.day(record, "expiry"), option_type in ("CE", "PE")
    strike = rows.strike(number(record, "strike")) if is_option else None
    option_type = option_type if is_option else ""
    raw, weekly = contract_names.underlying(
        alias, expiry=expiry, strike=strike, option_type=option_type
    )
    return InstrumentRow(
        line,
        *venue,
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=raw,
        name=name,
        alias=alias,
        token=key,
        lot=None if venue == rows.NSE_COMMODITY else lot,
        tick=tick,
        expiry=expiry,
        strike=strike,
        option_type=option_type,
        weekly=weekly,
    )


def read_json_row(record: Record, line: int) -> InstrumentRow:
    listed, kind = text(record, "segment"), text(record, "instrument_type")
    venue = market(_MARKETS, listed)
    alias, key = rows.required(record, "trading_symbol"), text(record, "instrument_key")
    name, tick = text(record, "name"), positive(record, "tick_size", times=_PAISE)
    if listed.endswith("_INDEX"):
        return InstrumentRow(line, *venue, Type.INDEX, alias, name, alias, key)
    row = InstrumentRow(
        line,
        *venue,
        type=Type.EQUITY,
        raw=alias,
        name=name,
        alias=alias,
        token=key,
        lot=whole(record, "lot_size"),
        tick=tick,
        freeze=whole(record, "freeze_quantity"),
    )
    if venue.segment == Segment.CASH:
        isin = text(record, "isin")
        rank = shares.rank_of(venue.exchange, series=kind, isin=isin)
        return row._replace(isin=isin, rank=rank)
    if kind == "COM":
        return InstrumentRow(line, *venue, Type.COMMODITY, name, name, alias, key, tick=tick)
    if kind not in ("CE", "PE", "FUT"):
        raise RejectedRow(RejectReason.UNREADABLE, f"{kind!r} is no type of contract")
    return _json_contract(row, record, venue, kind)


def _json_contract(
    row: InstrumentRow, record: Record, venue: MarketSegment, kind: str
) -> InstrumentRow:
    """Return the row as a contract of the kind CE, PE or FUT."""
    lot, multiplier, freeze, weekly = row.lot, None, row.freeze, record.get("weekly")
    if venue.segment in _UNITS_OF_LOTS:
        lot = None if venue == rows.NSE_COMMODITY else lot
        multiplier = positive(record, "qty_multiplier")
        freeze = freeze * lot if freeze and lot else None
    is_option = kind != "FUT"
    return row._replace(
        type=Type.OPTIONS if is_option else Type.FUTURES,
        raw=rows.required(record, "asset_symbol"),
        lot=lot,
        multiplier=multiplier,
        freeze=freeze,
        expiry=rows.day(record, "expiry"),
        strike=rows.strike(number(record, "strike_price")) if is_option else None,
        option_type=kind if is_option else "",
        weekly=weekly if isinstance(weekly, bool) else None,
    )


def _isin(key: str) -> str:
    """Return the ISIN, which the CSV has only in the key: NSE_EQ|INE002A01018."""
    return key.partition("|")[2]
