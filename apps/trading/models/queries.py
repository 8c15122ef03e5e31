"""The SQL of trading that Django's ORM cannot express: statements over many rows at once, and
locks.

Most take their rows as one array per column; `execute_columns` turns rows into columns.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.db import connection

from apps.core import jobs
from apps.core.database import columns_of
from apps.trading.models import (
    BarRow,
    BarStream,
    DailyLoss,
    GlobalSwitch,
    KillSwitch,
    Posting,
    RunState,
)

_STREAM: Final = BarStream._meta.db_table
_STATE: Final = RunState._meta.db_table


def execute_columns(query: str, rows: Sequence[Sequence[object]]) -> list[Any]:
    """Execute `query` with each column of `rows` as an array; do nothing without rows."""
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(query, [list(column) for column in zip(*rows, strict=True)])
        return cursor.fetchall() if cursor.description else []


# Wakes the streams of some symbols, or of all, that runs subscribe to. A stream that is locked is
# being worked on; it is skipped.
WAKE_STREAMS: Final = f"""
    UPDATE {_STREAM} SET wake_at = %(now)s WHERE id IN (
        SELECT id FROM {_STREAM} AS stream
        WHERE (wake_at IS NULL OR wake_at > %(now)s)
            AND (%(symbols)s::text[] IS NULL
                OR timeframe = ANY(%(timeframes)s) AND symbols ?| %(symbols)s
                    AND coalesce(row_time < %(newest)s, true)
                OR read_symbols ?| %(symbols)s
                    AND coalesce(row_time < %(newest)s + %(length)s, true))
            AND EXISTS (SELECT FROM {_STATE} WHERE stream_id = stream.id)
        FOR NO KEY UPDATE SKIP LOCKED
    )
"""

# Leases a share of the streams that are due. `wake_at` becomes the end of the lease, so that the
# streams of a runner that dies are polled again then.
_IS_DUE: Final = "wake_at <= %(now)s AND (leased_until IS NULL OR leased_until <= %(now)s)"
# During a quiet start no stream can be leased.
ACQUIRE_LEASES: Final = f"""
    UPDATE {_STREAM} SET lease_token = lease_token + 1,
        leased_until = %(until)s, wake_at = %(until)s
    WHERE id = ANY(ARRAY(
        SELECT id FROM {_STREAM} WHERE {_IS_DUE} AND NOT {jobs.IS_QUIET}
        ORDER BY wake_at > %(overdue)s, (id, lease_token) IN (
            SELECT * FROM unnest(%(ids)s::int8[], %(tokens)s::int8[])
        ) DESC, wake_at, id
        LIMIT (
            SELECT greatest(ceil(count(*) / %(share)s::float8), %(fewest)s)
            FROM (SELECT FROM {_STREAM} WHERE {_IS_DUE} LIMIT %(most)s) AS due
        )
        FOR NO KEY UPDATE SKIP LOCKED
    )) RETURNING {columns_of(BarStream, _STREAM)}
"""

# Locks the streams that still have the caller's lease token, in the order of their ids.
_LOCK_HELD: Final = f"""
    SELECT held.* FROM {_STREAM} AS stream
    JOIN unnest(%s::int8[], %s::int8[], %s::timestamptz[], %s::timestamptz[])
        AS held (id, token, lease_end, next)
        ON stream.id = held.id AND stream.lease_token = held.token
    ORDER BY stream.id FOR NO KEY UPDATE OF stream
"""
RENEW_LEASES: Final = f"""
    UPDATE {_STREAM} AS stream SET leased_until = held.next
    FROM ({_LOCK_HELD}) AS held WHERE stream.id = held.id RETURNING stream.id
"""
# A `wake_at` that differs from the lease's was set meanwhile; the earlier time wins.
RELEASE_LEASES: Final = f"""
    UPDATE {_STREAM} AS stream SET leased_until = NULL,
        wake_at = LEAST(NULLIF(wake_at, held.lease_end), held.next)
    FROM ({_LOCK_HELD}) AS held WHERE stream.id = held.id
"""


DELETE_REPLACED_ROWS: Final = f"""
    DELETE FROM {BarRow._meta.db_table} AS used
    USING unnest(%s::int8[], %s::int8[]) AS new (stream_id, time)
    WHERE used.stream_id = new.stream_id AND used.time >= new.time
"""
ADVANCE_STREAMS: Final = f"""
    UPDATE {_STREAM} AS stream SET segment_start = new.segment_start, row_time = new.row_time,
        read_until = new.read_until
    FROM unnest(%s::int8[], %s::int8[], %s::int8[], %s::jsonb[])
        AS new (id, segment_start, row_time, read_until)
    WHERE stream.id = new.id
"""
# A run that is no longer at the row before is skipped.
ADVANCE_STATES: Final = f"""
    UPDATE {_STATE} AS state SET data = new.data, row_time = new.row_time,
        equity = new.equity, peak = new.peak, drawdown = new.drawdown,
        drawdown_amount = new.drawdown_amount
    FROM unnest(%s::text[], %s::bytea[], %s::int8[], %s::int8[], %s::float8[], %s::float8[],
        %s::float8[], %s::float8[])
        AS new (run_id, data, before, row_time, equity, peak, drawdown, drawdown_amount)
    WHERE state.run_id = new.run_id AND state.row_time IS NOT DISTINCT FROM new.before
"""


END_ORDERS: Final = """
    UPDATE trading_order AS ended
    SET status = new.status, quantity = new.quantity, reason = new.reason, intent = new.intent,
        ended_at = new.ended_at
    FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::timestamptz[])
        AS new (id, status, quantity, reason, intent, ended_at)
    WHERE ended.id = new.id AND ended.status = 'open'
"""
MARK_NOT_EXECUTED: Final = """
    UPDATE trading_signal AS entry SET followed = false, reason = new.reason
    FROM unnest(%s::text[], %s::timestamptz[], %s::text[], %s::text[], %s::text[])
        AS new (run_id, bar_time, symbol, side, reason)
    WHERE entry.run_id = new.run_id AND entry.bar_time = new.bar_time
        AND entry.symbol = new.symbol AND entry.side = new.side AND entry.action = 'entry'
"""
UPDATE_CAPITALS: Final = """
    UPDATE trading_run AS run SET capital = new.capital
    FROM unnest(%s::text[], %s::numeric[]) AS new (id, capital) WHERE run.id = new.id
"""
UPDATE_BALANCES: Final = """
    UPDATE trading_account AS account SET balance = new.balance, reserved = new.reserved
    FROM unnest(%s::text[], %s::numeric[], %s::numeric[]) AS new (id, balance, reserved)
    WHERE account.owner_id = new.id
"""
# Most of the rows of a fill are postings: they cost less as columns than as objects.
INSERT_POSTINGS: Final = f"""
    INSERT INTO {Posting._meta.db_table} (entry_id, book, amount)
    SELECT * FROM unnest(%s::int8[], %s::text[], %s::numeric[])
"""
CLOSE_POSITIONS: Final = """
    UPDATE trading_position AS held
    SET closed_at = new.at, mark = round(new.mark::numeric, 4), unrealised = 0
    FROM unnest(%s::text[], %s::text[], %s::timestamptz[], %s::float8[])
        AS new (run_id, symbol, at, mark)
    WHERE held.run_id = new.run_id AND held.symbol = new.symbol AND held.closed_at IS NULL
    RETURNING held.run_id, held.symbol, held.fractions
"""
ADD_FRACTIONS: Final = """
    UPDATE trading_position AS held SET fractions = fractions + new.gross
    FROM unnest(%s::text[], %s::text[], %s::numeric[]) AS new (run_id, symbol, gross)
    WHERE held.run_id = new.run_id AND held.symbol = new.symbol AND held.closed_at IS NULL
"""
# A run has at most one open position in a symbol: it is marked, or inserted.
MARK_POSITIONS: Final = """
    INSERT INTO trading_position AS held (
        run_id, symbol, quantity, entry_price, unrealised, mark, stop, target, opened_at
    )
    SELECT run_id, symbol, quantity, round(entry_price::numeric, 4), round(unrealised::numeric, 2),
        round(mark::numeric, 4), round(stop::numeric, 4), round(target::numeric, 4), opened_at
    FROM unnest(
        %s::text[], %s::text[], %s::bigint[], %s::float8[], %s::float8[], %s::float8[],
        %s::float8[], %s::float8[], %s::timestamptz[]
    ) AS new (run_id, symbol, quantity, entry_price, unrealised, mark, stop, target, opened_at)
    ON CONFLICT (run_id, symbol) WHERE closed_at IS NULL DO UPDATE SET
        quantity = excluded.quantity, entry_price = excluded.entry_price,
        unrealised = excluded.unrealised, mark = excluded.mark, stop = excluded.stop,
        target = excluded.target
"""
# The rows come as one JSON text: in an array of JSON each would be quoted once more.
UPDATE_PERFORMANCE: Final = """
    UPDATE algorithms_algorithm AS algorithm
    SET performance = coalesce(new.performance, algorithm.performance),
        performance_at = CASE
            WHEN new.performance IS NULL THEN algorithm.performance_at ELSE %s
        END,
        last_execution = coalesce(new.last_execution, algorithm.last_execution)
    FROM jsonb_to_recordset(%s::jsonb) AS new (id text, performance jsonb, last_execution jsonb)
    WHERE algorithm.id = new.id
"""
UPSERT_DAILY_LOSSES: Final = f"""
    INSERT INTO {DailyLoss._meta.db_table} AS known (algorithm_id, day, loss, "limit", breached_at)
    SELECT * FROM unnest(
        %s::text[], %s::date[], %s::numeric[], %s::numeric[], %s::timestamptz[]
    ) AS new ORDER BY 1
    ON CONFLICT (algorithm_id, day) DO UPDATE SET loss = excluded.loss, "limit" = excluded."limit",
        breached_at = COALESCE(known.breached_at, excluded.breached_at)
"""


SHARE_USER_SWITCHES: Final = (
    f"SELECT {columns_of(KillSwitch, 'switch')} FROM {KillSwitch._meta.db_table} AS switch"
    " WHERE owner_id = ANY(%s) ORDER BY owner_id FOR SHARE"
)
SHARE_GLOBAL_SWITCH: Final = (
    f"SELECT {columns_of(GlobalSwitch, 'switch')} FROM {GlobalSwitch._meta.db_table} AS switch"
    " WHERE id = %s FOR SHARE"
)
LOCK_ORDER_PACE: Final = "SELECT pg_advisory_xact_lock(%s, bucket) FROM unnest(%s::int[]) AS bucket"
