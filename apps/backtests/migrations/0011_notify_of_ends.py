from django.db import migrations

CREATE = """
    CREATE FUNCTION backtests_notify_of_end() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('backtest_ended', NEW.id);
        RETURN NULL;
    END $$;
    CREATE TRIGGER notify_of_end AFTER UPDATE OF status ON backtests_backtest
        FOR EACH ROW
        WHEN (NEW.status IN ('completed', 'failed', 'cancelled') AND NEW.status <> OLD.status)
        EXECUTE FUNCTION backtests_notify_of_end();
"""
DROP = """
    DROP TRIGGER notify_of_end ON backtests_backtest;
    DROP FUNCTION backtests_notify_of_end();
"""


class Migration(migrations.Migration):
    """Whoever waits for a backtest to end is notified, whatever ends it (apps/backtests/prefer_wait.py)."""

    dependencies = [("backtests", "0010_fills_of_trades")]

    operations = [migrations.RunSQL(CREATE, DROP)]
