"""The SQL of instruments that the ORM cannot express, mainly the import of staged rows."""

from typing import Final

from apps.core.database import columns_of
from apps.symbols.models import Instrument, MasterLoad, Segment, Type

CREATE_STAGED: Final = """
CREATE TEMP TABLE staged (
    symbol text COLLATE "C" PRIMARY KEY, exchange text, segment text, code text, exchange_name text,
    name text, type text, underlying text, expiry date, strike numeric, option_type text,
    lot_size integer, multiplier numeric, tick_size numeric, freeze_quantity bigint, isin text,
    valid_from date, alias text, token text
) ON COMMIT DROP
"""

# An instrument that only an older master of this source lists has been delisted since.
ADD_INSTRUMENTS: Final = """
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

# Names follow this source where it described the instrument before, only the sample did, or it is
# the exchange itself.
CHANGE_INSTRUMENTS: Final = """
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

# Terms that differ from the terms in force on the day. Values that the master omits stay.
CREATE_NEW_TERMS: Final = """
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
SAVE_TERMS: Final = """
INSERT INTO symbols_instrumentterms (
    instrument_id, valid_from, lot_size, multiplier, tick_size, freeze_quantity, source)
SELECT instrument_id, %(as_of)s, lot_size, multiplier, tick_size, freeze_quantity, %(source)s
FROM new_terms ORDER BY instrument_id
ON CONFLICT (instrument_id, valid_from) DO UPDATE SET
    lot_size = excluded.lot_size, multiplier = excluded.multiplier,
    tick_size = excluded.tick_size, freeze_quantity = excluded.freeze_quantity,
    source = excluded.source
"""

ADD_ALIASES: Final = """
INSERT INTO symbols_instrumentalias (instrument_id, source, name, token)
SELECT i.id, %(source)s, s.alias, s.token
FROM staged s JOIN symbols_instrument i ON i.symbol = s.symbol
LEFT JOIN symbols_instrumentalias a ON a.instrument_id = i.id AND a.source = %(source)s
WHERE a.id IS NULL ORDER BY i.id
"""
CHANGE_ALIASES: Final = """
UPDATE symbols_instrumentalias a SET name = s.alias, token = s.token
FROM staged s JOIN symbols_instrument i ON i.symbol = s.symbol
WHERE a.instrument_id = i.id AND a.source = %(source)s AND (a.name, a.token) <> (s.alias, s.token)
    AND s.exchange || ' ' || s.segment = ANY(%(listed)s)
"""

# Live instruments of these markets that this source listed and does not list now.
CREATE_VANISHED: Final = """
CREATE TEMP TABLE vanished ON COMMIT DROP AS
SELECT a.id AS alias_id, i.id AS instrument_id, i.exchange, i.segment
FROM symbols_instrumentalias a JOIN symbols_instrument i ON i.id = a.instrument_id
WHERE a.source = %(source)s AND (i.expiry IS NULL OR i.expiry >= %(as_of)s)
    AND i.exchange || ' ' || i.segment = ANY(%(listed)s)
    AND NOT EXISTS (SELECT FROM staged s WHERE s.symbol = i.symbol)
"""

COUNT_LISTED_BEFORE: Final = """
SELECT i.exchange, i.segment, count(*)
FROM symbols_instrumentalias a JOIN symbols_instrument i ON i.id = a.instrument_id
WHERE a.source = %(source)s AND (i.expiry IS NULL OR i.expiry >= %(as_of)s)
GROUP BY i.exchange, i.segment
"""

COUNT_VANISHED: Final = "SELECT exchange, segment, count(*) FROM vanished GROUP BY 1, 2"
DELETE_ALIASES: Final = (
    "DELETE FROM symbols_instrumentalias WHERE id IN (SELECT alias_id FROM vanished)"
)
DELIST: Final = """
UPDATE symbols_instrument i SET valid_to = %(yesterday)s
WHERE i.id IN (SELECT instrument_id FROM vanished) AND i.valid_to IS NULL
    AND NOT EXISTS (SELECT FROM symbols_instrumentalias a WHERE a.instrument_id = i.id)
"""

KNOWN_EXPIRIES: Final = """
SELECT exchange, underlying, type = 'futures', extract(year FROM expiry)::int,
    extract(month FROM expiry)::int, max(expiry)
FROM symbols_instrument WHERE expiry IS NOT NULL GROUP BY 1, 2, 3, 4, 5
"""
COUNT_OTHER_TERMS: Final = "SELECT FROM new_terms WHERE differ"

# One contract is looked for in the index by underlying: an index has thousands, and the second is
# not read.
UNDERLYINGS_WITH_DERIVATIVES: Final = f"""
    SELECT exchange, root FROM unnest(%s::text[], %s::text[]) AS asked (exchange, root)
    WHERE NOT EXISTS (
        SELECT FROM {MasterLoad._meta.db_table}
        WHERE exchange = asked.exchange AND segment = '{Segment.DERIVATIVES}'
    ) OR (
        SELECT true FROM {Instrument._meta.db_table}
        WHERE underlying = asked.root AND exchange = asked.exchange
            AND segment = '{Segment.DERIVATIVES}' AND NOT type IN ('{Type.EQUITY}', '{Type.INDEX}')
        LIMIT 1
    )
"""

# Each symbol with its instrument, if it has one: a row of the sample until a master lists its type.
# Of the others: whether a master of their exchange has been loaded, as one row of it tells.
INSTRUMENT_CHECKS: Final = f"""
    SELECT asked.symbol, known.id IS NULL AND (
        SELECT true FROM {Instrument._meta.db_table}
        WHERE NOT sample AND exchange = split_part(asked.symbol, ':', 1) LIMIT 1
    ), {columns_of(Instrument, "known")}
    FROM unnest(%s::text[]) AS asked (symbol)
    LEFT JOIN {Instrument._meta.db_table} AS known
        ON known.symbol = asked.symbol AND NOT (known.sample AND EXISTS (
            SELECT FROM {Instrument._meta.db_table} AS listed
            WHERE NOT listed.sample AND listed.exchange = known.exchange
                AND listed.type = known.type
        ))
"""

HAS_INDEX_OF_PARTS: Final = "SELECT to_regclass('lasting_within_code') IS NOT NULL"
