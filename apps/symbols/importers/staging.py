"""Staging of a master: instruments are written to the database in sets.

The rows are copied into a temporary table, then compared. Facts come from the newest master of an
exchange's segment. An older master only adds unknown instruments and dated terms. A fact that one
master has is kept when another omits it. Names stay those of the source that described an
instrument first, unless an exchange's own list differs. Contracts are never removed; after expiry
they cannot be traded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.symbols import queries
from apps.symbols.importers.lots import lot_of_row
from apps.symbols.importers.master import Master
from apps.symbols.importers.naming import NamedRow
from apps.symbols.importers.shares import NO_ISIN
from apps.symbols.models import MasterLoad, Source

# Exchange and segment.
MarketKey = tuple[str, str]

# The parameters of the statements.
Parameters = dict[str, str | bool | date | list[str]]

EXCHANGES_OWN: Final = (Source.NSE, Source.BSE)

_COPY_BATCH: Final = 2_000  # lines
_NULL: Final = "\0"  # in no text: names are printable


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """The changes by the import of a master: added and changed instruments, terms that differ from
    earlier terms, and, keyed by exchange and segment, counts of instruments listed before and no
    longer listed.
    """

    added: int
    changed: int
    new_terms: int
    other_terms: int
    listed_before: dict[MarketKey, int]
    vanished: dict[MarketKey, int]
    delisted: int


def known_expiries() -> dict[tuple[str, str, bool, int, int], date]:
    """Return the last expiry among the stored contracts, keyed by underlying and month."""
    with connection.cursor() as cursor:
        cursor.execute(queries.KNOWN_EXPIRIES)
        return {tuple(row[:5]): row[5] for row in cursor.fetchall()}


def _newest(source: Source | None, markets: Iterable[MarketKey], as_of: date) -> list[str]:
    """Return the markets, as "exchange segment", without a loaded master later than `as_of`, from
    this source or from any.
    """
    later = MasterLoad.objects.filter(as_of__gt=as_of)
    if source is not None:
        later = later.filter(source=source)
    younger = set(later.values_list("exchange", "segment"))
    return [f"{exchange} {segment}" for exchange, segment in sorted(set(markets) - younger)]


def import_rows(master: Master, named: Sequence[NamedRow]) -> ImportCounts:
    """Stage the rows, compare and write them, in the transaction of the caller."""
    parameters = _parameters(master, named)
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE symbols_masterload IN SHARE ROW EXCLUSIVE MODE")
        # Tables that have just grown have no statistics to choose nested loops by.
        cursor.execute("SET LOCAL enable_nestloop = off")
        _stage(cursor, named)
        changed = _write(cursor, queries.CHANGE_INSTRUMENTS, parameters)
        added = _write(cursor, queries.ADD_INSTRUMENTS, parameters)
        _write(cursor, queries.CREATE_NEW_TERMS, parameters)
        new_terms = _write(cursor, queries.SAVE_TERMS, parameters)
        other_terms = _write(cursor, queries.COUNT_OTHER_TERMS, parameters)
        listed_before = _counts(cursor, queries.COUNT_LISTED_BEFORE, parameters)
        _write(cursor, queries.CREATE_VANISHED, parameters)
        vanished = _counts(cursor, queries.COUNT_VANISHED, parameters)
        _write(cursor, queries.CHANGE_ALIASES, parameters)
        _write(cursor, queries.ADD_ALIASES, parameters)
        _write(cursor, queries.DELETE_ALIASES, parameters)
        delisted = _write(cursor, queries.DELIST, parameters)
        cursor.execute("DROP TABLE staged, new_terms, vanished")
        cursor.execute("SET LOCAL enable_nestloop = on")
        if added:
            cursor.execute("ANALYZE symbols_instrument")
    return ImportCounts(added, changed, new_terms, other_terms, listed_before, vanished, delisted)


def _parameters(master: Master, named: Sequence[NamedRow]) -> Parameters:
    """Return the parameters that the statements share."""
    markets = {(row.row.exchange, str(row.row.segment)) for row in named}
    return {
        "source": str(master.source),
        "own": master.source in EXCHANGES_OWN,
        "as_of": master.as_of,
        "yesterday": master.as_of - timedelta(days=1),
        "described": _newest(None, markets, master.as_of),
        "listed": _newest(master.source, markets, master.as_of),
    }


def _stage(cursor: CursorWrapper, named: Sequence[NamedRow]) -> None:
    cursor.execute(queries.CREATE_STAGED)
    with cursor.copy("COPY staged FROM STDIN") as copy:
        for start in range(0, len(named), _COPY_BATCH):
            copy.write("".join(map(_line, named[start : start + _COPY_BATCH])))
    cursor.execute("ANALYZE staged (symbol)")


def _write(cursor: CursorWrapper, statement: str, parameters: Parameters) -> int:
    """Execute a statement and return the number of rows."""
    cursor.execute(statement, parameters)
    return int(cursor.rowcount)


def _counts(cursor: CursorWrapper, statement: str, parameters: Parameters) -> dict[MarketKey, int]:
    cursor.execute(statement, parameters)
    return {(exchange, segment): count for exchange, segment, count in cursor.fetchall()}


def record_load(master: Master, named: Sequence[NamedRow], now: datetime) -> None:
    """Record the load of a master for its markets and its date."""
    counts: dict[MarketKey, int] = {}
    for row in named:
        key = (row.row.exchange, str(row.row.segment))
        counts[key] = counts.get(key, 0) + 1
    for (exchange, segment), count in sorted(counts.items()):
        MasterLoad.objects.update_or_create(
            source=master.source,
            exchange=exchange,
            segment=segment,
            as_of=master.as_of,
            defaults={"instruments": count, "file": master.file[:200], "loaded_at": now},
        )


def _line(named: NamedRow) -> str:
    """Return the row as COPY reads it: separated by tabs, special characters escaped."""
    row, lot = named.row, lot_of_row(named.row)
    fields = (
        named.symbol,
        row.exchange,
        row.segment.value,
        named.code,
        named.exchange_name,
        named.name,
        row.type.value,
        named.underlying,
        _format(row.expiry),
        _format(row.strike),
        row.option_type,
        _format(lot.size),
        _format(lot.multiplier),
        _format(row.tick),
        _format(row.freeze),
        "" if row.isin in NO_ISIN else row.isin,
        _format(row.listed),
        row.alias,
        row.token,
    )
    line = "\t".join(fields)
    return (line.replace("\\", "\\\\") if "\\" in line else line).replace(_NULL, "\\N") + "\n"


@lru_cache(maxsize=50_000, typed=True)
def _format(value: date | Decimal | int | None) -> str:
    if value is None:
        return _NULL
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
