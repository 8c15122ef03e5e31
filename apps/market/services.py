"""Writing history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
from django.db import connection, transaction

from apps.core.errors import Code, ServiceError
from apps.engine.candles import IST, Candles
from apps.market import blocks
from apps.market.blocks import PRICES, Block, joined, picked
from apps.market.models import CandleBlock
from apps.market.moments import midnight

# The columns of a block and their types, as COPY wants them told.
_COLUMNS: Final[Mapping[str, str]] = {
    "symbol": "text",
    "timeframe": "text",
    "synthetic": "bool",
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


class RealHistoryHeld(ServiceError):
    """A generated sample would mix with the market's own bars."""

    code = Code.CONFLICT
    message = "{symbol} has real history; a generated sample is not mixed into it."


@dataclass(frozen=True, slots=True)
class Appended:
    """What a load did to what was held. `sample_dropped` generated bars made way for real ones."""

    added: int = 0
    repeated: int = 0
    replaced: int = 0
    sample_dropped: int = 0

    def __add__(self, other: "Appended") -> "Appended":
        return Appended(
            self.added + other.added,
            self.repeated + other.repeated,
            self.replaced + other.replaced,
            self.sample_dropped + other.sample_dropped,
        )


@transaction.atomic
def append(
    *, symbol: str, timeframe: str, candles: Candles, synthetic: bool = False, now: datetime
) -> Appended:
    """Store bars beside those held; at a moment that is held already, the newer values win.

    A block in which nothing changes is not written, so loading a file again changes nothing. A
    symbol is generated or real as a whole: its first real bars end its sample.
    """
    _lock(symbol)
    done = Appended(sample_dropped=0 if synthetic else _drop_sample(symbol))
    if synthetic and CandleBlock.objects.filter(symbol=symbol, synthetic=False).exists():
        raise RealHistoryHeld(symbol=symbol)
    cut = blocks.split(candles, timeframe)
    stored = CandleBlock.objects.filter(symbol=symbol, timeframe=timeframe)
    held = {midnight(day): key for key, day in stored.values_list("pk", "block_start")}
    fresh = [block for block in cut if block.start not in held]
    _copy({"symbol": symbol, "timeframe": timeframe, "synthetic": synthetic}, fresh, now=now)
    done += Appended(added=sum(len(block.candles) for block in fresh))
    for block in cut:
        if block.start in held:
            done += _merge(held[block.start], block, now=now)
    return done


def _lock(symbol: str) -> None:
    """Loads of one symbol follow one another: each merges into the blocks the other has left."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [symbol])


def _drop_sample(symbol: str) -> int:
    sample = CandleBlock.objects.filter(symbol=symbol, synthetic=True)
    bars = sum(sample.values_list("bars", flat=True))
    sample.delete()
    return bars


def _copy(shared: Mapping[str, object], fresh: Sequence[Block], *, now: datetime) -> None:
    """Insert blocks as bytes: an INSERT of Django's writes each byte as two hexadecimal digits."""
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(_COPY) as copy:
        copy.set_types(list(_COLUMNS.values()))
        for block in fresh:
            row = {**shared, **_contents(block), "updated_at": now}
            copy.write_row([row[name] for name in _COLUMNS])


def _merge(key: int, block: Block, *, now: datetime) -> Appended:
    held = CandleBlock.objects.filter(pk=key)
    merged, done = _merged(blocks.decode(bytes(held.get().data)), block.candles)
    if done.added or done.replaced:
        held.update(updated_at=now, **_contents(Block(block.start, merged)))
    return done


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
