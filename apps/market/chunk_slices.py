"""The parts that histories are made of: blocks, and the bars that came in since."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

import numpy as np
import psycopg
from django.db import connection
from numpy.typing import NDArray

from apps.engine.candles import TIMEFRAMES, Candles, day_start, ist_day, start_of_block
from apps.market import candle_chunks, intraday_buffer
from apps.market.candle_chunks import EMPTY
from apps.market.dates import midnight
from apps.market.intraday_buffer import SeriesKey
from apps.market.models import CandleChunk

Days = NDArray[np.int32]

_BlockRow = tuple[int, str, int, date, bytes, datetime, bool]
_NO_DAYS: Final[Days] = np.empty(0, np.int32)

_TABLE: Final = CandleChunk._meta.db_table
_FIELDS: Final = ("pk", "timeframe", "bars", "period_start", "days", "last_time", "adjusted")
_COLUMNS: Final = "id, timeframe, bars, block_start, days, last_time, adjusted"
_DATA: Final = f"SELECT id, data FROM {_TABLE} WHERE id = ANY(%s)"
_OF_ALL: Final = f"""
    SELECT symbol, {_COLUMNS} FROM {_TABLE}
    JOIN unnest(%s::text[], %s::text[], %s::int8[]) AS wanted (symbol, timeframe, start)
        USING (symbol, timeframe)
    WHERE last_time >= to_timestamp(start)
"""


@dataclass(frozen=True, slots=True)
class ChunkSlice:
    """One stored block, and the live bars that lie in it; of a block that has only these, `pk` is
    None. `days` are the days it serves, `whole` says that these are all it has.

    `known_until` is the end of the last bar its timeframe holds: a longer bar that would end later
    is not finished. `adjusted` prices are as their source adjusted them.
    """

    pk: int | None
    timeframe: str
    bars: int
    days: Days
    known_until: int
    whole: bool = True
    adjusted: bool = False
    live: Candles = EMPTY

    def serving(self, days: Days) -> "ChunkSlice":
        whole = len(days) == len(self.days)
        return replace(self, days=days, whole=whole)

    def with_days(self, days: Days) -> "ChunkSlice":
        return replace(self, days=np.union1d(self.days, days))

    def with_live(self, bars: Candles) -> "ChunkSlice":
        end = int(bars.time[-1]) + TIMEFRAMES[self.timeframe]
        return replace(
            self,
            bars=self.bars + len(bars),
            days=np.union1d(self.days, ist_day(bars.time)),
            known_until=max(self.known_until, end),
            live=bars,
        )


def slices_of(symbol: str, timeframes: Sequence[str], until: int) -> list[ChunkSlice]:
    """All of them."""
    # What came in is read before the blocks: if it is folded in between, it is seen twice, and
    # not missed.
    came_in = intraday_buffer.read(symbol, timeframes)
    stored = CandleChunk.objects.filter(symbol=symbol, timeframe__in=timeframes)
    found = _SliceCollector()
    for row in stored.values_list(*_FIELDS):
        found.add_block(row)
    for timeframe, bars in came_in.items():
        found.add_live(timeframe, bars)
    return found.known(until)


def slices_since(since: Mapping[SeriesKey, int], until: int) -> Mapping[str, list[ChunkSlice]]:
    """By symbol the parts of the days on and after which these moments are (epoch seconds), in two
    statements. Of what came in the bars are there from the moment on, and the days.
    """
    midnights = {series: _midnight(start) for series, start in since.items()}
    came_in = intraday_buffer.read_since(since, midnights)
    found: dict[str, _SliceCollector] = {symbol: _SliceCollector() for symbol, _ in since}
    with connection.cursor() as cursor:
        symbols, timeframes = map(list, zip(*midnights, strict=True))
        cursor.execute(_OF_ALL, [symbols, timeframes, list(midnights.values())])
        for symbol, *row in cursor.fetchall():
            found[symbol].add_block(tuple(row))
    for (symbol, timeframe), recent in came_in.items():
        found[symbol].add_live(timeframe, recent.bars)
        if recent.begun:
            found[symbol].add_day(timeframe, since[symbol, timeframe])
    return {symbol: parts.known(until) for symbol, parts in found.items()}


def _midnight(time: int) -> int:
    return int(day_start(ist_day(np.array([time])))[0])


class _SliceCollector:
    """The parts of one symbol, by timeframe and the first moment of their block."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], ChunkSlice] = {}

    def add_block(self, row: _BlockRow) -> None:
        pk, timeframe, bars, first, bits, last, adjusted = row
        start, end = midnight(first), int(last.timestamp()) + TIMEFRAMES[timeframe]
        days = candle_chunks.days_from_bits(bytes(bits), start)
        self._parts[timeframe, start] = ChunkSlice(
            pk, timeframe, bars, days, end, adjusted=adjusted
        )

    def add_live(self, timeframe: str, bars: Candles) -> None:
        for block in candle_chunks.split(bars, timeframe):
            part = self._of(timeframe, block.start)
            self._parts[timeframe, block.start] = part.with_live(block.candles)

    def add_day(self, timeframe: str, time: int) -> None:
        """One that bars came in on before that moment."""
        start = start_of_block(time, timeframe)
        part = self._of(timeframe, start)
        self._parts[timeframe, start] = part.with_days(ist_day(np.array([time])))

    def _of(self, timeframe: str, start: int) -> ChunkSlice:
        """Of a block that is not stored, nothing yet."""
        return self._parts.get((timeframe, start)) or ChunkSlice(None, timeframe, 0, _NO_DAYS, 0)

    def known(self, until: int) -> list[ChunkSlice]:
        """With one moment up to which each timeframe is known."""
        ends: dict[str, int] = defaultdict(lambda: until)
        for part in self._parts.values():
            ends[part.timeframe] = max(ends[part.timeframe], part.known_until)
        return [replace(part, known_until=ends[part.timeframe]) for part in self._parts.values()]


def read_data(parts: Iterable[ChunkSlice]) -> dict[int, bytes]:
    """By key, the blocks that are still there: one dropped meanwhile has no bars any more.

    Django's own cursors have each byte sent as two hexadecimal digits; this one as itself.
    """
    wanted = [part.pk for part in parts if part.pk is not None]
    if not wanted:
        return {}
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return dict(cursor.execute(_DATA, [wanted], binary=True))
