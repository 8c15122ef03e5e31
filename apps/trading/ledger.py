"""Writing into the ledger: entries whose postings add up to zero, which the database checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db import connection

from apps.trading.models import Account, Book, EntryKind, Fill, LedgerEntry, Position, Posting

_POST: Final = f"""
    INSERT INTO {Posting._meta.db_table} (entry_id, book, amount)
    SELECT * FROM unnest(%s::int8[], %s::text[], %s::numeric[])
"""
"""Of the many rows of a fill most are postings: they cost less as columns than as objects."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What moved money: rupees added to each book of an account."""

    account_id: str
    kind: EntryKind
    amounts: Mapping[Book, Decimal]
    fill: Fill | None = None
    position: Position | None = None


def enter(
    account: Account, kind: EntryKind, amounts: Mapping[Book, Decimal], *, now: datetime
) -> None:
    """One fact. The account's balance is for the caller to change."""
    enter_all([LedgerLine(account.pk, kind, amounts)], now=now)


def enter_all(facts: Sequence[LedgerLine], *, now: datetime) -> None:
    """The balances of the accounts are for the caller to change."""
    entries = LedgerEntry.objects.bulk_create(
        LedgerEntry(
            account_id=fact.account_id,
            kind=fact.kind,
            fill=fact.fill,
            position=fact.position,
            at=now,
        )
        for fact in facts
    )
    rows = [
        (entry.pk, book, amount)
        for entry, fact in zip(entries, facts, strict=True)
        for book, amount in fact.amounts.items()
        if amount
    ]
    with connection.cursor() as cursor:
        cursor.execute(_POST, [[row[place] for row in rows] for place in range(3)])
