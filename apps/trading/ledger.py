"""Writing into the ledger: entries whose postings add up to zero, which the database checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.trading.models import Account, Book, EntryKind, Fill, LedgerEntry, Posting


@dataclass(frozen=True, slots=True)
class Fact:
    """What moved money: rupees added to each book of an account."""

    account_id: str
    kind: EntryKind
    amounts: Mapping[Book, Decimal]
    fill: Fill | None = None


def enter(
    account: Account, kind: EntryKind, amounts: Mapping[Book, Decimal], *, now: datetime
) -> None:
    """One fact. The account's balance is for the caller to change."""
    enter_all([Fact(account.pk, kind, amounts)], now=now)


def enter_all(facts: Sequence[Fact], *, now: datetime) -> None:
    """The balances of the accounts are for the caller to change."""
    entries = LedgerEntry.objects.bulk_create(
        LedgerEntry(account_id=fact.account_id, kind=fact.kind, fill=fact.fill, at=now)
        for fact in facts
    )
    Posting.objects.bulk_create(
        Posting(entry=entry, book=book, amount=amount)
        for entry, fact in zip(entries, facts, strict=True)
        for book, amount in fact.amounts.items()
        if amount
    )
