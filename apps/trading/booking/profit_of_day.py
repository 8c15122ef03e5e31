"""The runs of a day; the gain in their equity since the session's start is the day's profit."""

from collections.abc import Collection, Iterator
from datetime import date
from typing import Final, NamedTuple

from django.db.models import F, FloatField
from django.db.models.functions import Cast, Coalesce

from apps.trading.models import SessionStart

# An ended run without positions has no state; its result is in its capital.
EQUITY_NOW: Final = Coalesce(F("run__state__equity"), Cast("run__capital", FloatField()))
"""The equity of a session's run."""


class RunOfDay(NamedTuple):
    """A run that entered the session of a day: its equity before the first bar, and now."""

    run_id: str
    algorithm_id: str
    day: date
    started_with: float
    equity: float


def runs_of(days: Collection[date], algorithm_ids: Collection[str]) -> Iterator[RunOfDay]:
    """Yield the runs of these algorithms that entered the sessions of these days."""
    sessions = SessionStart.objects.filter(day__in=days, run__algorithm__in=list(algorithm_ids))
    rows = sessions.order_by("pk").values_list(
        "run_id", "run__algorithm_id", "day", "equity", EQUITY_NOW
    )
    return (RunOfDay(*row) for row in rows)
