"""How long signals, bar rows and marks of notices are kept; orders, trades and money stay."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, F, OuterRef, Q

from apps.core.database import delete_in_batches
from apps.trading.models import BarRow, DaySummary, FeedOutage, RunState, Signal

# Signals by the market's days, so that a young run keeps all of a replay; bar rows by real days.
_KEPT: Final = timedelta(days=90)


def purge(*, now: datetime) -> int:
    """Delete old signals and marks of notices, and old bar rows that no run's indicators need.

    Return the number of deleted rows. It can be stopped at any point, and two runs may overlap.
    """
    before = now - _KEPT
    has_runs = Exists(RunState.objects.filter(stream=OuterRef("stream")))
    of_earlier_segment = (
        ~has_runs | Q(stream__segment_start=None) | Q(time__lt=F("stream__segment_start"))
    )
    return sum(
        delete_in_batches(rows)
        for rows in (
            Signal.objects.filter(bar_time__lt=before, run__started_at__lt=before),
            BarRow.objects.filter(of_earlier_segment, used_at__lt=before),
            DaySummary.objects.filter(sent_at__lt=before),
            FeedOutage.objects.filter(noticed_at__lt=before),
        )
    )
