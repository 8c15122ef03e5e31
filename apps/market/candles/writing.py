"""Writing bars to candle chunks: new chunks are inserted, existing ones merged with the new bars.

A load (`append_all`) keeps the chunks that it replaces, for `undo`. All functions but `append` and
`append_all` need a transaction that holds `lock_symbols`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final
from zlib import crc32

import numpy as np
import psycopg
from django.db import connection, transaction
from django.db.models import QuerySet

from apps.core.errors import Code, ServiceError
from apps.core.times import day_in_india, midnight
from apps.engine.candles import IST, Candles
from apps.market.candles import buffer, queries, replaced
from apps.market.candles.chunks import (
    PRICES,
    Chunk,
    day_bits,
    decode,
    encode,
    overlay,
    sha256,
    split,
)
from apps.market.candles.quality import Flags
from apps.market.candles.samples import describe_samples, sample_ends
from apps.market.models import CandleChunk

_LOCK_SPACE: Final = 0x0CA4D1E5
# Symbols share this many locks: a bhavcopy's thousands would fill the server's table of locks.
_LOCK_BUCKETS: Final = 256
# The number of chunks in memory at a time, beside those of the import.
_MERGE_BATCH: Final = 500
_IN_THE_WAY: Final = "A generated sample is stored where these bars belong: {samples}."


class RealHistoryExists(ServiceError):
    """A generated sample would mix with real bars."""

    code = Code.CONFLICT
    message = "{symbol} has real history; a generated sample is not mixed into it."


class OtherPriceKind(ServiceError):
    """Prices adjusted by their source would mix with prices as traded."""

    code = Code.CONFLICT
    message = (
        "{symbol} {timeframe} holds prices {held}, and these are {given}; the two are not mixed."
        " Replace the stored bars, or leave this file out."
    )


class SampleInTheWay(ServiceError):
    """Bars would replace generated ones, and nobody said that they may."""

    code = Code.CONFLICT
    message = _IN_THE_WAY + " Send replaceSample to replace it."

    def __init__(self, *, samples: Sequence[str]) -> None:
        super().__init__(samples=list(samples))
        self.samples = samples

    @property
    def reason(self) -> str:
        """The message without advice, which differs between the API, commands and pages."""
        return _IN_THE_WAY.format(samples=", ".join(self.samples))


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """The effect of a write on stored bars.

    `dropped` bars were removed: a generated sample for real bars, or stored bars for their
    replacement.
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
    """The kind of bars: `synthetic` bars are generated, `adjusted` bars have prices that their
    source adjusted for splits. Without `prices_known` the adjustment is unknown.
    """

    synthetic: bool = False
    adjusted: bool = False
    prices_known: bool = False


# Of feeds: as traded.
REAL: Final = CandleKind(prices_known=True)


def append(
    *, symbol: str, timeframe: str, candles: Candles, kind: CandleKind = REAL, now: datetime
) -> WriteCounts:
    """Do as `append_all`, for one symbol."""
    return append_all(series={symbol: candles}, timeframe=timeframe, kind=kind, now=now)


@transaction.atomic
def append_all(
    *,
    series: Mapping[str, Candles],
    timeframe: str,
    kind: CandleKind = REAL,
    replace: Collection[str] = (),
    replace_sample: bool = False,
    now: datetime,
) -> WriteCounts:
    """Merge bars into the stored ones; newer values replace a stored bar of the same time.

    The replaced chunks are kept until the next load of the series (`undo`). An unchanged chunk is
    not written, so importing a file again changes nothing. The stored bars of the symbols of
    `replace` in this timeframe are dropped first, and generated ones with `replace_sample`. Raises
    SampleInTheWay, RealHistoryExists, OtherPriceKind.
    """
    lock_symbols(series)
    compact_into_chunks(series, now=now)
    stored = CandleChunk.objects.filter(symbol__in=list(series), timeframe=timeframe).order_by()
    obsolete = stored.filter(symbol__in=list(replace))
    replaced.keep_chunks(obsolete.values_list("pk", flat=True), now=now)
    dropped = delete_chunks(obsolete)
    if kind.synthetic:
        _refuse_real_history(series)
    elif ends := sample_ends(series, timeframe):
        if not replace_sample:
            raise SampleInTheWay(samples=describe_samples(ends, timeframe))
        replaced.keep_chunks(stored.filter(synthetic=True).values_list("pk", flat=True), now=now)
        dropped += sum(drop_samples(ends, timeframe, now=now).values())
    counts = merge_candles(series, timeframe, kind, now=now, undoable=True)
    replaced.forget_earlier_loads(timeframe, now=now)
    return counts + WriteCounts(dropped=dropped)


def merge_candles(
    series: Mapping[str, Candles],
    timeframe: str,
    kind: CandleKind = REAL,
    *,
    now: datetime,
    undoable: bool = False,
) -> WriteCounts:
    """Merge bars by symbol into the stored chunks. Raises OtherPriceKind."""
    stored = CandleChunk.objects.filter(symbol__in=list(series), timeframe=timeframe).order_by()
    refuse_mixture(stored, kind)
    keys = {
        (symbol, midnight(day)): key
        for key, symbol, day in stored.values_list("pk", "symbol", "period_start")
    }
    chunks = [
        (symbol, chunk) for symbol, candles in series.items() for chunk in split(candles, timeframe)
    ]
    fresh = [(symbol, chunk) for symbol, chunk in chunks if (symbol, chunk.start) not in keys]
    _insert(fresh, timeframe, kind, now=now)
    if undoable:
        periods = [(symbol, day_in_india(chunk.start)) for symbol, chunk in fresh]
        replaced.keep_empty_periods(periods, timeframe, now=now)
    counts = WriteCounts(added=sum(len(chunk.candles) for _, chunk in fresh))
    known = [
        (keys[symbol, chunk.start], chunk)
        for symbol, chunk in chunks
        if (symbol, chunk.start) in keys
    ]
    for first in range(0, len(known), _MERGE_BATCH):
        updates, merged = _merge(dict(known[first : first + _MERGE_BATCH]))
        if undoable:
            replaced.keep_chunks(updates, now=now)
        _update(updates, kind, now=now)
        counts += merged
    return counts


def compact_into_chunks(symbols: Iterable[str], *, now: datetime) -> int:
    """Move the buffered bars of the symbols into their chunks, and return their number."""
    buffered = buffer.pop(symbols)
    for timeframe, series in buffered.items():
        merge_candles(series, timeframe, now=now)
    return sum(len(bars) for series in buffered.values() for bars in series.values())


def lock_symbols(symbols: Iterable[str]) -> None:
    """Serialise writes of one symbol: each merges into the chunks of the previous one."""
    buckets = {crc32(symbol.encode()) % _LOCK_BUCKETS for symbol in symbols}
    with connection.cursor() as cursor:
        cursor.execute(queries.LOCK_BUCKETS, [_LOCK_SPACE, sorted(buckets)])


def make_way(
    series: Mapping[str, Candles], timeframe: str, *, replace_sample: bool, now: datetime
) -> Mapping[str, int]:
    """Let bars of a feed follow generated ones, or with `replace_sample` drop these; return the
    number of dropped bars by symbol.

    Raises OtherPriceKind, and SampleInTheWay if bars do not begin after the sample's last bar.
    """
    ends = sample_ends(series, timeframe)
    dropped: Mapping[str, int] = {}
    if replace_sample:
        dropped = drop_samples(ends, timeframe, now=now)
    elif mixed := {
        symbol: end
        for symbol, end in ends.items()
        if len(series[symbol]) and series[symbol].time[0] <= end
    }:
        raise SampleInTheWay(samples=describe_samples(mixed, timeframe))
    refuse_mixture(CandleChunk.objects.filter(symbol__in=series, timeframe=timeframe), REAL)
    return dropped


def drop_samples(ends: Mapping[str, int], timeframe: str, *, now: datetime) -> Mapping[str, int]:
    """Drop the generated bars of symbols, up to these times; return their number by symbol.

    Real bars that follow them stay.
    """
    generated = CandleChunk.objects.filter(
        symbol__in=ends, timeframe=timeframe, synthetic=True
    ).order_by()
    dropped = Counter[str]()
    updates: dict[int, Chunk] = {}
    for chunk in generated.exclude(generated_until=None):
        bars = decode(bytes(chunk.data))
        stays = bars.between(ends[chunk.symbol] + 1, int(bars.time[-1]) + 1)
        dropped[chunk.symbol] += len(bars) - len(stays)
        updates[chunk.pk] = Chunk(midnight(chunk.period_start), stays)
    whole = generated.filter(generated_until=None)
    for symbol, count in whole.values_list("symbol", "bars"):
        dropped[symbol] += count
    whole.delete()
    _update(updates, REAL, now=now)
    generated.filter(pk__in=updates).update(synthetic=False, generated_until=None)
    return dropped


def delete_chunks(chunks: QuerySet[CandleChunk]) -> int:
    """Delete chunks and return the number of their bars."""
    bars = sum(chunks.values_list("bars", flat=True))
    if bars:
        chunks.delete()
    return bars


def _refuse_real_history(symbols: Iterable[str]) -> None:
    """Raise RealHistoryExists if any of the symbols has bars of the market in any timeframe."""
    chunks = CandleChunk.objects.filter(symbol__in=list(symbols))
    if real := chunks.exclude(synthetic=True, generated_until=None).first():
        raise RealHistoryExists(symbol=real.symbol)


def refuse_mixture(stored: QuerySet[CandleChunk], kind: CandleKind) -> None:
    """Raise OtherPriceKind if prices of this kind may not join the stored ones."""
    if other := stored.exclude(adjusted=kind.adjusted).first():
        stored_kind, new_kind = "adjusted by their source", "as they were traded"
        if kind.adjusted:
            stored_kind, new_kind = new_kind, stored_kind
        raise OtherPriceKind(
            symbol=other.symbol, timeframe=other.timeframe, held=stored_kind, given=new_kind
        )


def _insert(
    chunks: Iterable[tuple[str, Chunk]], timeframe: str, kind: CandleKind, *, now: datetime
) -> None:
    """Insert chunks by COPY: an INSERT by Django writes each byte as two hexadecimal digits."""
    shared = {"timeframe": timeframe, **asdict(kind), "updated_at": now}
    columns = queries.CHUNK_COLUMNS
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(queries.COPY_CHUNKS) as copy,
    ):
        copy.set_types(list(columns.values()))
        for symbol, chunk in chunks:
            row = {"symbol": symbol, **shared, **_column_values(chunk)}
            copy.write_row([row[name] for name in columns])


def _merge(new: Mapping[int, Chunk]) -> tuple[Mapping[int, Chunk], WriteCounts]:
    """Add bars to chunks by key; return the chunks that change, and the counts."""
    total, updates = WriteCounts(), {}
    # Bypass Django's cursors, which transfer bytes as hexadecimal text.
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        for key, data in cursor.execute(queries.CHUNK_DATA, [list(new)], binary=True):
            stored, candles = decode(data), new[key].candles
            fresh, changed, repeated = compare(stored, candles)
            counts = WriteCounts(int(fresh.sum()), int(repeated.sum()), int(changed.sum()))
            total += counts
            if counts.added or counts.replaced:
                updates[key] = Chunk(new[key].start, overlay([stored, candles]))
    return updates, total


def _update(chunks: Mapping[int, Chunk], kind: CandleKind, *, now: datetime) -> None:
    """Give stored chunks, by key, these bars."""
    rows = []
    for key, chunk in chunks.items():
        row = _column_values(chunk)
        del row["period_start"]
        rows.append([*row.values(), now, kind.synthetic, key])
    if rows:
        with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
            cursor.executemany(queries.UPDATE_CHUNK, rows)


def compare(stored: Candles, new: Candles) -> tuple[Flags, Flags, Flags]:
    """Return the new bars with a new time, with a changed value, and equal to the stored bar."""
    if not len(stored):
        known = np.zeros(len(new), dtype=np.bool_)
        return ~known, known, known
    index = np.minimum(np.searchsorted(stored.time, new.time), len(stored) - 1)
    known = stored.time[index] == new.time
    same = known.copy()
    for name in (*PRICES, "volume"):
        same &= getattr(stored, name)[index] == getattr(new, name)
    return ~known, known & ~same, same


def _column_values(chunk: Chunk) -> dict[str, object]:
    data = encode(chunk.candles)
    first, last = chunk.candles.time[[0, -1]].tolist()
    return {
        "period_start": datetime.fromtimestamp(chunk.start + IST, tz=UTC).date(),
        "bars": len(chunk.candles),
        "first_time": datetime.fromtimestamp(first, tz=UTC),
        "last_time": datetime.fromtimestamp(last, tz=UTC),
        "days": day_bits(chunk),
        "data": data,
        "sha256": sha256(data),
    }
