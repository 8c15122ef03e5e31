from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('market', '0001_initial'),
        ('market', '0002_source_adjusted_prices'),
        ('market', '0003_edition'),
        ('market', '0004_corporate_actions'),
        ('market', '0005_candle_files'),
        ('market', '0006_live_candles'),
        ('market', '0007_replay_began'),
        ('market', '0008_newest_live_candles'),
        ('market', '0009_names_of_the_field'),
        ('market', '0010_help_texts'),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='BufferedCandle',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(max_length=50)),
                ('timeframe', models.CharField(choices=[('1m', '1m'), ('5m', '5m'), ('15m', '15m'), ('30m', '30m'), ('1h', '1h'), ('4h', '4h'), ('1d', '1d'), ('1w', '1w')], max_length=3)),
                ('time', models.BigIntegerField(help_text='Start, epoch seconds')),
                ('open', models.FloatField()),
                ('high', models.FloatField()),
                ('low', models.FloatField()),
                ('close', models.FloatField()),
                ('volume', models.FloatField()),
                ('received_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('symbol', 'timeframe', 'time'), name='one_live_candle_of_a_moment'), models.CheckConstraint(condition=models.Q(('timeframe__in', ['1m', '5m', '15m', '30m', '1h', '4h', '1d', '1w'])), name='live_timeframe_is_known'), models.CheckConstraint(condition=models.Q(('low__gt', 0), ('low__lte', models.F('open')), ('open__lte', models.F('high')), ('volume__gte', 0), ('close__lte', models.F('high')), ('low__lte', models.F('close'))), name='live_candle_is_one')],
                'indexes': [models.Index(fields=['received_at'], name='live_candles_newest')],
                'db_table': 'market_livecandle',
            },
        ),
        migrations.CreateModel(
            name='CandleChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(max_length=50)),
                ('timeframe', models.CharField(choices=[('1m', '1m'), ('5m', '5m'), ('15m', '15m'), ('30m', '30m'), ('1h', '1h'), ('4h', '4h'), ('1d', '1d'), ('1w', '1w')], max_length=3)),
                ('period_start', models.DateField(db_column='block_start', help_text='First day of the period, Asia/Kolkata')),
                ('bars', models.PositiveIntegerField()),
                ('first_time', models.DateTimeField(help_text='Start of the first bar')),
                ('last_time', models.DateTimeField(help_text='Start of the last bar')),
                ('days', models.BinaryField(help_text='One bit for each day of the period, set where there are bars')),
                ('data', models.BinaryField(help_text='Encoded by apps/market/candles/chunks.py')),
                ('sha256', models.CharField(max_length=64)),
                ('synthetic', models.BooleanField(default=False, help_text='A generated sample, not prices of the market')),
                ('updated_at', models.DateTimeField()),
                ('adjusted', models.BooleanField(default=False, help_text='Prices as their source adjusted them for splits, not as traded')),
            ],
            options={
                'ordering': ['symbol', 'timeframe', 'period_start'],
                'constraints': [models.CheckConstraint(condition=models.Q(('timeframe__in', ['1m', '5m', '15m', '30m', '1h', '4h', '1d', '1w'])), name='block_timeframe_is_known'), models.CheckConstraint(condition=models.Q(('bars__gte', 1)), name='block_holds_bars'), models.CheckConstraint(condition=models.Q(('last_time__gte', models.F('first_time'))), name='block_times_in_order'), models.UniqueConstraint(fields=('symbol', 'timeframe', 'period_start'), name='one_block_per_period')],
                'db_table': 'market_candleblock',
            },
        ),
        migrations.CreateModel(
            name='CandleFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.CharField(help_text='Name of the file, after that of its archive', max_length=300)),
                ('sha256', models.CharField(help_text='SHA-256 of the unpacked file', max_length=64)),
                ('format', models.CharField(max_length=40)),
                ('timeframe', models.CharField(choices=[('1m', '1m'), ('5m', '5m'), ('15m', '15m'), ('30m', '30m'), ('1h', '1h'), ('4h', '4h'), ('1d', '1d'), ('1w', '1w')], max_length=3)),
                ('instruments', models.PositiveIntegerField()),
                ('rows', models.PositiveIntegerField()),
                ('bars', models.PositiveIntegerField()),
                ('report', models.JSONField(help_text='Rows left out by reason, and numbers of rows repaired, moved and shifted')),
                ('loaded_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('bars__lte', models.F('rows'))), name='file_bars_are_rows')],
            },
        ),
        migrations.CreateModel(
            name='CorporateAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(max_length=50)),
                ('ex_date', models.DateField(help_text='First day on which the new number of shares counts')),
                ('kind', models.CharField(choices=[('split', 'Split'), ('bonus', 'Bonus')], max_length=5)),
                ('shares_before', models.PositiveIntegerField()),
                ('shares_after', models.PositiveIntegerField()),
                ('source', models.CharField(max_length=200)),
                ('loaded_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['symbol', 'ex_date', 'kind'],
                'constraints': [models.UniqueConstraint(fields=('symbol', 'ex_date', 'kind'), name='one_action_of_a_kind_per_day'), models.CheckConstraint(condition=models.Q(('kind__in', ['split', 'bonus'])), name='action_kind_is_known'), models.CheckConstraint(condition=models.Q(('shares_before__range', (1, 10000)), ('shares_after__range', (1, 10000))), name='action_shares_are_few'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'split'), models.Q(('shares_after', models.F('shares_before')), _negated=True)), models.Q(('kind', 'bonus'), ('shares_after__gt', models.F('shares_before'))), _connector='OR'), name='action_changes_the_number')],
            },
        ),
        migrations.CreateModel(
            name='Replay',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('moment', models.BigIntegerField(help_text='Epoch seconds up to which bars are known')),
                ('moved_at', models.DateTimeField(help_text='When the clock was last moved')),
                ('began', models.BigIntegerField(help_text='Start of its first bars, epoch seconds')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='one_replay_at_most'), models.CheckConstraint(condition=models.Q(('moment__gte', models.F('began'))), name='a_replay_goes_forward')],
            },
        ),
        migrations.CreateModel(
            name='RuleSetVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('files', models.JSONField(help_text='The text of each file by its name')),
                ('sha256', models.CharField(help_text='SHA-256 of the files', max_length=64)),
                ('source', models.CharField(help_text='Where they were loaded from', max_length=200)),
                ('loaded_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-pk'],
                'db_table': 'market_edition',
            },
        ),
        # It is compressed already; PostgreSQL would try it again at each insert.
        migrations.RunSQL('ALTER TABLE market_candleblock ALTER COLUMN data SET STORAGE EXTERNAL'),
    ]
