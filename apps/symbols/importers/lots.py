"""The lot and the multiplier of a row, from its master or from other sources.

A unit of a share, an index or its contracts gains a rupee per rupee of price. Commodities and
currencies are quoted per another unit than lots are counted in, and few masters give the ratio.
`lots.csv` has the missing values, one row for each underlying with its source.
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
    """The units of a lot, and the rupees it gains per rupee of price; None is unknown."""

    size: int | None
    multiplier: Decimal | None


_UNKNOWN: Final = Lot(None, None)


@cache
def known_lots() -> dict[tuple[str, str], Lot]:
    """Return the known lots, keyed by exchange and underlying."""
    with _FILE.open(encoding="utf-8", newline="") as lines:
        return {
            (row["exchange"], row["root"]): Lot(int(row["lot"]), Decimal(row["multiplier"]))
            for row in csv.DictReader(lines)
        }


def lot_of_row(row: InstrumentRow) -> Lot:
    """Return the lot of a row. The master takes precedence over the known lot of the underlying."""
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
