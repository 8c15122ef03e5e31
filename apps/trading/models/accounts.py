"""A user's paper money, and the ledger that accounts for every paisa of it."""

from decimal import Decimal
from enum import StrEnum
from typing import Self

from django.db import models
from django.db.models import F, Q

from apps.trading.models.money import ZERO


class AccountQuerySet(models.QuerySet["Account"]):
    def locked(self) -> Self:
        """Lock the accounts: nobody else reserves or releases until the transaction ends."""
        return self.select_for_update(no_key=True)


class Account(models.Model):
    """A paper account: its balance, and the part of it that runs have reserved."""

    owner = models.OneToOneField(
        "accounts.User", models.CASCADE, primary_key=True, related_name="+"
    )
    balance = models.DecimalField(max_digits=18, decimal_places=2)
    reserved = models.DecimalField(max_digits=18, decimal_places=2, default=ZERO)
    opened_at = models.DateTimeField()

    objects = AccountQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(reserved__gte=0) & Q(reserved__lte=F("balance")),
                name="account_reserves_what_it_has",
            ),
        ]

    def __str__(self) -> str:
        return f"Account of {self.owner_id}"

    @property
    def available(self) -> Decimal:
        """The amount that a new run may reserve."""
        return self.balance - self.reserved


class EntryKind(StrEnum):
    """The cause of a movement of money."""

    OPENING = "opening"
    RESET = "reset"
    ENTRY = "entry"
    EXIT = "exit"
    FRACTION = "fraction"
    ADJUSTMENT = "adjustment"


class LedgerEntry(models.Model):
    """A movement of money between the books of an account, as postings that add up to zero.

    For a fill, `fill_id` names it; for a fraction of a share left over by a split, `position_id`
    names the position. The database refuses to change an entry or a posting, and refuses postings
    that do not add up to zero.
    """

    account = models.ForeignKey(Account, models.CASCADE, related_name="entries")
    kind = models.CharField(max_length=10, choices=[(k.value, k.value) for k in EntryKind])
    fill = models.OneToOneField(
        "trading.Fill", models.CASCADE, null=True, related_name="ledger_entry"
    )
    position = models.ForeignKey(
        "trading.Position",
        models.CASCADE,
        null=True,
        related_name="ledger_entries",
        db_index=False,  # few entries have one: see below
    )
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in EntryKind]),
                name="ledger_entry_kind_is_known",
            ),
            models.UniqueConstraint(
                fields=["account"],
                condition=Q(kind=EntryKind.OPENING.value),
                name="an_account_opens_once",
            ),
        ]
        indexes = [
            models.Index(
                F("position"), name="entries_of_fractions", condition=Q(position__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.account_id}"


class Book(StrEnum):
    """A book of an account.

    The account owns `cash` and `locked`: free money, and money bound by open positions at their
    entry prices. Their sum is its balance. The other books explain it, with the opposite sign:
    `capital` is the initial loan of the service, `result` the results of positions before charges,
    `charges` the charges of fills.
    """

    CASH = "cash"
    LOCKED = "locked"
    CAPITAL = "capital"
    RESULT = "result"
    CHARGES = "charges"


class Posting(models.Model):
    """Rupees that an entry adds to one book; the postings of an entry are inserted together."""

    entry = models.ForeignKey(LedgerEntry, models.CASCADE, related_name="postings")
    book = models.CharField(max_length=8, choices=[(b.value, b.value) for b in Book])
    amount = models.DecimalField(max_digits=18, decimal_places=2)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(book__in=[book.value for book in Book]), name="posting_book_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.book} {self.amount}"
