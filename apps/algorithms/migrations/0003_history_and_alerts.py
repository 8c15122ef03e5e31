"""Begin the history of every algorithm's status, from the one that each has; let alerts be set."""

import django.db.models.deletion
from django.db import migrations, models

BEGIN_WITH_THE_CURRENT = """
    INSERT INTO algorithms_statuschange (algorithm_id, before, after, actor, reason, at)
    SELECT id, NULL, status, 'system', 'the history begins', updated_at
    FROM algorithms_algorithm
"""

# What is deleted goes with its algorithm; what is there stays as it was written.
REFUSE_UPDATES = """
    CREATE FUNCTION algorithms_history_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the history of an algorithm is never rewritten'
            USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER history_is_kept BEFORE UPDATE ON algorithms_statuschange
        FOR EACH STATEMENT EXECUTE FUNCTION algorithms_history_is_kept();
"""
DROP_THE_REFUSAL = """
    DROP TRIGGER history_is_kept ON algorithms_statuschange;
    DROP FUNCTION algorithms_history_is_kept();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('algorithms', '0002_version'),
    ]

    operations = [
        migrations.AddField(
            model_name='algorithm',
            name='alerts',
            field=models.JSONField(default=dict, help_text='Performance alerts by metric, as they are sent'),
        ),
        migrations.AddField(
            model_name='algorithm',
            name='performance_at',
            field=models.DateTimeField(help_text='When the performance last changed; null before it ever did', null=True),
        ),
        migrations.AddIndex(
            model_name='algorithm',
            index=models.Index(models.OrderBy(models.F('created_at'), descending=True, nulls_last=True), models.OrderBy(models.F('id'), descending=True, nulls_last=True), condition=models.Q(('is_template', True), models.Q(('status', 'archived'), _negated=True)), name='templates_newest_first'),
        ),
        migrations.CreateModel(
            name='StatusChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.CharField(help_text='Null: it was made', max_length=8, null=True)),
                ('after', models.CharField(max_length=8)),
                ('actor', models.CharField(help_text='Id of a user, or: system', max_length=24)),
                ('reason', models.TextField()),
                ('at', models.DateTimeField()),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='status_changes', to='algorithms.algorithm')),
            ],
            options={
                'indexes': [models.Index(models.F('algorithm'), models.OrderBy(models.F('id'), descending=True), name='history_newest_first')],
            },
        ),
        migrations.RunSQL(BEGIN_WITH_THE_CURRENT, migrations.RunSQL.noop),
        migrations.RunSQL(REFUSE_UPDATES, DROP_THE_REFUSAL),
    ]
