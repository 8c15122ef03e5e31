"""Bars as rows of blocks: inserted where there are none, merged into those held.

What is here runs in a transaction that has taken `lock_symbols`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final
from zlib import crc32

import numpy as np
import psycopg
from django.db import connection
from django.db.models import QuerySet

from apps.core.errors import Code, ServiceError
from apps.engine.candles import IST, Candles
from apps.market import candle_chunks, intraday_buffer
from apps.market.candle_chunks import PRICES, Chunk, overlay
from apps.market.dates import midnight
from apps.market.models import CandleChunk
from apps.market.quality import Flags

# The columns of a block and their types, as COPY wants them told.
_COLUMNS: Final[Mapping[str, str]] = {
    "symbol": "text",
    "timeframe": "text",
    "synthetic": "bool",
    "adjusted": "bool",
    "block_start": "date",
    "bars": "int4",
    "first_time": "timestamptz",
    "last_time": "timestamptz",
    "days": "bytea",
    "data": "bytea",
    "sha256": "text",
    "updated_at": "timestamptz",
}
_COPY: Final = (
    f"COPY {CandleChunk._meta.db_table} ({', '.join(_COLUMNS)}) FROM STDIN (FORMAT BINARY)"
)


_UPDATE: Final = (
    f"UPDATE {CandleChunk._meta.db_table} SET bars = %s, first_time = %s, last_time = %s,"
    " days = %s, data = %s, sha256 = %s, updated_at = %s WHERE id = %s"
)
_BLOCKS: Final = f"SELECT id, data FROM {CandleChunk._meta.db_table} WHERE id = ANY(%s)"
_LOCK: Final = "SELECT pg_advisory_xact_lock(%s, bucket) FROM unnest(%s::int[]) AS bucket"
_LOCKS_OF_LOADS: Final = 0x0CA4D1E5
_BUCKETS: Final = 256
"""Symbols share this many locks: a bhavcopy's thousands would fill the server's table of locks."""

_MERGED_AT_ONCE: Final = 500
"""Blocks held in memory beside those of the load."""


class RealHistoryExists(ServiceError):
    """A generated sample would mix with the market's own bars."""

    code = Code.CONFLICT
    message = "{symbol} has real history; a generated sample is not mixed into it."


class OtherPriceKind(ServiceError):
    """Prices that their source adjusted would mix with prices as they were traded."""

    code = Code.CONFLICT
    message = (
        "{symbol} {timeframe} holds prices {held}, and these are {given}; the two are not mixed."
        " Drop what is held with --replace, or leave this file."
    )


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """What a load did to what was held. `dropped` bars made way: a generated sample for real bars,
    or whatever was to be replaced.
    """

    added: int = 0
    repeated: int = 0
    replaced: int = 0
    dropped: int = 0

    def __add__(self, other: "WriteCounts") -> "WriteCounts":
        return WriteCounts(
            self.added + other.added,
            self.repeated + other.repeated,
            self.replaced + other.replaced,
            self.dropped + other.dropped,
        )


@dataclass(frozen=True, slots=True)
class CandleKind:
    """What bars are, beside their numbers: `synthetic` ones are generated, `adjusted` ones have
    prices that their source adjusted for splits.
    """

    synthetic: bool = False
    adjusted: bool = False


REAL: Final = CandleKind()


def append(
    series: Mapping[str, Candles],
    timeframe: str,
    kind: CandleKind = REAL,
    replace: Collection[str] = (),
    *,
    now: datetime,
) -> WriteCounts:
    of_symbols = CandleChunk.objects.filter(symbol__in=list(series)).order_by()
    stored = of_symbols.filter(timeframe=timeframe)
    done = WriteCounts(
        dropped=0 if kind.synthetic else delete_chunks(of_symbols.filter(synthetic=True))
    )
    done += WriteCounts(dropped=delete_chunks(stored.filter(symbol__in=list(replace))))
    refuse_mixture(of_symbols, stored, kind)
    held = {
        (symbol, midnight(day)): key
        for key, symbol, day in stored.values_list("pk", "symbol", "period_start")
    }
    cut = [
        (symbol, block)
        for symbol in series
        for block in candle_chunks.split(series[symbol], timeframe)
    ]
    fresh = [(symbol, block) for symbol, block in cut if (symbol, block.start) not in held]
    _copy(fresh, timeframe, kind, now=now)
    done += WriteCounts(added=sum(len(block.candles) for _, block in fresh))
    known = [
        (held[symbol, block.start], block) for symbol, block in cut if (symbol, block.start) in held
    ]
    for first in range(0, len(known), _MERGED_AT_ONCE):
        done += _merge(dict(known[first : first + _MERGED_AT_ONCE]), now=now)
    return done


def compact(symbols: Iterable[str], *, now: datetime) -> int:
    taken = intraday_buffer.pop(symbols)
    for timeframe, series in taken.items():
        append(series, timeframe, now=now)
    return sum(len(bars) for series in taken.values() for bars in series.values())


def lock_symbols(symbols: Iterable[str]) -> None:
    """Loads of one symbol follow one another: each merges into the blocks the other has left."""
    buckets = {crc32(symbol.encode()) % _BUCKETS for symbol in symbols}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [_LOCKS_OF_LOADS, sorted(buckets)])


def replace_samples(symbols: Collection[str], timeframe: str) -> Mapping[str, int]:
    """Let real bars of one timeframe in; how many of generated samples made way for them.

    Raises OtherPricesHeld.
    """
    held = CandleChunk.objects.filter(symbol__in=symbols).order_by()
    dropped = Counter[str]()
    for symbol, bars in held.filter(synthetic=True).values_list("symbol", "bars"):
        dropped[symbol] += bars
    if dropped:
        held.filter(synthetic=True).delete()
    refuse_mixture(held, held.filter(timeframe=timeframe), REAL)
    return dropped


def delete_chunks(unwanted: QuerySet[CandleChunk]) -> int:
    """How many bars were dropped."""
    bars = sum(unwanted.values_list("bars", flat=True))
    if bars:
        unwanted.delete()
    return bars


def refuse_mixture(
    of_symbols: QuerySet[CandleChunk], stored: QuerySet[CandleChunk], kind: CandleKind
) -> None:
    if kind.synthetic and (real := of_symbols.filter(synthetic=False).first()):
        raise RealHistoryExists(symbol=real.symbol)
    if other := stored.exclude(adjusted=kind.adjusted).first():
        held, given = "adjusted by their source", "as they were traded"
        if kind.adjusted:
            held, given = given, held
        raise OtherPriceKind(symbol=other.symbol, timeframe=other.timeframe, held=held, given=given)


def _copy(
    fresh: Iterable[tuple[str, Chunk]], timeframe: str, kind: CandleKind, *, now: datetime
) -> None:
    """Insert blocks as bytes: an INSERT of Django's writes each byte as two hexadecimal digits."""
    shared = {"timeframe": timeframe, **asdict(kind), "updated_at": now}
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(_COPY) as copy:
        copy.set_types(list(_COLUMNS.values()))
        for symbol, block in fresh:
            row = {"symbol": symbol, **shared, **_contents(block)}
            copy.write_row([row[name] for name in _COLUMNS])


def _merge(new: Mapping[int, Chunk], *, now: datetime) -> WriteCounts:
    """Add bars to held blocks, by their keys; a block in which nothing changes is not written."""
    total, changed = WriteCounts(), []
    # Not Django's cursors: they have each byte sent as two hexadecimal digits.
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        for key, data in cursor.execute(_BLOCKS, [list(new)], binary=True).fetchall():
            merged, done = _merged(candle_chunks.decode(data), new[key].candles)
            total += done
            if done.added or done.replaced:
                row = _contents(Chunk(new[key].start, merged))
                del row["block_start"]
                changed.append([*row.values(), now, key])
        if changed:
            cursor.executemany(_UPDATE, changed)
    return total


def _merged(held: Candles, new: Candles) -> tuple[Candles, WriteCounts]:
    fresh, changed, repeated = compare(held, new)
    done = WriteCounts(
        added=int(fresh.sum()), repeated=int(repeated.sum()), replaced=int(changed.sum())
    )
    return overlay([held, new]), done


def compare(held: Candles, new: Candles) -> tuple[Flags, Flags, Flags]:
    """Which of the new bars are at new moments, differ from the one held, or are the same."""
    if not len(held):
        known = np.zeros(len(new), dtype=np.bool_)
        return ~known, known, known
    at = np.minimum(np.searchsorted(held.time, new.time), len(held) - 1)
    known = held.time[at] == new.time
    same = known.copy()
    for name in (*PRICES, "volume"):
        same &= getattr(held, name)[at] == getattr(new, name)
    return ~known, known & ~same, same


def _contents(block: Chunk) -> dict[str, object]:
    data = candle_chunks.encode(block.candles)
    first, last = block.candles.time[[0, -1]].tolist()
    return {
        "block_start": datetime.fromtimestamp(block.start + IST, tz=UTC).date(),
        "bars": len(block.candles),
        "first_time": datetime.fromtimestamp(first, tz=UTC),
        "last_time": datetime.fromtimestamp(last, tz=UTC),
        "days": candle_chunks.day_bits(block),
        "data": data,
        "sha256": candle_chunks.sha256(data),
    }
