"""Read a whole master: every row is imported, or counted with the reason of its rejection."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final

from apps.symbols.importers.formats import fyers
from apps.symbols.importers.master_file import InvalidMaster, MasterFile, NumberedRecord
from apps.symbols.importers.rows import InstrumentRow, RejectedRow, RejectReason, day
from apps.symbols.models import Source

_MOST_SHOWN: Final = 10


@dataclass(slots=True)
class Rejections:
    """The rejected rows: a count for each reason, and the first few with their lines."""

    counts: Counter[RejectReason] = field(default_factory=Counter)
    shown: dict[RejectReason, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, line: int, refused: RejectedRow) -> None:
        self.counts[refused.reason] += 1
        examples = self.shown.setdefault(refused.reason, [])
        if len(examples) < _MOST_SHOWN:
            examples.append((line, refused.detail))


@dataclass(frozen=True, slots=True)
class Master:
    """A master after reading: the rows that can be imported, and its date."""

    file: str
    source: Source
    as_of: date
    as_of_source: str
    read: int
    rows: list[InstrumentRow]
    rejections: Rejections


def read_master(
    path: Path,
    *,
    today: date,
    source: Source | None = None,
    as_of: date | None = None,
    progress: Callable[[Iterable[NumberedRecord]], Iterable[NumberedRecord]] = iter,
) -> Master:
    """Read all rows of a file.

    Raises InvalidMaster if it is damaged, of an unknown format or empty. A master lists no expired
    contract, so its date is at most its earliest expiry.
    """
    rows: list[InstrumentRow] = []
    rejections, read, stamp = Rejections(), 0, date.min
    file = MasterFile(path, source)
    for line, record in progress(file):
        read += 1
        try:
            if isinstance(record, RejectedRow):
                raise record
            rows.append(file.format.read(record, line))
            if record.get(fyers.UPDATED) not in (None, "None"):
                stamp = max(stamp, day(record, fyers.UPDATED))
        except RejectedRow as refused:
            rejections.add(line, refused)
    if not rows:
        raise InvalidMaster(file=path.name, reason=f"none of its {read} rows can be carried")
    day_of, as_of_source = _day_of(rows, stamp, today) if as_of is None else (as_of, "given")
    return Master(path.name, file.format.source, day_of, as_of_source, read, rows, rejections)


def _day_of(rows: list[InstrumentRow], stamp: date, today: date) -> tuple[date, str]:
    if stamp > date.min:
        return stamp, "written in it"
    first = min((row.expiry for row in rows if row.expiry), default=today)
    return (first, "its first expiry") if first < today else (today, "today")
