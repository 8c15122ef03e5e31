"""Bringing a master in, unless it looks damaged."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from apps.core.errors import Code, ServiceError
from apps.symbols import staging
from apps.symbols.importers import Master, RejectReason
from apps.symbols.naming import last_expiries, name_all
from apps.symbols.staging import ImportCounts

# Beyond these parts a master is suspicious, where there are more than a few to count.
_MOST_UNREADABLE: Final = 0.1
_MOST_VANISHED: Final = 0.5
_MOST_CHANGED: Final = 0.5
_FEW: Final = 20


@dataclass(frozen=True, slots=True)
class MasterImport:
    """What became of a master's rows; what they were refused for is in the master."""

    master: Master
    named: int
    difference: ImportCounts

    @property
    def unchanged(self) -> int:
        return self.named - self.difference.added - self.difference.changed


class SuspiciousMaster(ServiceError):
    """A master that would do more than a day's change does, so that the file may be at fault."""

    code = Code.CONFLICT
    message = "{file}: {why}"


@transaction.atomic
def import_master(*, master: Master, now: datetime, force: bool = False) -> MasterImport:
    """Bring in what a master says, all or nothing. Raises SuspiciousMaster unless `force`."""
    last = last_expiries(master.rows)
    for month, expiry in staging.known_expiries().items():
        last[month] = max(expiry, last.get(month, expiry))
    named = name_all(master.rows, last, master.refusals)
    difference = staging.import_rows(master, named)
    staging.record_load(master, named, now)
    brought = MasterImport(master, len(named), difference)
    if not force and (why := _suspicion(brought)):
        raise SuspiciousMaster(file=master.file, why=why)
    return brought


def _suspicion(brought: MasterImport) -> str:
    """Why a master looks damaged or is in other units, or ""."""
    master, difference = brought.master, brought.difference
    unreadable = master.refusals.counts[RejectReason.UNREADABLE]
    if unreadable > master.read * _MOST_UNREADABLE:
        return f"{unreadable} of its {master.read} rows cannot be read"
    for market, gone in difference.vanished.items():
        before = difference.listed_before[market]
        if before >= _FEW and gone > before * _MOST_VANISHED:
            return f"{gone} of {before} instruments of {' '.join(market)} are gone from it"
    known = brought.named - difference.added
    if known >= _FEW and difference.other_terms > known * _MOST_CHANGED:
        return f"the lot, tick or freeze quantity of {difference.other_terms} of {known} is another"
    return ""
