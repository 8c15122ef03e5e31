"""Entries of the ledger. The database checks that their postings add up to zero."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.trading.models import Account, Book, EntryKind, Fill, LedgerEntry, Position, queries
from apps.trading.models.queries import execute_columns


@dataclass(frozen=True, slots=True)
class NewLedgerEntry:
    """An entry to write: rupees added to each book of an account."""

    account_id: str
    kind: EntryKind
    amounts: Mapping[Book, Decimal]
    fill: Fill | None = None
    position: Position | None = None


def enter(
    account: Account, kind: EntryKind, amounts: Mapping[Book, Decimal], *, now: datetime
) -> None:
    """Write one entry. The caller changes the account's balance."""
    enter_all([NewLedgerEntry(account.pk, kind, amounts)], now=now)


def enter_all(new: Sequence[NewLedgerEntry], *, now: datetime) -> None:
    """Write the entries. The caller changes the balances of the accounts."""
    entries = LedgerEntry.objects.bulk_create(
        LedgerEntry(
            account_id=entry.account_id,
            kind=entry.kind,
            fill=entry.fill,
            position=entry.position,
            at=now,
        )
        for entry in new
    )
    execute_columns(
        queries.INSERT_POSTINGS,
        [
            (entry.pk, book, amount)
            for entry, values in zip(entries, new, strict=True)
            for book, amount in values.amounts.items()
            if amount
        ],
    )
