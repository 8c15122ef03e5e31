"""Run a completed backtest again, and compare the receipts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.analysis.reproduction.receipt_comparison import (
    ReceiptComparison,
    ReceiptWithCandles,
    compare_receipts,
)
from apps.backtests.models import Backtest, BacktestResult, BacktestStatus
from apps.backtests.running import results
from apps.core import requests
from apps.core.errors import Code, ServiceError

# The fields frozen at submission; all others are about the way through the queue.
_SUBMITTED: Final = (
    "owner_id",
    "algorithm_id",
    "algorithm_version",
    "name",
    "kind",
    "configuration",
    "study",
    "symbols",
    "timeframe",
    "start_date",
    "end_date",
    "start",
    "end",
    "initial_capital",
    "seed",
)


class NotAReproduction(ServiceError):
    """The backtest does not repeat another one, or the other one is deleted."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest reproduces no other one, or the other one was deleted."


@dataclass(frozen=True, slots=True)
class CompleteReceipt:
    """The data for repeating a backtest, except the candles and the rulebook."""

    backtest: Backtest
    candle_series: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """`comparison` is None until the reproduction is completed."""

    backtest: Backtest
    original: Backtest
    comparison: ReceiptComparison | None


def read_receipt(*, owner: User, backtest_id: str) -> CompleteReceipt:
    """Return the receipt of the user's backtest. Raises BacktestNotFound, NotCompleted."""
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    return CompleteReceipt(backtest, _receipt_of(backtest).candle_series)


@transaction.atomic
def reproduce(*, owner: User, backtest_id: str, now: datetime) -> Reproduction:
    """Enqueue a copy of the user's completed backtest, with its frozen configuration and its seed.

    Raises BacktestNotFound, NotCompleted, TooManyQueued, QueueFull, QuotaExceeded.
    """
    original = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    backtest = resubmission_of(original, reproduces=original, created_at=now)
    services.enqueue_new(backtest, owner=owner, now=now, reproduces=original.pk)
    return Reproduction(backtest, original, None)


def resubmission_of(original: Backtest, **changed: object) -> Backtest:
    """Return an unsaved backtest with the frozen fields of the original, some of them changed."""
    submitted = {name: getattr(original, name) for name in _SUBMITTED}
    return Backtest(**submitted | {"request_id": requests.current_request_id(), **changed})


def read_reproduction(*, owner: User, backtest_id: str) -> Reproduction:
    """Return the user's reproduction with its comparison.

    Raises BacktestNotFound, NotAReproduction.
    """
    backtest = services.read(owner=owner, backtest_id=backtest_id)
    if backtest.reproduces is None:
        raise NotAReproduction(backtestId=backtest.pk)
    return reproduction_of(backtest, backtest.reproduces)


def reproduction_of(backtest: Backtest, original: Backtest) -> Reproduction:
    """Compare the receipts, once there are two."""
    if backtest.status != BacktestStatus.COMPLETED:
        return Reproduction(backtest, original, None)
    comparison = compare_receipts(_receipt_of(original), _receipt_of(backtest))
    return Reproduction(backtest, original, comparison)


def _receipt_of(backtest: Backtest) -> ReceiptWithCandles:
    series = BacktestResult.objects.filter(pk=backtest.pk).values_list("candle_series", flat=True)
    return ReceiptWithCandles(backtest.receipt or {}, series.get() or [])
