"""The chunks that the last load of each series replaced, kept so that `undo` can put them back.

The moment of a load identifies it; all series of one command or upload share it.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Final

from django.db import connection

from apps.market.candles import queries
from apps.market.models import ReplacedChunk

# For so long a load can be undone.
UNDOABLE_FOR: Final = timedelta(days=30)


def keep_chunks(keys: Iterable[int], *, now: datetime) -> None:
    """Keep chunks as they are, before the load of the moment `now` changes them."""
    if keys := list(keys):
        with connection.cursor() as cursor:
            cursor.execute(queries.KEEP_CHUNKS, [now, keys])


def keep_empty_periods(
    periods: Sequence[tuple[str, date]], timeframe: str, *, now: datetime
) -> None:
    """Note the periods of symbols into which the load of the moment `now` inserts chunks."""
    if periods:
        symbols, days = map(list, zip(*periods, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(queries.KEEP_PERIODS, [now, timeframe, symbols, days])


def forget_earlier_loads(timeframe: str, *, now: datetime) -> None:
    """Forget the replaced chunks of earlier loads in the series changed by the load of `now`."""
    kept = ReplacedChunk.objects.filter(timeframe=timeframe)
    # Two statements: for a join of this table with itself the planner may not know its size.
    changed = list(kept.filter(loaded_at=now).values_list("symbol", flat=True).distinct())
    if changed:
        kept.filter(symbol__in=changed).exclude(loaded_at=now).delete()


def forget_old_loads(*, now: datetime) -> None:
    """Forget replaced chunks older than UNDOABLE_FOR."""
    ReplacedChunk.objects.filter(loaded_at__lt=now - UNDOABLE_FOR).delete()
