"""What studies of an algorithm have found, kept with it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import F

from apps.algorithms.models import Algorithm

MOST_WALK_FORWARDS: Final = 20
"""Older ones make way; each stays with its backtest."""


@transaction.atomic
def keep_walk_forward(*, algorithm_id: str, found: Mapping[str, object], now: datetime) -> None:
    """Append it to those that are kept."""
    algorithm = Algorithm.objects.locked().get(pk=algorithm_id)
    kept = [*algorithm.walk_forward_results, found][-MOST_WALK_FORWARDS:]
    _write(algorithm_id, now, walk_forward_results=kept)


def keep_monte_carlo(*, algorithm_id: str, found: Mapping[str, object], now: datetime) -> None:
    """Replace the one that is kept."""
    _write(algorithm_id, now, monte_carlo_results=found)


def _write(algorithm_id: str, now: datetime, **changes: object) -> None:
    """One more write of the row: its ETag changes."""
    row = Algorithm.objects.filter(pk=algorithm_id)
    row.update(rev=F("rev") + 1, updated_at=now, **changes)
