"""The bundled sample: large shares and indices, so that a new installation knows some names.

The facts in `sample.csv` were copied from the lists named in each row. The sample is not an
instrument master: instruments missing from it may exist.
"""

import csv
from decimal import Decimal
from pathlib import Path

from apps.symbols.models import Instrument, Segment

_FILE = Path(__file__).parent / "bundled" / "sample.csv"


def sample_instruments() -> list[Instrument]:
    with _FILE.open(encoding="utf-8", newline="") as lines:
        return [_instrument(row) for row in csv.DictReader(lines)]


def _instrument(row: dict[str, str]) -> Instrument:
    return Instrument(
        symbol=f"{row['exchange']}:{row['code']}",
        exchange=row["exchange"],
        segment=Segment.CASH,
        code=row["code"],
        exchange_name=row["exchange_name"],
        name=row["name"],
        type=row["type"],
        lot_size=int(row["lot_size"]),
        tick_size=Decimal(row["tick_size"]) if row["tick_size"] else None,
        isin=row["isin"],
        sample=True,
        source=row["source"],
    )
