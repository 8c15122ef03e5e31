import apps.core.database
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Whoever waits for a backtest to end is notified, whatever ends it (apps/backtests/prefer_wait.py).
NOTIFY_OF_ENDS = """
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


class Migration(migrations.Migration):

    replaces = [
        ('backtests', '0001_initial'),
        ('backtests', '0002_turns_and_beats'),
        ('backtests', '0003_blocks_alone'),
        ('backtests', '0004_backtest_by_status'),
        ('backtests', '0005_arrays_as_they_are'),
        ('backtests', '0006_studies'),
        ('backtests', '0007_breakdowns_once'),
        ('backtests', '0008_excursions_of_trades'),
        ('backtests', '0009_report_pages_and_links'),
        ('backtests', '0010_fills_of_trades'),
        ('backtests', '0011_notify_of_ends'),
        ('backtests', '0012_names_in_python'),
        ('backtests', '0013_help_texts'),
        ('backtests', '0014_shards_of_studies'),
        ('backtests', '0015_evidence'),
        ('backtests', '0016_estimated_seconds_of_studies'),
        ('backtests', '0017_ledger_of_trials'),
        ('backtests', '0018_reproductions'),
        ('backtests', '0019_selections_of_studies'),
        ('backtests', '0020_trials_before_the_ledger'),
        ('backtests', '0021_speed_of_work'),
        ('backtests', '0022_retention_of_backtests'),
        ('backtests', '0023_study_charts'),
        ('backtests', '0024_worker_of_work'),
        ('backtests', '0025_evidence_of_before'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_1_0'),
        ('algorithms', '0001_release_1_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Backtest',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('algorithm_version', models.PositiveIntegerField()),
                ('name', models.CharField(blank=True, max_length=100)),
                ('kind', models.CharField(max_length=20)),
                ('configuration', models.JSONField()),
                ('symbols', models.JSONField()),
                ('timeframe', models.CharField(max_length=3)),
                ('start_date', models.CharField(max_length=40)),
                ('end_date', models.CharField(max_length=40)),
                ('start', models.BigIntegerField(help_text='First second of the range, epoch seconds')),
                ('end', models.BigIntegerField(help_text='First second after the range, epoch seconds')),
                ('initial_capital', models.DecimalField(decimal_places=2, max_digits=18)),
                ('seed', models.BigIntegerField()),
                ('status', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('completed', 'completed'), ('failed', 'failed'), ('cancelled', 'cancelled')], max_length=10)),
                ('progress', models.PositiveSmallIntegerField(default=0)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('performance', models.JSONField(null=True)),
                ('receipt', models.JSONField(null=True)),
                ('error', models.JSONField(null=True)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(help_text='When it ended, whatever its status', null=True)),
                ('algorithm', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='algorithms.algorithm')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('heartbeat_at', models.DateTimeField(db_column='beat_at', null=True)),
                ('losses', models.PositiveSmallIntegerField(default=0)),
                ('request_id', models.CharField(help_text='Id of the request that submitted it', max_length=128)),
                ('study_results', models.JSONField(db_column='findings', null=True)),
                ('study', models.JSONField(null=True)),
                ('estimated_seconds', models.FloatField(help_text='Seconds of one worker that it takes, by the speed of its kind, or as measured', null=True)),
                ('reproduces', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reproductions', to='backtests.backtest')),
                ('expires_at', models.DateTimeField(help_text='When retention deletes it, as its owner was warned', null=True)),
                ('is_kept', models.BooleanField(db_default=False, default=False, help_text='Whether its owner excludes it from retention')),
                ('worker', models.CharField(blank=True, db_default='', help_text='The process that began it last', max_length=80)),
            ],
            options={
                'indexes': [models.Index(fields=['owner', '-created_at', '-id'], name='backtest_of_owner'), models.Index(condition=models.Q(('status', 'queued')), fields=['owner', 'created_at', 'id'], name='backtest_waiting'), models.Index(fields=['status'], name='backtest_by_status'), models.Index(condition=models.Q(('status', 'running')), fields=['owner', 'heartbeat_at'], name='backtest_running')],
                'constraints': [models.CheckConstraint(condition=models.Q(('progress__lte', 100)), name='backtest_progress_in_percent'), models.CheckConstraint(condition=models.Q(models.Q(('performance__isnull', False), ('status', 'completed')), models.Q(models.Q(('status', 'completed'), _negated=True), ('performance__isnull', True)), _connector='OR'), name='backtest_completed_has_performance'), models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'running', 'completed', 'failed', 'cancelled'])), name='backtest_status_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'backtest'), ('study__isnull', True)), models.Q(('kind__in', ['walk_forward', 'monte_carlo', 'optimization']), ('study__isnull', False)), _connector='OR'), name='backtest_study_is_of_its_kind'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'running'), _negated=True), ('heartbeat_at__isnull', False), _connector='OR'), name='backtest_running_has_a_beat'), models.CheckConstraint(condition=models.Q(models.Q(('performance__isnull', False), ('study__isnull', False), ('study_results__isnull', False)), models.Q(models.Q(('study__isnull', True), ('performance__isnull', True), _connector='OR'), ('study_results__isnull', True)), _connector='OR'), name='backtest_completed_study_has_findings')],
            },
        ),
        migrations.CreateModel(
            name='BacktestResult',
            fields=[
                ('backtest', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='result', serialize=False, to='backtests.backtest')),
                ('curve', models.BinaryField()),
                ('trades', models.PositiveIntegerField(help_text='Number of trades')),
                ('breakdowns', models.TextField(help_text='JSON in the order of the response; null for older results', null=True)),
                ('candle_series', models.JSONField(help_text='Null for older results', null=True)),
                ('study_chart', models.JSONField(help_text='Null for others, and for older results', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('backtest', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='evidence', serialize=False, to='backtests.backtest')),
                ('status', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('ready', 'ready'), ('failed', 'failed')], max_length=10)),
                ('document', models.JSONField(null=True)),
                ('fills', models.BinaryField(null=True)),
                ('error', models.JSONField(null=True)),
                ('requested_at', models.DateTimeField()),
                ('completed_at', models.DateTimeField(help_text='When it was ready, or failed', null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('document__isnull', False), ('fills__isnull', False), ('status', 'ready')), models.Q(models.Q(('status', 'ready'), _negated=True), ('document__isnull', True)), _connector='OR'), name='evidence_ready_has_a_document')],
            },
        ),
        migrations.CreateModel(
            name='LastDispatch',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('taken_at', models.DateTimeField()),
                ('seconds_used', models.FloatField(db_default=0.0)),
                ('used_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'backtests_lastturn',
            },
        ),
        migrations.CreateModel(
            name='ReportLink',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('backtest', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='report_links', to='backtests.backtest')),
            ],
        ),
        migrations.CreateModel(
            name='ReportPage',
            fields=[
                ('backtest', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='report_page', serialize=False, to='backtests.backtest')),
                ('made_with', models.CharField(help_text='SHA-256 (see report.page_cache)', max_length=64)),
                ('html', models.BinaryField(help_text='Compressed by zlib, without the script of the charts')),
                ('size', models.PositiveIntegerField(help_text='Bytes of html')),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='StudyShard',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempt', models.PositiveIntegerField()),
                ('number', models.PositiveIntegerField(help_text='Its place among the shards of the attempt')),
                ('first', models.PositiveIntegerField(help_text='Number of its first set or path')),
                ('count', models.PositiveIntegerField(help_text='Sets or paths; 0 for the conclusion')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('running', 'running'), ('done', 'done')], max_length=7)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('losses', models.PositiveSmallIntegerField(default=0)),
                ('started_at', models.DateTimeField(null=True)),
                ('heartbeat_at', models.DateTimeField(null=True)),
                ('result', models.BinaryField(help_text='Scores (see results.pack_array)', null=True)),
                ('backtest', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shards', to='backtests.backtest')),
                ('worker', models.CharField(blank=True, db_default='', help_text='The process that began it last', max_length=80)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['backtest', 'attempt', 'number'], name='study_shard_waiting'), models.Index(condition=models.Q(('state', 'running')), fields=['heartbeat_at'], name='study_shard_running'), models.Index(fields=['started_at'], name='study_shard_started')],
                'constraints': [models.UniqueConstraint(fields=('backtest', 'attempt', 'number'), name='study_shard_is_one'), models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'running', 'done'])), name='study_shard_state_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('heartbeat_at__isnull', False), _connector='OR'), name='study_shard_running_has_a_beat'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), ('count', 0), ('result__isnull', False), _connector='OR'), name='study_shard_done_has_a_result')],
            },
        ),
        migrations.CreateModel(
            name='TradeBlock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.PositiveIntegerField(help_text='Index of its first trade among those of the result')),
                ('data', models.BinaryField()),
                ('result', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='backtests.backtestresult')),
                ('excursions', models.BinaryField(help_text='Excursions of each trade (see results); null for older results', null=True)),
                ('fills', models.BinaryField(help_text='Fill quality of each trade (see results); null for older results', null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('result', 'first'), name='trade_block_is_one')],
            },
        ),
        migrations.CreateModel(
            name='TrialRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('backtest_id', models.CharField(help_text='It may have been deleted since', max_length=24)),
                ('digest', models.CharField(max_length=64)),
                ('symbols', models.JSONField(help_text='Sorted')),
                ('start', models.BigIntegerField(help_text='First second of the range, epoch seconds')),
                ('end', models.BigIntegerField(help_text='First second after the range, epoch seconds')),
                ('tried', models.PositiveIntegerField()),
                ('ratios', models.PositiveIntegerField()),
                ('ratio_sum', models.FloatField()),
                ('ratio_square_sum', models.FloatField()),
                ('created_at', models.DateTimeField()),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('overfitting', models.JSONField(help_text='See engine.studies.overfitting', null=True)),
                ('selected', models.JSONField(db_default=models.Value([], models.JSONField()))),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('owner', 'digest', 'start', 'end'), name='trial_of_a_range_is_one')],
            },
        ),
        migrations.CreateModel(
            name='WorkSpeed',
            fields=[
                ('kind', models.CharField(max_length=20, primary_key=True, serialize=False)),
                ('seconds', models.FloatField()),
                ('units', models.FloatField()),
            ],
        ),
        # They are compressed already; PostgreSQL would try it again at each insert.
        migrations.RunSQL([
            'ALTER TABLE backtests_backtestresult ALTER COLUMN curve SET STORAGE EXTERNAL',
            'ALTER TABLE backtests_tradeblock ALTER COLUMN data SET STORAGE EXTERNAL',
        ]),
        migrations.RunSQL(NOTIFY_OF_ENDS),
    ]
