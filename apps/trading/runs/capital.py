"""The paper account's money: opened, reserved for runs, released, reset.

Every function but `account_of` takes the account from `account_of`, locked until the transaction
ends. Algorithms are locked after the account.
"""

from datetime import datetime
from decimal import Decimal

from django.conf import settings

from apps.accounts.models import User
from apps.core.errors import Code, ServiceError
from apps.trading.models import Account, Book, EntryKind, Run
from apps.trading.models.money import ZERO
from apps.trading.runs import ledger
from apps.trading.runs.ledger import NewLedgerEntry


class InsufficientBalance(ServiceError):
    """The run needs more than the unreserved part of the account."""

    code = Code.INSUFFICIENT_BALANCE
    message = "The run needs {required} rupees; {available} of the paper account are available."


class AccountInUse(ServiceError):
    """A run still holds a part of the account."""

    code = Code.UNPROCESSABLE_ENTITY
    message = (
        "The account can be reset when nothing runs; these algorithms still hold capital: "
        "{algorithmIds}."
    )


def account_of(owner: User, *, now: datetime) -> Account:
    """Lock and return the owner's account, opened on first use."""
    account = Account.objects.locked().filter(owner=owner).first()
    return account or _open(owner, now)


def _open(owner: User, now: datetime) -> Account:
    """Open the account; the lock of the owner's row makes concurrent callers wait."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    balance = Decimal(settings.PAPER_ACCOUNT_BALANCE)
    account, is_new = Account.objects.locked().get_or_create(
        owner=owner, defaults={"balance": balance, "opened_at": now}
    )
    if is_new:
        _lend(account, EntryKind.OPENING, balance, now)
    return account


def _lend(account: Account, kind: EntryKind, amount: Decimal, now: datetime) -> None:
    ledger.enter(account, kind, {Book.CASH: amount, Book.CAPITAL: -amount}, now=now)


def reserve(account: Account, required: Decimal) -> None:
    """Raises InsufficientBalance."""
    if required > account.available:
        raise InsufficientBalance(required=required, available=account.available)
    account.reserved += required
    account.save(update_fields=["reserved"])


def release_capital(account: Account, run: Run, *, now: datetime) -> None:
    """Release the remaining capital of an ended run; the caller saves the run."""
    run.released_at = now
    account.reserved -= run.capital
    account.save(update_fields=["reserved"])


def add_result(account: Account, run: Run, amount: Decimal) -> None:
    """Add a run's profit or loss (below 0) to its capital; the caller saves both rows.

    A run can lose more than its capital, because the loss of a short position is unlimited. The
    rest of the account pays for it; `lend_shortfall` covers the account's deficit.
    """
    before = run.capital
    run.capital = max(before + amount, ZERO)
    account.balance += amount
    account.reserved += run.capital - before


def lend_shortfall(account: Account) -> NewLedgerEntry | None:
    """Lend the account the difference to its reserved capital: a paper account has no debts."""
    missing = account.reserved - account.balance
    if missing <= 0:
        return None
    account.balance += missing
    amounts = {Book.CASH: missing, Book.CAPITAL: -missing}
    return NewLedgerEntry(account.pk, EntryKind.ADJUSTMENT, amounts)


def reset(account: Account, *, now: datetime) -> None:
    """Reset the account to the balance of a new one. Raises AccountInUse."""
    holding = account.runs.holding().values_list("algorithm_id", flat=True)
    if in_use := sorted(holding):
        raise AccountInUse(algorithmIds=in_use)
    balance = Decimal(settings.PAPER_ACCOUNT_BALANCE)
    _lend(account, EntryKind.RESET, balance - account.balance, now)
    account.balance = balance
    account.save(update_fields=["balance"])
