"""Bringing a master's instruments into the database, as sets and not one by one.

What the file says is copied into a table of the transaction, then compared. Facts are those of the
newest master of an exchange's segment; an older one adds instruments that are not known and dated
terms, and changes nothing else. What only one master says is not lost to another that leaves it
out. Names stay those of the source that described an instrument first, unless an exchange's own
list knows better. Contracts stay for ever: past their expiry nobody can trade them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.symbols.importers import Master
from apps.symbols.importers.shares import NO_ISIN
from apps.symbols.lots import lot_of
from apps.symbols.models import MasterLoad, Source
from apps.symbols.naming import NamedRow

MarketKey = tuple[str, str]
"""Exchange and segment."""

Parameters = dict[str, str | bool | date | list[str]]
"""What the statements are told."""

EXCHANGES_OWN: Final = (Source.NSE, Source.BSE)

_AT_ONCE: Final = 2_000  # lines
_NULL: Final = "\0"  # in no text: names are printable

_STAGED: Final = """
CREATE TEMP TABLE staged (
    symbol text COLLATE "C" PRIMARY KEY, exchange text, segment text, code text, exchange_name text,
    name text, type text, underlying text, expiry date, strike numeric, option_type text,
    lot_size integer, multiplier numeric, tick_size numeric, freeze_quantity bigint, isin text,
    valid_from date, alias text, token text
) ON COMMIT DROP
"""

# What only an older master of this source has listed was delisted since.
_ADD: Final = """
INSERT INTO symbols_instrument (
    symbol, exchange, segment, code, exchange_name, name, type, underlying, expiry, strike,
    option_type, lot_size, multiplier, tick_size, freeze_quantity, isin, valid_from, valid_to,
    enabled, sample, source)
SELECT s.symbol, s.exchange, s.segment, s.code, s.exchange_name, s.name, s.type, s.underlying,
    s.expiry, s.strike, s.option_type, COALESCE(s.lot_size, 1), s.multiplier, s.tick_size,
    s.freeze_quantity, s.isin, s.valid_from,
    CASE WHEN s.exchange || ' ' || s.segment = ANY(%(listed)s) THEN NULL ELSE %(as_of)s::date END,
    true, false, %(source)s
FROM staged s
WHERE NOT EXISTS (SELECT FROM symbols_instrument i WHERE i.symbol = s.symbol)
ORDER BY s.symbol
"""

# What was described by this source, or by nobody but the sample, or is corrected by the exchange.
_CHANGE: Final = """
UPDATE symbols_instrument i SET
    segment = n.segment, type = n.type, underlying = n.underlying, expiry = n.expiry,
    strike = n.strike, option_type = n.option_type, exchange_name = n.exchange_name, name = n.name,
    lot_size = n.lot_size, multiplier = n.multiplier, tick_size = n.tick_size,
    freeze_quantity = n.freeze_quantity, isin = n.isin, valid_from = n.valid_from, valid_to = NULL,
    sample = false, source = n.source
FROM (
    SELECT h.id, s.segment, s.type, s.underlying, s.expiry, s.strike, s.option_type,
        CASE WHEN a.decides THEN s.exchange_name ELSE h.exchange_name END AS exchange_name,
        CASE WHEN a.decides THEN s.name ELSE h.name END AS name,
        CASE WHEN a.decides THEN %(source)s ELSE h.source END AS source,
        COALESCE(s.lot_size, h.lot_size) AS lot_size,
        COALESCE(s.multiplier, h.multiplier) AS multiplier,
        COALESCE(s.tick_size, h.tick_size) AS tick_size,
        COALESCE(s.freeze_quantity, h.freeze_quantity) AS freeze_quantity,
        COALESCE(NULLIF(s.isin, ''), h.isin) AS isin,
        COALESCE(s.valid_from, h.valid_from) AS valid_from
    FROM staged s
    JOIN symbols_instrument h ON h.symbol = s.symbol
    CROSS JOIN LATERAL (
        SELECT h.sample OR h.source = %(source)s OR %(own)s AS decides
    ) a
    WHERE s.exchange || ' ' || s.segment = ANY(%(described)s)
) n
WHERE i.id = n.id AND (
    i.segment, i.type, i.underlying, i.expiry, i.strike, i.option_type, i.exchange_name, i.name,
    i.lot_size, i.multiplier, i.tick_size, i.freeze_quantity, i.isin, i.valid_from, i.valid_to,
    i.sample, i.source
) IS DISTINCT FROM (
    n.segment, n.type, n.underlying, n.expiry, n.strike, n.option_type, n.exchange_name, n.name,
    n.lot_size, n.multiplier, n.tick_size, n.freeze_quantity, n.isin, n.valid_from, NULL::date,
    false, n.source
)
"""

# The terms in force on the day, if any, against what the master says; what it leaves out stays.
_NEW_TERMS: Final = """
CREATE TEMP TABLE new_terms ON COMMIT DROP AS
SELECT i.id AS instrument_id, COALESCE(s.lot_size, t.lot_size, 1) AS lot_size,
    COALESCE(s.multiplier, t.multiplier) AS multiplier,
    COALESCE(s.tick_size, t.tick_size) AS tick_size,
    COALESCE(s.freeze_quantity, t.freeze_quantity) AS freeze_quantity, t.id IS NOT NULL AS differ
FROM staged s
JOIN symbols_instrument i ON i.symbol = s.symbol
LEFT JOIN (
    SELECT DISTINCT ON (instrument_id) * FROM symbols_instrumentterms
    WHERE valid_from <= %(as_of)s ORDER BY instrument_id, valid_from DESC
) t ON t.instrument_id = i.id
WHERE t.id IS NULL OR (t.lot_size, t.multiplier, t.tick_size, t.freeze_quantity) IS DISTINCT FROM (
    COALESCE(s.lot_size, t.lot_size), COALESCE(s.multiplier, t.multiplier),
    COALESCE(s.tick_size, t.tick_size), COALESCE(s.freeze_quantity, t.freeze_quantity))
"""
_TERMS: Final = """
INSERT INTO symbols_instrumentterms (
    instrument_id, valid_from, lot_size, multiplier, tick_size, freeze_quantity, source)
SELECT instrument_id, %(as_of)s, lot_size, multiplier, tick_size, freeze_quantity, %(source)s
FROM new_terms ORDER BY instrument_id
ON CONFLICT (instrument_id, valid_from) DO UPDATE SET
    lot_size = excluded.lot_size, multiplier = excluded.multiplier,
    tick_size = excluded.tick_size, freeze_quantity = excluded.freeze_quantity,
    source = excluded.source
"""

_ADD_ALIASES: Final = """
INSERT INTO symbols_instrumentalias (instrument_id, source, name, token)
SELECT i.id, %(source)s, s.alias, s.token
FROM staged s JOIN symbols_instrument i ON i.symbol = s.symbol
LEFT JOIN symbols_instrumentalias a ON a.instrument_id = i.id AND a.source = %(source)s
WHERE a.id IS NULL ORDER BY i.id
"""
_CHANGE_ALIASES: Final = """
UPDATE symbols_instrumentalias a SET name = s.alias, token = s.token
FROM staged s JOIN symbols_instrument i ON i.symbol = s.symbol
WHERE a.instrument_id = i.id AND a.source = %(source)s AND (a.name, a.token) <> (s.alias, s.token)
    AND s.exchange || ' ' || s.segment = ANY(%(listed)s)
"""

# Living instruments of these markets that this source has listed and does not list now.
_VANISHED: Final = """
CREATE TEMP TABLE vanished ON COMMIT DROP AS
SELECT a.id AS alias_id, i.id AS instrument_id, i.exchange, i.segment
FROM symbols_instrumentalias a JOIN symbols_instrument i ON i.id = a.instrument_id
WHERE a.source = %(source)s AND (i.expiry IS NULL OR i.expiry >= %(as_of)s)
    AND i.exchange || ' ' || i.segment = ANY(%(listed)s)
    AND NOT EXISTS (SELECT FROM staged s WHERE s.symbol = i.symbol)
"""

_LISTED_BEFORE: Final = """
SELECT i.exchange, i.segment, count(*)
FROM symbols_instrumentalias a JOIN symbols_instrument i ON i.id = a.instrument_id
WHERE a.source = %(source)s AND (i.expiry IS NULL OR i.expiry >= %(as_of)s)
GROUP BY i.exchange, i.segment
"""

_COUNT_VANISHED: Final = "SELECT exchange, segment, count(*) FROM vanished GROUP BY 1, 2"
_UNLIST: Final = "DELETE FROM symbols_instrumentalias WHERE id IN (SELECT alias_id FROM vanished)"
_DELIST: Final = """
UPDATE symbols_instrument i SET valid_to = %(yesterday)s
WHERE i.id IN (SELECT instrument_id FROM vanished) AND i.valid_to IS NULL
    AND NOT EXISTS (SELECT FROM symbols_instrumentalias a WHERE a.instrument_id = i.id)
"""

_KNOWN_EXPIRIES: Final = """
SELECT exchange, underlying, type = 'futures', extract(year FROM expiry)::int,
    extract(month FROM expiry)::int, max(expiry)
FROM symbols_instrument WHERE expiry IS NOT NULL GROUP BY 1, 2, 3, 4, 5
"""


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What a master has changed: instruments, terms that were others before, and what it no longer
    lists, by exchange and segment, beside what it listed before.
    """

    added: int
    changed: int
    new_terms: int
    other_terms: int
    listed_before: dict[MarketKey, int]
    vanished: dict[MarketKey, int]
    delisted: int


def known_expiries() -> dict[tuple[str, str, bool, int, int], date]:
    """The last expiry of each underlying in each month among what the database holds."""
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN_EXPIRIES)
        return {tuple(row[:5]): row[5] for row in cursor.fetchall()}


def _newest(source: Source | None, markets: Iterable[MarketKey], as_of: date) -> list[str]:
    """Of these markets, as "exchange segment", those of which nothing younger than `as_of` was
    loaded, from this source or from any.
    """
    later = MasterLoad.objects.filter(as_of__gt=as_of)
    if source is not None:
        later = later.filter(source=source)
    younger = set(later.values_list("exchange", "segment"))
    return [f"{exchange} {segment}" for exchange, segment in sorted(set(markets) - younger)]


def import_rows(master: Master, named: Sequence[NamedRow]) -> ImportCounts:
    """Stage the rows, compare and write them, in the transaction of the caller."""
    markets = {(row.row.exchange, str(row.row.segment)) for row in named}
    described = _newest(None, markets, master.as_of)
    listed = _newest(master.source, markets, master.as_of)
    facts: Parameters = {
        "source": str(master.source),
        "own": master.source in EXCHANGES_OWN,
        "as_of": master.as_of,
        "yesterday": master.as_of - timedelta(days=1),
        "described": described,
        "listed": listed,
    }
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE symbols_masterload IN SHARE ROW EXCLUSIVE MODE")
        # Tables that have just grown have no statistics to choose nested loops by.
        cursor.execute("SET LOCAL enable_nestloop = off")
        _stage(cursor, named)
        changed = _write(cursor, _CHANGE, facts)
        added = _write(cursor, _ADD, facts)
        _write(cursor, _NEW_TERMS, facts)
        new_terms = _write(cursor, _TERMS, facts)
        other_terms = _write(cursor, "SELECT FROM new_terms WHERE differ", facts)
        listed_before = _counts(cursor, _LISTED_BEFORE, facts)
        _write(cursor, _VANISHED, facts)
        vanished = _counts(cursor, _COUNT_VANISHED, facts)
        _write(cursor, _CHANGE_ALIASES, facts)
        _write(cursor, _ADD_ALIASES, facts)
        _write(cursor, _UNLIST, facts)
        delisted = _write(cursor, _DELIST, facts)
        cursor.execute("DROP TABLE staged, new_terms, vanished")
        cursor.execute("SET LOCAL enable_nestloop = on")
        if added:
            cursor.execute("ANALYZE symbols_instrument")
    return ImportCounts(added, changed, new_terms, other_terms, listed_before, vanished, delisted)


def _stage(cursor: CursorWrapper, named: Sequence[NamedRow]) -> None:
    cursor.execute(_STAGED)
    with cursor.copy("COPY staged FROM STDIN") as copy:
        for start in range(0, len(named), _AT_ONCE):
            copy.write("".join(map(_line, named[start : start + _AT_ONCE])))
    cursor.execute("ANALYZE staged (symbol)")


def _write(cursor: CursorWrapper, statement: str, facts: Parameters) -> int:
    """How many rows it concerned."""
    cursor.execute(statement, facts)
    return int(cursor.rowcount)


def _counts(cursor: CursorWrapper, statement: str, facts: Parameters) -> dict[MarketKey, int]:
    cursor.execute(statement, facts)
    return {(exchange, segment): count for exchange, segment, count in cursor.fetchall()}


def record_load(master: Master, named: Sequence[NamedRow], now: datetime) -> None:
    """Keep that these markets were described for this day."""
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
    """As COPY reads it: tabs between, a backslash before what is none of its own."""
    row, lot = named.row, lot_of(named.row)
    fields = (
        named.symbol, row.exchange, row.segment.value, named.code, named.exchange_name, named.name,
        row.type.value, named.underlying, _written(row.expiry), _written(row.strike),
        row.option_type, _written(lot.size), _written(lot.multiplier), _written(row.tick),
        _written(row.freeze), "" if row.isin in NO_ISIN else row.isin, _written(row.listed),
        row.alias, row.token,
    )  # fmt: skip
    line = "\t".join(fields)
    return (line.replace("\\", "\\\\") if "\\" in line else line).replace(_NULL, "\\N") + "\n"


@lru_cache(maxsize=50_000, typed=True)
def _written(value: date | Decimal | int | None) -> str:
    if value is None:
        return _NULL
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
