"""Writing into the ledger: entries whose postings add up to zero, which the database checks."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from apps.trading.models import Account, Book, EntryKind, LedgerEntry, Posting


def enter(
    account: Account, kind: EntryKind, amounts: Mapping[Book, Decimal], *, now: datetime
) -> LedgerEntry:
    """One fact, as rupees added to each book. The account's balance is for the caller to change."""
    entry = account.entries.create(kind=kind, at=now)
    Posting.objects.bulk_create(
        Posting(entry=entry, book=book, amount=amount) for book, amount in amounts.items()
    )
    return entry
