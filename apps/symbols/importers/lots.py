"""The lot and the multiplier of a row, where its master says them or other sources do.

A unit of a share, an index or its contracts gains a rupee per rupee of price. Commodities and
currencies are quoted by another unit than lots are counted in, and few masters say so: what they
leave out is in `lots.csv`, one row for each underlying with its source.
"""

import csv
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from apps.symbols.importers.rows import InstrumentRow
from apps.symbols.models import Segment

_FILE: Final = Path(__file__).parent / "bundled" / "lots.csv"


class Lot(NamedTuple):
    """Units of a lot, and rupees that it gains per rupee of price; None is unknown."""

    size: int | None
    multiplier: Decimal | None


_UNKNOWN: Final = Lot(None, None)


@cache
def known_lots() -> dict[tuple[str, str], Lot]:
    """Return the known lots by exchange and underlying."""
    with _FILE.open(encoding="utf-8", newline="") as lines:
        return {
            (row["exchange"], row["root"]): Lot(int(row["lot"]), Decimal(row["multiplier"]))
            for row in csv.DictReader(lines)
        }


def lot_of_row(row: InstrumentRow) -> Lot:
    """Return the lot of a row: the master takes precedence over what is known of the underlying."""
    if row.segment in (Segment.CASH, Segment.DERIVATIVES):
        return _plain(row.lot)
    if row.expiry is None:
        return _UNKNOWN
    usual = known_lots().get((row.exchange, row.raw), _UNKNOWN)
    size = row.lot or usual.size
    if row.multiplier is not None:
        return Lot(size, row.multiplier)
    if size is None or usual.size is None or usual.multiplier is None:
        return Lot(size, None)
    return Lot(size, size * usual.multiplier / usual.size)


@cache
def _plain(size: int | None) -> Lot:
    return Lot(size, None if size is None else Decimal(size))
