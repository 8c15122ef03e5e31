from django.db import migrations

# In one transaction PostgreSQL sends the same notification once, however many statements ask for it.
_FUNCTION = """
    CREATE FUNCTION trading_notify_of_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('account_changed', account_id)
        FROM (SELECT DISTINCT run.account_id FROM changed JOIN trading_run AS run
            ON run.id = changed.run_id) AS accounts;
        RETURN NULL;
    END $$;
    CREATE TRIGGER notify_of_new AFTER INSERT ON trading_{table}
        REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION trading_notify_of_{table}();
    CREATE TRIGGER notify_of_change AFTER UPDATE ON trading_{table}
        REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION trading_notify_of_{table}();
"""
_DROP_FUNCTION = """
    DROP TRIGGER notify_of_new ON trading_{table};
    DROP TRIGGER notify_of_change ON trading_{table};
    DROP FUNCTION trading_notify_of_{table}();
"""
_ACCOUNT = """
    CREATE FUNCTION trading_notify_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('account_changed', NEW.owner_id);
        RETURN NULL;
    END $$;
    CREATE TRIGGER notify_of_change AFTER INSERT OR UPDATE ON trading_account
        FOR EACH ROW EXECUTE FUNCTION trading_notify_of_account();
"""
_DROP_ACCOUNT = """
    DROP TRIGGER notify_of_change ON trading_account;
    DROP FUNCTION trading_notify_of_account();
"""


class Migration(migrations.Migration):
    """Whoever watches an account is notified that its money, orders, positions or signals have changed (apps/trading/stream)."""

    dependencies = [("trading", "0014_help_texts")]

    operations = [
        *(
            migrations.RunSQL(_FUNCTION.format(table=table), _DROP_FUNCTION.format(table=table))
            for table in ("order", "position", "signal")
        ),
        migrations.RunSQL(_ACCOUNT, _DROP_ACCOUNT),
    ]
