"""Algorithms in error: the reason, and what their owner can do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import OuterRef, Subquery

from apps.accounts.models import User
from apps.algorithms.models import Algorithm, AlgorithmStatus, StatusChange
from apps.trading.models import Run

NO_PRICE_DATA: Final = "no price data"
CAPITAL_LOST: Final = "its capital is lost"
# Version 1.0 wrote the missing bars so.
_NO_BARS: Final = "no bars"
_FEED_ADVICE: Final = (
    "Start a live feed or a replay that brings prices of its symbols, then start the algorithm"
    " again."
)
_CAPITAL_ADVICE: Final = (
    "Lower the position size or the risk of a trade, backtest the change, then start it again."
)
_OTHER_ADVICE: Final = (
    "Stop the algorithm to close its positions. Validate and save its steps, then start it again."
    " If it fails once more, tell the operator."
)


@dataclass(frozen=True, slots=True)
class RunFailure:
    """An algorithm in error: its owner, its last run, and when and why it stopped."""

    algorithm_id: str
    algorithm_name: str
    owner_email: str
    run_id: str | None
    at: datetime
    reason: str

    @property
    def advice(self) -> str:
        return advice_for(self.reason)


def advice_for(reason: str) -> str:
    """Return what the owner of an algorithm can do about the reason of its error."""
    if reason.startswith((NO_PRICE_DATA, _NO_BARS)):
        return _FEED_ADVICE
    return _CAPITAL_ADVICE if reason == CAPITAL_LOST else _OTHER_ADVICE


def find_failures(
    *, owner: User | None = None, algorithm_id: str | None = None, most: int
) -> list[RunFailure]:
    """Return the algorithms in error, the latest first: all, or those of an owner, or one."""
    failed = Algorithm.objects.filter(status=AlgorithmStatus.ERROR)
    if owner is not None:
        failed = failed.owned_by(owner)
    if algorithm_id is not None:
        failed = failed.filter(pk=algorithm_id)
    changes = StatusChange.objects.filter(
        algorithm=OuterRef("pk"), after=AlgorithmStatus.ERROR
    ).order_by("-id")
    runs = Run.objects.filter(algorithm=OuterRef("pk")).order_by("-started_at")
    rows = failed.annotate(
        failed_at=Subquery(changes.values("at")[:1]),
        failed_because=Subquery(changes.values("reason")[:1]),
        last_run=Subquery(runs.values("pk")[:1]),
    ).order_by("-failed_at", "-pk")
    fields = "pk", "name", "owner__email", "last_run", "failed_at", "failed_because"
    return [RunFailure(*row) for row in rows.values_list(*fields)[:most]]
