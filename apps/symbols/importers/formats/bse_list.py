"""BSE: the exchange's list of scrips. Its rows have more columns than its header."""

from typing import Final

from apps.symbols.importers import rows, shares
from apps.symbols.importers.rows import InstrumentRow, Record, RejectedRow, RejectReason, text
from apps.symbols.models import Source, Type

SOURCE: Final = Source.BSE
COLUMNS: Final = frozenset(("Security Code", "Security Id", "Security Name", "ISIN No"))


def read(record: Record, line: int) -> InstrumentRow:
    raw, isin = rows.required(record, "Security Id"), text(record, "ISIN No")
    status = text(record, "Status")
    if status != "Active":
        raise RejectedRow(RejectReason.ELSEWHERE, f"status {status}")
    rank = shares.rank_of("BSE", series=text(record, "Group"), isin=isin)
    name = text(record, "Issuer Name") or text(record, "Security Name")
    return InstrumentRow(
        line,
        *rows.BSE_CASH,
        type=Type.EQUITY,
        raw=raw,
        name=name or raw,
        alias=raw,
        token=rows.required(record, "Security Code"),
        isin=isin,
        rank=rank,
    )
