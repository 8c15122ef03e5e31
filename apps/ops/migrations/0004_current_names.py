from django.db import migrations

# The names that PostgreSQL and Django made from those of tables and columns: of keys, checks,
# indexes and sequences, and of NOT NULL since PostgreSQL 18.
DERIVED_NAMES = """
    DO $$
    DECLARE
        pair text[];
        item record;
    BEGIN
        FOREACH pair SLICE 1 IN ARRAY ARRAY[
            ['accounts_session', 'accounts_loginsession'],
            ['backtests_lastturn', 'backtests_lastdispatch'],
            ['market_candleblock', 'market_candlechunk'],
            ['market_livecandle', 'market_bufferedcandle'],
            ['market_edition', 'market_rulesetversion'],
            ['trading_lanerow', 'trading_barrow'],
            ['trading_lane', 'trading_barstream'],
            ['trading_tally', 'trading_performancetotals'],
            ['_block_start_', '_period_start_'],
            ['_lane_id_', '_stream_id_'],
            ['_beat_at_', '_heartbeat_at_'],
            ['market_replay_began_', 'market_replay_start_']
        ] LOOP
            FOR item IN
                SELECT conrelid::regclass AS owner, conname AS old FROM pg_constraint
                WHERE connamespace = 'public'::regnamespace AND strpos(conname, pair[1]) > 0
            LOOP
                EXECUTE format(
                    'ALTER TABLE %s RENAME CONSTRAINT %I TO %I',
                    item.owner, item.old, left(replace(item.old, pair[1], pair[2]), 63)
                );
            END LOOP;
            FOR item IN
                SELECT relname AS old, CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'INDEX' END AS kind
                FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('i', 'S')
                    AND strpos(relname, pair[1]) > 0
            LOOP
                EXECUTE format(
                    'ALTER %s %I RENAME TO %I',
                    item.kind, item.old, left(replace(item.old, pair[1], pair[2]), 63)
                );
            END LOOP;
        END LOOP;
    END $$
"""

RENAMED_JOBS = """
    (VALUES
        ('accounts.shut_out', 'accounts.deactivate'),
        ('backtests.take_turn', 'backtests.run_next'),
        ('market.fold', 'market.compact'),
        ('webhooks.take_turn', 'webhooks.dispatch')
    ) AS renamed (old, new)
"""
JOBS = f"""
    UPDATE procrastinate_jobs SET task_name = new,
        queueing_lock = CASE queueing_lock WHEN old THEN new ELSE queueing_lock END
    FROM {RENAMED_JOBS} WHERE task_name = old
"""
SCHEDULED_JOBS = f"""
    UPDATE procrastinate_periodic_defers SET task_name = new
    FROM {RENAMED_JOBS} WHERE task_name = old
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ops", "0003_no_backup_records"),
        ("accounts", "0004_current_names"),
        ("backtests", "0004_current_names"),
        ("market", "0006_current_names"),
        ("trading", "0003_current_names"),
    ]

    operations = [
        migrations.RenameField("serviceprocess", "beat_at", "heartbeat_at"),
        migrations.RunSQL(DERIVED_NAMES),
        migrations.RunSQL([JOBS, SCHEDULED_JOBS]),
    ]
