"""Chunk slices, the parts of a history: the days of a candle chunk that a reader needs, with the
buffered bars on them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import numpy as np
import psycopg
from django.db import connection
from django.db.models import Case, When
from numpy.typing import NDArray

from apps.core.times import midnight
from apps.engine.candles import TIMEFRAMES, Candles, day_start, ist_day, start_of_block
from apps.market.candles import buffer, chunks, queries
from apps.market.candles.buffer import SeriesKey
from apps.market.candles.chunks import EMPTY
from apps.market.candles.samples import LAST_GENERATED
from apps.market.models import CandleChunk

Days = NDArray[np.int32]

_ChunkRow = tuple[int, str, int, date, bytes, datetime, bool, datetime | None]
_FIELDS: Final = ("pk", "timeframe", "bars", "period_start", "days", "last_time", "adjusted")
_LAST_GENERATED: Final = Case(When(synthetic=True, then=LAST_GENERATED))
_NO_DAYS: Final[Days] = np.empty(0, np.int32)
_MOST_ATTEMPTS: Final = 5
_P = ParamSpec("_P")
_T = TypeVar("_T")


class ChunksReplaced(Exception):
    """A load has replaced chunks since their slices were made."""


def read_again(read: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a reader of slices and data: it reads both again if chunks were replaced between."""

    @wraps(read)
    def reader(*args: _P.args, **named: _P.kwargs) -> _T:
        for _ in range(_MOST_ATTEMPTS - 1):
            with suppress(ChunksReplaced):
                return read(*args, **named)
        return read(*args, **named)

    return reader


@dataclass(frozen=True, slots=True)
class ChunkSlice:
    """A stored chunk and the buffered bars of its period; `pk` is None if only the buffer has bars.

    `days` are the days it serves; `whole` is True if the chunk has no others. `known_until` is the
    end of the last bar of its timeframe: a longer bar with a later end is incomplete. `adjusted`
    prices were adjusted by their source. Bars up to `generated_until` are generated.
    """

    pk: int | None
    timeframe: str
    bars: int
    days: Days
    known_until: int
    whole: bool = True
    adjusted: bool = False
    generated_until: int | None = None
    buffered: Candles = EMPTY

    def serving(self, days: Days) -> "ChunkSlice":
        return replace(self, days=days, whole=len(days) == len(self.days))

    def with_days(self, days: Days) -> "ChunkSlice":
        return replace(self, days=np.union1d(self.days, days))

    def with_buffered(self, bars: Candles) -> "ChunkSlice":
        end = int(bars.time[-1]) + TIMEFRAMES[self.timeframe]
        return replace(
            self,
            bars=self.bars + len(bars),
            days=np.union1d(self.days, ist_day(bars.time)),
            known_until=max(self.known_until, end),
            buffered=bars,
        )


def slices_of(symbol: str, timeframes: Sequence[str], until: int) -> list[ChunkSlice]:
    """Return all slices of a symbol in these timeframes."""
    # The buffer is read before the chunks: a bar that compaction moves in between is seen twice,
    # and not missed.
    buffered = buffer.read(symbol, timeframes)
    stored = CandleChunk.objects.filter(symbol=symbol, timeframe__in=timeframes)
    slices = _SliceCollector()
    for row in stored.values_list(*_FIELDS, _LAST_GENERATED):
        slices.add_chunk(row)
    for timeframe, bars in buffered.items():
        slices.add_buffered(timeframe, bars)
    return slices.known(until)


def slices_since(since: Mapping[SeriesKey, int], until: int) -> Mapping[str, list[ChunkSlice]]:
    """Return the slices from the days of these moments (epoch seconds) on, keyed by symbol, in two
    statements. Buffered bars are included from the moment on, and the days of earlier ones.
    """
    midnights = {key: int(day_start(ist_day(np.array([start])))[0]) for key, start in since.items()}
    buffered = buffer.read_since(since, midnights)
    slices: dict[str, _SliceCollector] = {symbol: _SliceCollector() for symbol, _ in since}
    with connection.cursor() as cursor:
        symbols, timeframes = map(list, zip(*midnights, strict=True))
        cursor.execute(queries.SLICES_SINCE, [symbols, timeframes, list(midnights.values())])
        for symbol, *row in cursor.fetchall():
            slices[symbol].add_chunk(tuple(row))
    for (symbol, timeframe), recent in buffered.items():
        slices[symbol].add_buffered(timeframe, recent.bars)
        if recent.begun:
            slices[symbol].add_day(timeframe, since[symbol, timeframe])
    return {symbol: collector.known(until) for symbol, collector in slices.items()}


class _SliceCollector:
    """The slices of one symbol, by timeframe and the first moment of their period."""

    def __init__(self) -> None:
        self._slices: dict[tuple[str, int], ChunkSlice] = {}

    def add_chunk(self, row: _ChunkRow) -> None:
        pk, timeframe, bars, first, bits, last, adjusted, last_generated = row
        start, end = midnight(first), int(last.timestamp()) + TIMEFRAMES[timeframe]
        days = chunks.days_from_bits(bytes(bits), start)
        generated = None if last_generated is None else int(last_generated.timestamp())
        self._slices[timeframe, start] = ChunkSlice(
            pk, timeframe, bars, days, end, adjusted=adjusted, generated_until=generated
        )

    def add_buffered(self, timeframe: str, bars: Candles) -> None:
        for chunk in chunks.split(bars, timeframe):
            known = self._slice_at(timeframe, chunk.start)
            self._slices[timeframe, chunk.start] = known.with_buffered(chunk.candles)

    def add_day(self, timeframe: str, time: int) -> None:
        """Add the day of a moment with buffered bars before it."""
        start = start_of_block(time, timeframe)
        known = self._slice_at(timeframe, start)
        self._slices[timeframe, start] = known.with_days(ist_day(np.array([time])))

    def _slice_at(self, timeframe: str, start: int) -> ChunkSlice:
        known = self._slices.get((timeframe, start))
        return known or ChunkSlice(None, timeframe, 0, _NO_DAYS, 0)

    def known(self, until: int) -> list[ChunkSlice]:
        """Return the slices; all of one timeframe have the same `known_until`."""
        ends: dict[str, int] = defaultdict(lambda: until)
        for chunk in self._slices.values():
            ends[chunk.timeframe] = max(ends[chunk.timeframe], chunk.known_until)
        return [
            replace(chunk, known_until=ends[chunk.timeframe]) for chunk in self._slices.values()
        ]


def read_data(slices: Iterable[ChunkSlice]) -> dict[int, bytes]:
    """Return the data of the slices' chunks by key.

    It bypasses Django's cursors, which transfer bytes as hexadecimal text. Raises ChunksReplaced.
    """
    keys = [chunk.pk for chunk in slices if chunk.pk is not None]
    if not keys:
        return {}
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        data = dict(cursor.execute(queries.CHUNK_DATA, [keys], binary=True))
    if len(data) < len(set(keys)):
        raise ChunksReplaced
    return data
