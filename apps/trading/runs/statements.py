"""Reading and resetting the paper account."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.trading.models import Account, Position
from apps.trading.models.money import ZERO
from apps.trading.runs import capital


@dataclass(frozen=True, slots=True)
class Statement:
    """A paper account: its balance, the capital reserved by runs, and its equity at the
    last marks.
    """

    balance: Decimal
    reserved: Decimal
    equity: Decimal

    currency: str = "INR"

    @property
    def available(self) -> Decimal:
        return self.balance - self.reserved


@transaction.atomic
def read_account(*, owner: User, now: datetime) -> Statement:
    """Return the account, opened on first use, without waiting for its lock."""
    if not Account.objects.filter(owner=owner).exists():
        capital.account_of(owner, now=now)
    return _statement(owner)


@transaction.atomic
def reset_account(*, owner: User, now: datetime) -> Statement:
    """Reset the account to the balance of a new one. Raises AccountInUse."""
    account = capital.account_of(owner, now=now)
    before = account.balance
    capital.reset(account, now=now)
    balance = [before, account.balance]
    audit.record(Action.ACCOUNT_RESET, account, actor=audit.user(owner), now=now, balance=balance)
    return _statement(owner)


def _statement(owner: User) -> Statement:
    """Read the account at one moment, by one query."""
    positions = Position.objects.open().filter(run__account=OuterRef("pk")).order_by()
    totals = positions.values("run__account").annotate(total=Sum("unrealised"))
    unrealised = Coalesce(Subquery(totals.values("total")), ZERO)
    accounts = Account.objects.filter(owner=owner).annotate(equity=F("balance") + unrealised)
    return Statement(*accounts.values_list("balance", "reserved", "equity").get())
