from django.db import migrations, models

# Whoever watches an account is notified of messages to its hooks, as of other changes
# (apps/trading/activity/event_stream).
NOTIFY = """
    CREATE FUNCTION alerts_notify_of_message() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('account_changed', hook.owner_id)
        FROM alerts_alerthook AS hook WHERE hook.id = NEW.hook_id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER notify_of_new AFTER INSERT ON alerts_alertmessage
        FOR EACH ROW EXECUTE FUNCTION alerts_notify_of_message();
"""
DROP = """
    DROP TRIGGER notify_of_new ON alerts_alertmessage;
    DROP FUNCTION alerts_notify_of_message();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0002_missing_alerts'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alertmessage',
            index=models.Index(condition=models.Q(('refusal', ''), _negated=True), fields=['hook', '-received_at'], name='refused_messages_of_a_hook'),
        ),
        migrations.RunSQL(NOTIFY, DROP),
    ]
