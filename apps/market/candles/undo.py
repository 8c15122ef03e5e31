"""Undoing the last load of a series, while nothing else has changed the series."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from apps.core import audit
from apps.core.audit import Action, Actor
from apps.core.errors import Code, ServiceError
from apps.core.times import indian_time, wire_time
from apps.market.candles import queries
from apps.market.candles.buffer import SeriesKey
from apps.market.candles.corporate_actions import judge_again
from apps.market.candles.replaced import UNDOABLE_FOR
from apps.market.candles.writing import lock_symbols
from apps.market.models import BufferedCandle, CandleChunk, ReplacedChunk

_SERIES: Final = ("symbol", "timeframe")
# Series that the audit log names.
_MOST_NAMED: Final = 100


class NothingToUndo(ServiceError):
    """No load is kept that could be undone."""

    code = Code.CONFLICT
    message = (
        "There is no load{series} to undo. The last load of a series can be undone once, within"
        " {days} days."
    )


class ChangedSinceLoad(ServiceError):
    """Bars have come since the load, and would be lost or mixed."""

    code = Code.CONFLICT
    message = (
        "{symbol} {timeframe} has changed since the load of {loadedAt}, by a feed or a later load."
    )


@dataclass(frozen=True, slots=True)
class UndoneLoad:
    """An undone load: the number of bars in each of its series before and now, and `warnings` about
    the kind of the restored prices.
    """

    loaded_at: datetime
    series: Mapping[SeriesKey, tuple[int, int]]
    warnings: tuple[str, ...]


@transaction.atomic
def undo_load(
    *, symbol: str | None, timeframe: str | None, actor: Actor, now: datetime
) -> UndoneLoad:
    """Put back the chunks replaced by the last load: in all its series, or only in one symbol and
    timeframe.

    Known corporate actions judge the prices again. Raises NothingToUndo, ChangedSinceLoad.
    """
    given = {"symbol": symbol, "timeframe": timeframe}
    chosen = {name: value for name, value in given.items() if value is not None}
    kept = ReplacedChunk.objects.filter(**chosen)
    loaded_at = kept.aggregate(last=Max("loaded_at"))["last"]
    kept = kept.filter(loaded_at=loaded_at)
    lock_symbols(kept.values_list("symbol", flat=True).distinct())
    if not kept.exists():
        named = " ".join(["", "of", *chosen.values()]) if chosen else ""
        raise NothingToUndo(series=named, days=UNDOABLE_FOR.days)
    _refuse_changed(kept, loaded_at)
    before = _bars_of(kept)
    CandleChunk.objects.filter(_is_kept(kept, "period_start")).delete()
    with connection.cursor() as cursor:
        keys = list(kept.values_list("pk", flat=True))
        cursor.execute(queries.RESTORE_CHUNKS, [now, keys])
    after = _bars_of(kept)
    series = list(kept.order_by(*_SERIES).values_list(*_SERIES).distinct())
    kept.delete()
    symbols = sorted({symbol for symbol, _ in series})
    undone = UndoneLoad(
        loaded_at,
        {key: (before[key], after[key]) for key in series},
        tuple(judge_again(symbols)),
    )
    audit.record(
        Action.CANDLE_LOAD_UNDONE,
        None,
        actor=actor,
        now=now,
        loadedAt=wire_time(loaded_at),
        series=[" ".join(key) for key in series[:_MOST_NAMED]],
        total=len(series),
    )
    return undone


def _refuse_changed(kept: QuerySet[ReplacedChunk], loaded_at: datetime) -> None:
    """Raise ChangedSinceLoad if anything but the load has changed one of its series."""
    chunks = CandleChunk.objects.filter(_is_kept(kept))
    touched = _is_kept(kept, "period_start")
    inserted = chunks.filter(
        symbol=OuterRef("symbol"),
        timeframe=OuterRef("timeframe"),
        period_start=OuterRef("period_start"),
    )
    for changed in (
        BufferedCandle.objects.filter(_is_kept(kept)),
        chunks.filter(Q(updated_at__gt=loaded_at) | Q(touched) & ~Q(updated_at=loaded_at)),
        kept.filter(data=None).exclude(Exists(inserted)),
    ):
        if row := changed.values_list(*_SERIES).first():
            raise ChangedSinceLoad(symbol=row[0], timeframe=row[1], loadedAt=indian_time(loaded_at))


def _is_kept(kept: QuerySet[ReplacedChunk], *more: str) -> Exists:
    """Return the condition that rows are of a series of the load, or of its chunks."""
    return Exists(kept.filter(**{name: OuterRef(name) for name in (*_SERIES, *more)}))


def _bars_of(kept: QuerySet[ReplacedChunk]) -> Counter[SeriesKey]:
    """Return how many bars are stored of each series of the load."""
    chunks = CandleChunk.objects.filter(_is_kept(kept)).order_by()
    bars = Counter[SeriesKey]()
    for *key, count in chunks.values_list(*_SERIES, "bars"):
        bars[key[0], key[1]] += count
    return bars
