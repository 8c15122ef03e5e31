"""NSE: EQUITY_L.csv, the exchange's own list of equities."""

from typing import Final

from apps.symbols.importers import rows, shares
from apps.symbols.importers.rows import InstrumentRow, Record, text, whole
from apps.symbols.models import Source, Type

SOURCE: Final = Source.NSE
COLUMNS: Final = frozenset(("SYMBOL", "NAME OF COMPANY", "SERIES", "ISIN NUMBER"))


def read(record: Record, line: int) -> InstrumentRow:
    raw, isin = rows.required(record, "SYMBOL"), text(record, "ISIN NUMBER")
    rank = shares.rank_of("NSE", series=text(record, "SERIES"), isin=isin)
    return InstrumentRow(
        line,
        *rows.NSE_CASH,
        type=Type.EQUITY,
        raw=raw,
        name=rows.required(record, "NAME OF COMPANY"),
        alias=raw,
        token="",
        lot=whole(record, "MARKET LOT"),
        isin=isin,
        rank=rank,
        listed=rows.day(record, "DATE OF LISTING"),
    )
