"""Keep every version of an algorithm, from the current one of each that exists."""

import django.db.models.deletion
from django.db import migrations, models

# One statement in the database: no step leaves it, however many algorithms there are.
KEEP_THE_CURRENT = """
    INSERT INTO algorithms_version (algorithm_id, number, configuration, created_at)
    SELECT id, version, jsonb_build_object(
        'basicInfo', basic_info,
        'positionSizing', position_sizing,
        'entryConditions', entry_conditions,
        'exitConditions', exit_conditions,
        'riskParameters', risk_parameters,
        'executionSettings', execution_settings
    ), updated_at
    FROM algorithms_algorithm
"""


class Migration(migrations.Migration):

    dependencies = [
        ('algorithms', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Version',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('configuration', models.JSONField(help_text='The steps by their wire names, as they were sent')),
                ('created_at', models.DateTimeField()),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='algorithms.algorithm')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('algorithm', 'number'), name='one_configuration_per_version')],
            },
        ),
        # Going back, the table goes with what is in it.
        migrations.RunSQL(KEEP_THE_CURRENT, migrations.RunSQL.noop),
    ]
