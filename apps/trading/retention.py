"""How long what runs have heard and used is kept; what they have done and earned stays."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, F, OuterRef, Q

from apps.core.retention import delete_in_batches
from apps.trading.models import BarRow, RunState, Signal

KEPT: Final = timedelta(days=90)
"""The market's days of signals, so that a young run keeps all of a replay; our days of rows."""


def purge(*, now: datetime) -> int:
    """Delete older signals, and older rows of candles that no run computes its indicators over.

    Returns how many rows went. It can be stopped at any point and run twice at once.
    """
    before = now - KEPT
    has_runs = Exists(RunState.objects.filter(stream=OuterRef("stream")))
    of_earlier_stretch = (
        ~has_runs | Q(stream__segment_start=None) | Q(time__lt=F("stream__segment_start"))
    )
    return sum(
        delete_in_batches(rows)
        for rows in (
            Signal.objects.filter(bar_time__lt=before, run__started_at__lt=before),
            BarRow.objects.filter(of_earlier_stretch, used_at__lt=before),
        )
    )
