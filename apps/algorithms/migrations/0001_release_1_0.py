import apps.algorithms.performance.paper_performance
import apps.core.database
import django.db.models.deletion
import django.db.models.fields.json
import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models

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


class Migration(migrations.Migration):

    replaces = [
        ('algorithms', '0001_initial'),
        ('algorithms', '0002_version'),
        ('algorithms', '0003_history_and_alerts'),
        ('algorithms', '0004_help_texts'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_1_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Algorithm',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('number', models.BigIntegerField(help_text='The highest n of the names Algorithm #n that it has had', null=True)),
                ('description', models.TextField(blank=True)),
                ('status', models.CharField(choices=[('draft', 'draft'), ('active', 'active'), ('paused', 'paused'), ('stopped', 'stopped'), ('error', 'error'), ('archived', 'archived')], default='draft', max_length=8)),
                ('active', models.BooleanField(default=False)),
                ('version', models.PositiveIntegerField(default=1)),
                ('rev', models.PositiveBigIntegerField(default=1, help_text='Incremented by every write')),
                ('basic_info', models.JSONField(default=dict)),
                ('position_sizing', models.JSONField(default=dict)),
                ('entry_conditions', models.JSONField(default=dict)),
                ('exit_conditions', models.JSONField(default=dict)),
                ('risk_parameters', models.JSONField(default=dict)),
                ('execution_settings', models.JSONField(default=dict)),
                ('performance', models.JSONField(default=apps.algorithms.performance.paper_performance.new)),
                ('last_execution', models.JSONField(null=True)),
                ('walk_forward_config', models.JSONField(null=True)),
                ('walk_forward_results', models.JSONField(default=list)),
                ('monte_carlo_config', models.JSONField(null=True)),
                ('monte_carlo_results', models.JSONField(null=True)),
                ('is_template', models.BooleanField(default=False)),
                ('is_public', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('strategy_type', models.GeneratedField(db_persist=True, expression=django.db.models.fields.json.KeyTextTransform('strategyType', 'basic_info'), output_field=models.TextField())),
                ('timeframe', models.GeneratedField(db_persist=True, expression=django.db.models.fields.json.KeyTextTransform('timeframe', 'basic_info'), output_field=models.TextField())),
                ('symbols', models.GeneratedField(db_persist=True, expression=django.db.models.fields.json.KeyTransform('symbols', 'basic_info'), output_field=models.JSONField())),
                ('total_trades', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Cast(django.db.models.fields.json.KeyTextTransform('totalTrades', 'performance'), models.IntegerField()), output_field=models.IntegerField())),
                ('win_rate', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Cast(django.db.models.fields.json.KeyTextTransform('winRate', 'performance'), models.FloatField()), output_field=models.FloatField())),
                ('total_profit', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Cast(django.db.models.fields.json.KeyTextTransform('totalProfit', 'performance'), models.FloatField()), output_field=models.FloatField())),
                ('profit_factor', models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Cast(django.db.models.fields.json.KeyTextTransform('profitFactor', 'performance'), models.FloatField()), output_field=models.FloatField())),
                ('cloned_from', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='clones', to='algorithms.algorithm')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='algorithms', to=settings.AUTH_USER_MODEL)),
                ('alerts', models.JSONField(default=dict, help_text='Performance alerts by metric, as they are sent')),
                ('performance_at', models.DateTimeField(help_text='When the performance last changed; null before the first change', null=True)),
            ],
            options={
                'indexes': [models.Index(models.F('owner'), models.OrderBy(models.F('created_at'), descending=True, nulls_last=True), models.OrderBy(models.F('id'), descending=True, nulls_last=True), condition=models.Q(('status', 'archived'), _negated=True), name='algorithms_newest_first'), models.Index(models.OrderBy(models.F('created_at'), descending=True, nulls_last=True), models.OrderBy(models.F('id'), descending=True, nulls_last=True), condition=models.Q(('is_template', True), models.Q(('status', 'archived'), _negated=True)), name='templates_newest_first')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['draft', 'active', 'paused', 'stopped', 'error', 'archived'])), name='algorithm_status_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('active', True), ('status', 'active')), models.Q(models.Q(('status', 'active'), _negated=True), ('active', False)), _connector='OR'), name='active_flag_follows_status'), models.CheckConstraint(condition=models.Q(('is_public', False), ('is_template', True), _connector='OR'), name='only_templates_are_public')],
            },
        ),
        migrations.CreateModel(
            name='StatusChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.CharField(help_text='Null for its creation', max_length=8, null=True)),
                ('after', models.CharField(max_length=8)),
                ('actor', models.CharField(help_text='Id of a user, or system', max_length=24)),
                ('reason', models.TextField()),
                ('at', models.DateTimeField()),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='status_changes', to='algorithms.algorithm')),
            ],
            options={
                'indexes': [models.Index(models.F('algorithm'), models.OrderBy(models.F('id'), descending=True), name='history_newest_first')],
            },
        ),
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
        migrations.RunSQL(REFUSE_UPDATES),
    ]
