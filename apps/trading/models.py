"""What trades on paper: the account, the runs that hold parts of it, and the switches that stop
runs.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, Self

from django.db import models
from django.db.models import F, Q, Sum

from apps.core.ids import IdField
from apps.engine.symbols import MAX_LENGTH
from apps.trading.money import NOTHING

MAX_REASON: Final = 200


class AccountQuerySet(models.QuerySet["Account"]):
    def locked(self) -> Self:
        """Nobody else reserves or releases until the transaction ends."""
        return self.select_for_update(no_key=True)


class Account(models.Model):
    """A user's paper money: all of it, and what of it the runs hold."""

    owner = models.OneToOneField(
        "accounts.User", models.CASCADE, primary_key=True, related_name="+"
    )
    balance = models.DecimalField(max_digits=18, decimal_places=2)
    reserved = models.DecimalField(max_digits=18, decimal_places=2, default=NOTHING)
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
        """What a new run may reserve."""
        return self.balance - self.reserved


class EntryKind(StrEnum):
    """Why a balance changed."""

    OPENING = "opening"
    RESET = "reset"


class LedgerEntry(models.Model):
    """One change of a balance, which is the sum of them. The database refuses to rewrite one."""

    account = models.ForeignKey(Account, models.CASCADE, related_name="entries")
    kind = models.CharField(max_length=10, choices=[(k.value, k.value) for k in EntryKind])
    amount = models.DecimalField(max_digits=18, decimal_places=2)
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

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"


class EndReason(StrEnum):
    """Why a run takes no more entries."""

    STOPPED = "stopped"
    ERROR = "error"


class RunQuerySet(models.QuerySet["Run"]):
    def holding(self) -> Self:
        """Those whose capital is still reserved: they trade, or hold what they have bought."""
        return self.filter(released_at=None)

    def live(self) -> Self:
        """Those of algorithms that are active or paused."""
        return self.filter(ended_at=None)


class Run(models.Model):
    """An algorithm's trading from one start to the stop after it, by the steps as they were then.

    It ends when it is stopped or fails. Its capital goes back to the account when it also holds
    nothing any more, which may be later. `close_positions` asks for that: whoever trades the run
    closes each position at its symbol's next open.
    """

    id = IdField()
    # Its own index on the algorithm would repeat the one of the newest first.
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="runs", db_index=False
    )
    account = models.ForeignKey(Account, models.CASCADE, related_name="runs")
    algorithm_version = models.PositiveIntegerField()
    configuration = models.JSONField(help_text="The steps by their wire names, as they were sent")
    mode = models.CharField(max_length=5, choices=[("paper", "paper"), ("live", "live")])
    capital = models.DecimalField(
        max_digits=18,
        decimal_places=2,
        help_text="Its part of the account: what it began with and has won or lost since",
    )
    started_at = models.DateTimeField()
    close_positions = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(
        max_length=10, blank=True, choices=[(reason.value, reason.value) for reason in EndReason]
    )
    released_at = models.DateTimeField(null=True, help_text="When its capital was given back")

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["algorithm"],
                condition=Q(released_at=None),
                name="one_run_of_an_algorithm_holds_capital",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, end_reason="")
                | Q(ended_at__isnull=False, end_reason__in=[r.value for r in EndReason]),
                name="an_ended_run_says_why",
            ),
            models.CheckConstraint(
                condition=Q(released_at=None) | Q(ended_at__isnull=False),
                name="a_run_keeps_its_capital_until_it_ends",
            ),
            models.CheckConstraint(condition=Q(capital__gte=0), name="run_owes_nothing"),
        ]
        indexes = [
            models.Index(F("algorithm"), F("started_at").desc(), name="runs_newest_first"),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk}"

    def end(self, reason: EndReason, *, now: datetime) -> None:
        """It takes no more entries; one that has ended keeps the reason and the time."""
        if self.ended_at is None:
            self.ended_at, self.end_reason = now, reason


class PositionQuerySet(models.QuerySet["Position"]):
    def open(self) -> Self:
        return self.filter(closed_at=None)

    def unrealised(self) -> Decimal:
        """What all of them would win or lose if they were closed at their last marks."""
        total: Decimal | None = self.open().aggregate(total=Sum("unrealised"))["total"]
        return total or NOTHING


class Position(models.Model):
    """What a run holds, or has held, of one symbol."""

    # Its own index on the run would repeat the constraint's for those that are open.
    run = models.ForeignKey(Run, models.CASCADE, related_name="positions")
    symbol = models.CharField(max_length=MAX_LENGTH)
    quantity = models.BigIntegerField(help_text="Below zero when it is short")
    entry_price = models.DecimalField(max_digits=18, decimal_places=4)
    unrealised = models.DecimalField(
        max_digits=18, decimal_places=2, default=NOTHING, help_text="Rupees, at the last mark"
    )
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    objects = PositionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "symbol"],
                condition=Q(closed_at=None),
                name="one_open_position_of_a_symbol_in_a_run",
            ),
            models.CheckConstraint(condition=~Q(quantity=0), name="position_is_of_something"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} {self.symbol}"


class DailyLoss(models.Model):
    """What an algorithm has lost on one date in Asia/Kolkata, against the limit of that day."""

    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="daily_losses", db_index=False
    )
    day = models.DateField()
    loss = models.DecimalField(max_digits=18, decimal_places=2, help_text="Rupees; 0 or more")
    limit = models.DecimalField(max_digits=18, decimal_places=2)
    breached_at = models.DateTimeField(null=True, help_text="When the loss reached the limit")

    class Meta:
        verbose_name_plural = "daily losses"
        constraints = [
            models.UniqueConstraint(fields=["algorithm", "day"], name="one_loss_of_a_day"),
            models.CheckConstraint(condition=Q(loss__gte=0), name="daily_loss_is_not_below_zero"),
        ]

    def __str__(self) -> str:
        return f"{self.algorithm_id} {self.day}: {self.loss} of {self.limit}"


class Switch(models.Model):
    """While it is on, nothing starts and nothing is entered; exits go on."""

    active = models.BooleanField(default=False)
    since = models.DateTimeField(null=True)
    reason = models.CharField(max_length=MAX_REASON, blank=True)

    class Meta:
        abstract = True

    def turn_on(self, *, reason: str, now: datetime) -> None:
        self.active, self.since, self.reason = True, now, reason

    def turn_off(self) -> None:
        self.active, self.since, self.reason = False, None, ""


def _says_since_when(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        condition=Q(active=True, since__isnull=False) | Q(active=False, since=None, reason=""),
        name=name,
    )


class KillSwitch(Switch):
    """Of one user, over all their algorithms."""

    owner = models.OneToOneField(
        "accounts.User", models.CASCADE, primary_key=True, related_name="+"
    )

    class Meta:
        verbose_name_plural = "kill switches"
        constraints = [_says_since_when("kill_switch_says_since_when")]

    def __str__(self) -> str:
        return f"Kill switch of {self.owner_id}"


class GlobalSwitch(Switch):
    """Of the operators, over everybody; there is one row at most."""

    THE_ONE: Final = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=THE_ONE)

    class Meta:
        verbose_name = "global kill switch"
        verbose_name_plural = "global kill switch"
        constraints = [
            _says_since_when("global_switch_says_since_when"),
            models.CheckConstraint(condition=Q(id=1), name="there_is_one_global_switch"),
        ]

    def __str__(self) -> str:
        return "the global kill switch"
