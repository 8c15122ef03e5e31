"""The SQL that the ORM cannot express: sets of keys, COPY, locks and notifications."""

from collections.abc import Mapping
from typing import Final

from apps.engine.candles import DAY, IST
from apps.market.models import BufferedCandle, CandleChunk, ReplacedChunk

_CHUNKS: Final = CandleChunk._meta.db_table
_REPLACED: Final = ReplacedChunk._meta.db_table
_BUFFER: Final = BufferedCandle._meta.db_table
_CANDLE: Final = "time, open, high, low, close, volume"

# Slices of the chunks of several series, each from a moment on.
SLICES_SINCE: Final = f"""
    SELECT symbol, id, timeframe, bars, period_start, days, last_time, adjusted,
        CASE WHEN synthetic THEN coalesce(generated_until, last_time) END
    FROM {_CHUNKS}
    JOIN unnest(%s::text[], %s::text[], %s::int8[]) AS wanted (symbol, timeframe, start)
        USING (symbol, timeframe)
    WHERE last_time >= to_timestamp(start)
"""
CHUNK_DATA: Final = f"SELECT id, data FROM {_CHUNKS} WHERE id = ANY(%s)"

# The columns of a chunk and their types: a binary COPY must declare them.
CHUNK_COLUMNS: Final[Mapping[str, str]] = {
    "symbol": "text",
    "timeframe": "text",
    "synthetic": "bool",
    "adjusted": "bool",
    "prices_known": "bool",
    "period_start": "date",
    "bars": "int4",
    "first_time": "timestamptz",
    "last_time": "timestamptz",
    "days": "bytea",
    "data": "bytea",
    "sha256": "text",
    "updated_at": "timestamptz",
}
COPY_CHUNKS: Final = f"COPY {_CHUNKS} ({', '.join(CHUNK_COLUMNS)}) FROM STDIN (FORMAT BINARY)"
# Bars of the market that join a generated chunk come after all of its bars.
UPDATE_CHUNK: Final = f"""
    UPDATE {_CHUNKS} SET bars = %s, first_time = %s, last_time = %s, days = %s, data = %s,
        sha256 = %s, updated_at = %s, generated_until =
            CASE WHEN synthetic AND NOT %s THEN coalesce(generated_until, last_time) END
    WHERE id = %s
"""

# The state before a load: whole chunks, and the periods that were empty. The first state in one
# load counts.
_REPLACED_DATA: Final = (
    "bars, first_time, last_time, days, data, sha256, synthetic, generated_until, adjusted,"
    " prices_known"
)
KEEP_CHUNKS: Final = f"""
    INSERT INTO {_REPLACED} (loaded_at, symbol, timeframe, period_start, {_REPLACED_DATA})
    SELECT %s, symbol, timeframe, period_start, {_REPLACED_DATA} FROM {_CHUNKS} WHERE id = ANY(%s)
    ON CONFLICT DO NOTHING
"""
KEEP_PERIODS: Final = f"""
    INSERT INTO {_REPLACED} (loaded_at, timeframe, symbol, period_start)
    SELECT %s, %s, period.* FROM unnest(%s::text[], %s::date[]) AS period
    ON CONFLICT DO NOTHING
"""
RESTORE_CHUNKS: Final = f"""
    INSERT INTO {_CHUNKS} (updated_at, symbol, timeframe, period_start, {_REPLACED_DATA})
    SELECT %s, symbol, timeframe, period_start, {_REPLACED_DATA} FROM {_REPLACED}
    WHERE id = ANY(%s) AND data IS NOT NULL
"""

# The stored history of symbols: a row for each chunk, and a row for each day in the intraday
# buffer.
STORED_DAYS: Final = f"""
    SELECT symbol, timeframe, extract(epoch FROM first_time)::int8,
        extract(epoch FROM last_time)::int8, bars, period_start, days
    FROM {_CHUNKS} WHERE symbol = ANY(%(symbols)s)
    UNION ALL
    SELECT symbol, timeframe, min(time), max(time), NULL, NULL, NULL
    FROM {_BUFFER} WHERE symbol = ANY(%(symbols)s)
    GROUP BY symbol, timeframe, (time + {IST}) / {DAY}
"""

BUFFERED_SINCE: Final = f"""
    SELECT symbol, timeframe, {_CANDLE}
    FROM {_BUFFER} JOIN unnest(%s::text[], %s::text[], %s::int8[])
        AS wanted (symbol, timeframe, start) USING (symbol, timeframe)
    WHERE time >= start ORDER BY symbol, timeframe, time
"""
BUFFERED_EARLIER_THAT_DAY: Final = f"""
    SELECT symbol, timeframe
    FROM unnest(%s::text[], %s::text[], %s::int8[], %s::int8[])
        AS wanted (symbol, timeframe, midnight, start)
    WHERE EXISTS (
        SELECT FROM {_BUFFER} AS bar
        WHERE bar.symbol = wanted.symbol AND bar.timeframe = wanted.timeframe
            AND bar.time >= midnight AND bar.time < start
    )
"""
BUFFERED_AT: Final = f"""
    SELECT symbol, {_CANDLE}
    FROM {_BUFFER} JOIN unnest(%s::text[], %s::int8[]) AS wanted (symbol, time) USING (symbol, time)
    WHERE timeframe = %s ORDER BY symbol, time
"""
SAVE_BUFFERED: Final = f"""
    INSERT INTO {_BUFFER} (timeframe, received_at, symbol, {_CANDLE})
    SELECT %s, %s, bar.*
    FROM unnest(%s::text[], %s::int8[], {", ".join(["%s::float8[]"] * 5)}) AS bar
    ON CONFLICT (symbol, timeframe, time) DO UPDATE
    SET open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
        volume = excluded.volume, received_at = excluded.received_at
"""
POP_BUFFERED: Final = (
    f"DELETE FROM {_BUFFER} WHERE symbol = ANY(%s) RETURNING symbol, timeframe, {_CANDLE}"
)
NOTIFY: Final = "SELECT pg_notify(%s, symbol || ' ' || %s) FROM unnest(%s::text[]) AS symbol"

LOCK_BUCKETS: Final = "SELECT pg_advisory_xact_lock(%s, bucket) FROM unnest(%s::int[]) AS bucket"
