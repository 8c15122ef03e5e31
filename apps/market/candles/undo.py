"""Undoing the last load of a series, while nothing else has changed the series."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple

from django.db import connection, transaction
from django.db.models import Max

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


class _StoredChunk(NamedTuple):
    """A chunk of a series of the load, as it is stored now."""

    pk: int
    symbol: str
    timeframe: str
    period_start: date
    bars: int
    updated_at: datetime

    @property
    def key(self) -> tuple[str, str, date]:
        return self.symbol, self.timeframe, self.period_start


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
    # Bars by chunk, None where the load inserted it. A load has thousands of series: they are
    # compared here, where no plan of a query can be wrong about their number.
    replaced = {
        (symbol, timeframe, period): bars
        for symbol, timeframe, period, bars in kept.values_list(
            "symbol", "timeframe", "period_start", "bars"
        )
    }
    if not replaced:
        named = " ".join(["", "of", *chosen.values()]) if chosen else ""
        raise NothingToUndo(series=named, days=UNDOABLE_FOR.days)
    series = sorted({(symbol, timeframe) for symbol, timeframe, _ in replaced})
    stored = list(_stored(set(series)))
    _refuse_changed(series, stored, replaced, loaded_at)
    before, after = Counter[SeriesKey](), Counter[SeriesKey]()
    for chunk in stored:
        before[chunk.symbol, chunk.timeframe] += chunk.bars
        after[chunk.symbol, chunk.timeframe] += 0 if chunk.key in replaced else chunk.bars
    for (name, length, _), bars in replaced.items():
        after[name, length] += bars or 0
    loaded = [chunk.pk for chunk in stored if chunk.key in replaced]
    CandleChunk.objects.filter(pk__in=loaded).delete()
    with connection.cursor() as cursor:
        cursor.execute(queries.RESTORE_CHUNKS, [now, list(kept.values_list("pk", flat=True))])
    kept.delete()
    audit.record(
        Action.CANDLE_LOAD_UNDONE,
        None,
        actor=actor,
        now=now,
        loadedAt=wire_time(loaded_at),
        series=[" ".join(key) for key in series[:_MOST_NAMED]],
        total=len(series),
    )
    warnings = tuple(judge_again({name for name, _ in series}))
    return UndoneLoad(loaded_at, {key: (before[key], after[key]) for key in series}, warnings)


def _stored(series: Collection[SeriesKey]) -> Iterator[_StoredChunk]:
    symbols, timeframes = ({key[part] for key in series} for part in (0, 1))
    chunks = CandleChunk.objects.filter(symbol__in=symbols, timeframe__in=timeframes).order_by()
    for row in chunks.values_list(*_StoredChunk._fields):
        chunk = _StoredChunk(*row)
        if (chunk.symbol, chunk.timeframe) in series:
            yield chunk


def _refuse_changed(
    series: Collection[SeriesKey],
    stored: Collection[_StoredChunk],
    replaced: Mapping[tuple[str, str, date], int | None],
    loaded_at: datetime,
) -> None:
    """Raise ChangedSinceLoad if anything but the load has changed one of its series."""
    symbols = {symbol for symbol, _ in series}
    buffered = BufferedCandle.objects.filter(symbol__in=symbols).order_by()
    changed = set(buffered.values_list("symbol", "timeframe").distinct()) & set(series)
    for chunk in stored:
        is_of_load = chunk.key in replaced
        if chunk.updated_at > loaded_at or (is_of_load and chunk.updated_at != loaded_at):
            changed.add((chunk.symbol, chunk.timeframe))
    inserted = {key for key, bars in replaced.items() if bars is None}
    changed |= {key[:2] for key in inserted - {chunk.key for chunk in stored}}
    if changed:
        symbol, timeframe = min(changed)
        raise ChangedSinceLoad(symbol=symbol, timeframe=timeframe, loadedAt=indian_time(loaded_at))
