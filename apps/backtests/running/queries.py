"""The SQL of backtests that Django's ORM cannot say, or compiles too slowly."""

from typing import Final

from apps.backtests.models import Backtest
from apps.core.database import columns_of

# Seconds of workers that a user has used; half of them are forgotten every minute.
RECENT_SECONDS: Final = """
    seconds_used * power(0.5, least(extract(epoch FROM now() - used_at)::float8 / 60, 100))
"""

# The next work of a free worker, as `next_in_queue` describes it. As a queryset it would take
# longer to compile than to run, and each backtest waits for it.
NEXT_IN_QUEUE: Final = f"""
    WITH candidate AS (
        SELECT DISTINCT ON (owner_id) id, owner_id, created_at, kind, shard_id FROM (
            SELECT id, owner_id, created_at, kind, NULL::bigint AS shard_id,
                CASE kind WHEN 'backtest' THEN 0 ELSE 2 END AS place
            FROM backtests_backtest WHERE status = 'queued'
            UNION ALL
            SELECT study.id, study.owner_id, study.created_at, study.kind, shard.id, 1
            FROM backtests_backtest AS study CROSS JOIN LATERAL (
                SELECT id FROM backtests_studyshard
                WHERE backtest_id = study.id AND attempt = study.attempt AND state = 'waiting'
                ORDER BY number LIMIT 1
            ) AS shard
            WHERE study.status = 'running'
        ) AS work
        ORDER BY owner_id, place, created_at, id
    ), busy AS (
        SELECT owner_id, count(*) AS workers FROM (
            SELECT owner_id FROM backtests_backtest AS whole
            WHERE status = 'running' AND NOT EXISTS (
                SELECT FROM backtests_studyshard
                WHERE backtest_id = whole.id AND attempt = whole.attempt
            )
            UNION ALL
            SELECT owner_id FROM backtests_studyshard AS shard
            JOIN backtests_backtest AS study ON study.id = shard.backtest_id
            WHERE shard.state = 'running'
        ) AS running GROUP BY owner_id
    )
    SELECT {columns_of(Backtest, "backtest")}, candidate.shard_id AS shard_in_queue
    FROM candidate
    JOIN backtests_backtest AS backtest ON backtest.id = candidate.id
    LEFT JOIN backtests_lastdispatch AS served ON served.owner_id = candidate.owner_id
    LEFT JOIN busy ON busy.owner_id = candidate.owner_id
    ORDER BY coalesce(candidate.kind = 'backtest' AND (
            SELECT started_at FROM backtests_studyshard WHERE started_at IS NOT NULL
            ORDER BY started_at DESC OFFSET 1 LIMIT 1
        ) > greatest(candidate.created_at, served.taken_at), false) DESC,
        coalesce(busy.workers, 0), coalesce({RECENT_SECONDS}, 0),
        served.taken_at NULLS FIRST, candidate.created_at, candidate.id
    LIMIT 1
"""

CHARGE: Final = f"""
    UPDATE backtests_lastdispatch
    SET seconds_used = %s + coalesce({RECENT_SECONDS}, 0), used_at = now() WHERE owner_id = %s
"""

# The share of earlier measurements that is kept: about twenty measurements count.
RECORD_SPEED: Final = """
    INSERT INTO backtests_workspeed AS measured (kind, seconds, units) VALUES (%s, %s, %s)
    ON CONFLICT (kind) DO UPDATE SET
        seconds = 0.95 * measured.seconds + excluded.seconds,
        units = 0.95 * measured.units + excluded.units
"""

INSERT_RESULT: Final = (
    "INSERT INTO backtests_backtestresult"
    " (backtest_id, trades, curve, breakdowns, candle_series, study_chart)"
    " VALUES (%s, %s, %b, %s, %s, %s)"
)
INSERT_BLOCK: Final = (
    "INSERT INTO backtests_tradeblock (result_id, first, data, excursions, fills)"
    " VALUES (%s, %s, %b, %b, %b)"
)

# The bytes of the results of a user's backtests, as they are stored, compressed; sizes are read
# without reading the values.
STORED_BYTES: Final = """
    SELECT coalesce(sum(pg_column_size(result.curve) + coalesce(blocks.bytes, 0)
        + coalesce(pg_column_size(evidence.document) + pg_column_size(evidence.fills), 0)), 0)
    FROM backtests_backtest AS backtest
    JOIN backtests_backtestresult AS result ON result.backtest_id = backtest.id
    LEFT JOIN backtests_evidence AS evidence ON evidence.backtest_id = backtest.id
    LEFT JOIN LATERAL (
        SELECT sum(pg_column_size(data) + coalesce(pg_column_size(excursions), 0)
            + coalesce(pg_column_size(fills), 0)) AS bytes
        FROM backtests_tradeblock WHERE result_id = backtest.id
    ) AS blocks ON true
    WHERE backtest.owner_id = %(owner)s
"""
