"""The import of an instrument master, unless it looks damaged."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from apps.core.errors import Code, ServiceError
from apps.symbols.importers import staging
from apps.symbols.importers.master import Master
from apps.symbols.importers.naming import last_expiries, name_all
from apps.symbols.importers.rows import RejectReason
from apps.symbols.importers.staging import ImportCounts

# Beyond these shares a master is suspicious, where there are more than a few to count.
_MOST_UNREADABLE: Final = 0.1
_MOST_VANISHED: Final = 0.5
_MOST_CHANGED: Final = 0.5
_FEW: Final = 20


@dataclass(frozen=True, slots=True)
class MasterImport:
    """The result of importing a master; the master has the reasons of rejected rows."""

    master: Master
    named: int
    counts: ImportCounts

    @property
    def unchanged(self) -> int:
        return self.named - self.counts.added - self.counts.changed


class SuspiciousMaster(ServiceError):
    """The master would change more than a day can, so the file may be damaged."""

    code = Code.CONFLICT
    message = "{file}: {reason}"


@transaction.atomic
def import_master(*, master: Master, now: datetime, force: bool = False) -> MasterImport:
    """Import a master, all or nothing. Raises SuspiciousMaster unless `force`."""
    last = last_expiries(master.rows)
    for month, expiry in staging.known_expiries().items():
        last[month] = max(expiry, last.get(month, expiry))
    named = name_all(master.rows, last, master.rejections)
    counts = staging.import_rows(master, named)
    staging.record_load(master, named, now)
    imported = MasterImport(master, len(named), counts)
    if not force and (suspicion := _suspicion(imported)):
        raise SuspiciousMaster(file=master.file, reason=suspicion)
    return imported


def _suspicion(imported: MasterImport) -> str:
    """Return the reason why a master looks damaged or in other units, or ""."""
    master, counts = imported.master, imported.counts
    unreadable = master.rejections.counts[RejectReason.UNREADABLE]
    if unreadable > master.read * _MOST_UNREADABLE:
        return f"{unreadable} of its {master.read} rows cannot be read"
    for market, missing in counts.vanished.items():
        before = counts.listed_before[market]
        if before >= _FEW and missing > before * _MOST_VANISHED:
            return f"{missing} of {before} instruments of {' '.join(market)} are gone from it"
    known = imported.named - counts.added
    if known >= _FEW and counts.other_terms > known * _MOST_CHANGED:
        return f"the lot, tick or freeze quantity of {counts.other_terms} of {known} is another"
    return ""
