"""Writing history."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final
from zlib import crc32

import numpy as np
import psycopg
from django.db import connection, transaction
from django.db.models import QuerySet

from apps.core.errors import Code, ServiceError
from apps.engine.candles import IST, Candles
from apps.market import blocks, editions
from apps.market.blocks import PRICES, Block, joined, picked
from apps.market.importers import Loaded
from apps.market.models import CandleBlock, CandleFile, Edition
from apps.market.moments import midnight
from apps.market.rulebook.book import FILES, read_rulebook

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
    f"COPY {CandleBlock._meta.db_table} ({', '.join(_COLUMNS)}) FROM STDIN (FORMAT BINARY)"
)


_UPDATE: Final = (
    f"UPDATE {CandleBlock._meta.db_table} SET bars = %s, first_time = %s, last_time = %s,"
    " days = %s, data = %s, sha256 = %s, updated_at = %s WHERE id = %s"
)
_BLOCKS: Final = f"SELECT id, data FROM {CandleBlock._meta.db_table} WHERE id = ANY(%s)"
_LOCK: Final = "SELECT pg_advisory_xact_lock(%s, bucket) FROM unnest(%s::int[]) AS bucket"
_LOCKS_OF_LOADS: Final = 0x0CA4D1E5
_BUCKETS: Final = 256
"""Symbols share this many locks: a bhavcopy's thousands would fill the server's table of locks."""

_MERGED_AT_ONCE: Final = 500
"""Blocks held in memory beside those of the load."""


class RealHistoryHeld(ServiceError):
    """A generated sample would mix with the market's own bars."""

    code = Code.CONFLICT
    message = "{symbol} has real history; a generated sample is not mixed into it."


class OtherPricesHeld(ServiceError):
    """Prices that their source adjusted would mix with prices as they were traded."""

    code = Code.CONFLICT
    message = (
        "{symbol} {timeframe} holds prices {held}, and these are {given}; the two are not mixed."
        " Drop what is held with --replace, or leave this file."
    )


class UnknownFile(ServiceError):
    """A file that is no part of a rulebook."""

    code = Code.VALIDATION_ERROR
    message = "The rulebook has no {unknown}; its files are {known}."


@dataclass(frozen=True, slots=True)
class Appended:
    """What a load did to what was held. `dropped` bars made way: a generated sample for real bars,
    or whatever was to be replaced.
    """

    added: int = 0
    repeated: int = 0
    replaced: int = 0
    dropped: int = 0

    def __add__(self, other: "Appended") -> "Appended":
        return Appended(
            self.added + other.added,
            self.repeated + other.repeated,
            self.replaced + other.replaced,
            self.dropped + other.dropped,
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """What bars are, beside their numbers: `synthetic` ones are generated, `adjusted` ones have
    prices that their source adjusted for splits.
    """

    synthetic: bool = False
    adjusted: bool = False


REAL: Final = Kind()


def append(
    *, symbol: str, timeframe: str, candles: Candles, kind: Kind = REAL, now: datetime
) -> Appended:
    """`append_all` of one symbol."""
    return append_all(series={symbol: candles}, timeframe=timeframe, kind=kind, now=now)


@transaction.atomic
def append_all(
    *,
    series: Mapping[str, Candles],
    timeframe: str,
    kind: Kind = REAL,
    replace: Collection[str] = (),
    now: datetime,
) -> Appended:
    """Store bars beside those held; at a moment that is held already, the newer values win.

    A block in which nothing changes is not written, so loading a file again changes nothing. A
    symbol is generated or real as a whole: its first real bars end its sample. What is held in this
    timeframe of the symbols of `replace` is dropped first. Raises RealHistoryHeld, OtherPricesHeld.
    """
    _lock(series)
    of_symbols = CandleBlock.objects.filter(symbol__in=list(series)).order_by()
    stored = of_symbols.filter(timeframe=timeframe)
    done = Appended(dropped=0 if kind.synthetic else _drop(of_symbols.filter(synthetic=True)))
    done += Appended(dropped=_drop(stored.filter(symbol__in=list(replace))))
    _refuse_mixture(of_symbols, stored, kind)
    held = {
        (symbol, midnight(day)): key
        for key, symbol, day in stored.values_list("pk", "symbol", "block_start")
    }
    cut = [
        (symbol, block) for symbol in series for block in blocks.split(series[symbol], timeframe)
    ]
    fresh = [(symbol, block) for symbol, block in cut if (symbol, block.start) not in held]
    _copy(fresh, timeframe, kind, now=now)
    done += Appended(added=sum(len(block.candles) for _, block in fresh))
    known = [
        (held[symbol, block.start], block) for symbol, block in cut if (symbol, block.start) in held
    ]
    for first in range(0, len(known), _MERGED_AT_ONCE):
        done += _merge(dict(known[first : first + _MERGED_AT_ONCE]), now=now)
    return done


def record(*, loaded: Loaded, now: datetime) -> CandleFile:
    """Keep what became of a file's rows."""
    report = asdict(loaded.report)
    columns = {name: report.pop(name) for name in ("format", "rows", "bars")}
    return CandleFile.objects.create(
        file=loaded.file[-300:],
        sha256=loaded.sha256,
        timeframe=loaded.timeframe,
        instruments=len(loaded.parts),
        report=report,
        loaded_at=now,
        **columns,
    )


def _lock(symbols: Iterable[str]) -> None:
    """Loads of one symbol follow one another: each merges into the blocks the other has left."""
    buckets = {crc32(symbol.encode()) % _BUCKETS for symbol in symbols}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [_LOCKS_OF_LOADS, sorted(buckets)])


def _drop(unwanted: QuerySet[CandleBlock]) -> int:
    """How many bars were dropped."""
    bars = sum(unwanted.values_list("bars", flat=True))
    unwanted.delete()
    return bars


def _refuse_mixture(
    of_symbols: QuerySet[CandleBlock], stored: QuerySet[CandleBlock], kind: Kind
) -> None:
    if kind.synthetic and (real := of_symbols.filter(synthetic=False).first()):
        raise RealHistoryHeld(symbol=real.symbol)
    if other := stored.exclude(adjusted=kind.adjusted).first():
        held, given = "adjusted by their source", "as they were traded"
        if kind.adjusted:
            held, given = given, held
        raise OtherPricesHeld(
            symbol=other.symbol, timeframe=other.timeframe, held=held, given=given
        )


def _copy(fresh: Iterable[tuple[str, Block]], timeframe: str, kind: Kind, *, now: datetime) -> None:
    """Insert blocks as bytes: an INSERT of Django's writes each byte as two hexadecimal digits."""
    shared = {"timeframe": timeframe, **asdict(kind), "updated_at": now}
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(_COPY) as copy:
        copy.set_types(list(_COLUMNS.values()))
        for symbol, block in fresh:
            row = {"symbol": symbol, **shared, **_contents(block)}
            copy.write_row([row[name] for name in _COLUMNS])


def _merge(new: Mapping[int, Block], *, now: datetime) -> Appended:
    """Add bars to held blocks, by their keys; a block in which nothing changes is not written."""
    total, changed = Appended(), []
    # Not Django's cursors: they have each byte sent as two hexadecimal digits.
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        for key, data in cursor.execute(_BLOCKS, [list(new)], binary=True).fetchall():
            merged, done = _merged(blocks.decode(data), new[key].candles)
            total += done
            if done.added or done.replaced:
                row = _contents(Block(new[key].start, merged))
                del row["block_start"]
                changed.append([*row.values(), now, key])
        if changed:
            cursor.executemany(_UPDATE, changed)
    return total


def _merged(held: Candles, new: Candles) -> tuple[Candles, Appended]:
    at = np.minimum(np.searchsorted(held.time, new.time), len(held) - 1)
    known = held.time[at] == new.time
    same = known.copy()
    for name in (*PRICES, "volume"):
        same &= getattr(held, name)[at] == getattr(new, name)
    kept = np.ones(len(held), dtype=np.bool_)
    kept[at[known]] = False
    done = Appended(
        added=int((~known).sum()), repeated=int(same.sum()), replaced=int((known & ~same).sum())
    )
    return joined([picked(held, kept), new]), done


def _contents(block: Block) -> dict[str, object]:
    data = blocks.encode(block.candles)
    first, last = block.candles.time[[0, -1]].tolist()
    return {
        "block_start": datetime.fromtimestamp(block.start + IST, tz=UTC).date(),
        "bars": len(block.candles),
        "first_time": datetime.fromtimestamp(first, tz=UTC),
        "last_time": datetime.fromtimestamp(last, tz=UTC),
        "days": blocks.day_bits(block),
        "data": data,
        "sha256": blocks.sha256(data),
    }


@transaction.atomic
def load_edition(*, files: Mapping[str, str], source: str, now: datetime) -> Edition | None:
    """Let the rulebook be the one in force with these files in the place of its own.

    None when that changes nothing. Raises InvalidRulebook, UnknownFile.
    """
    unknown = sorted(files.keys() - set(FILES))
    if unknown:
        raise UnknownFile(unknown=unknown, known=list(FILES))
    with connection.cursor() as cursor:  # one load after the other: each is built on the one before
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('rulebook', 0))")
    newest = Edition.objects.first()
    held = editions.files_of(newest)
    whole = {**held, **files}
    book = read_rulebook(whole)
    if whole == held:
        return None
    return Edition.objects.create(files=whole, sha256=book.sha256, source=source, loaded_at=now)
