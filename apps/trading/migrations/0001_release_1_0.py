import apps.core.database
import django.db.models.deletion
import django.db.models.expressions
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

# What is deleted goes with its account; what is there stays as it was written.
REFUSE_UPDATES = """
    CREATE FUNCTION trading_ledger_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the ledger of an account is never rewritten'
            USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER ledger_is_kept BEFORE UPDATE ON trading_ledgerentry
        FOR EACH STATEMENT EXECUTE FUNCTION trading_ledger_is_kept();
"""

KEEP_THE_BALANCE = """
    CREATE FUNCTION trading_postings_add_up() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM added GROUP BY entry_id HAVING sum(amount) <> 0) THEN
            RAISE EXCEPTION 'the postings of a ledger entry add up to zero'
                USING ERRCODE = 'check_violation';
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER postings_add_up AFTER INSERT ON trading_posting
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT
        EXECUTE FUNCTION trading_postings_add_up();
    CREATE TRIGGER postings_are_kept BEFORE UPDATE ON trading_posting
        FOR EACH STATEMENT EXECUTE FUNCTION trading_ledger_is_kept();
"""

# Whoever watches an account is notified that its money, orders, positions or signals have changed
# (apps/trading/activity/event_stream). In one transaction PostgreSQL sends the same notification once, however many
# statements ask for it.
NOTIFY_OF_ROWS = """
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

NOTIFY_OF_MONEY = """
    CREATE FUNCTION trading_notify_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('account_changed', NEW.owner_id);
        RETURN NULL;
    END $$;
    CREATE TRIGGER notify_of_change AFTER INSERT OR UPDATE ON trading_account
        FOR EACH ROW EXECUTE FUNCTION trading_notify_of_account();
"""


class Migration(migrations.Migration):

    replaces = [
        ('trading', '0001_initial'),
        ('trading', '0002_runs_trade'),
        ('trading', '0004_asked_by_hand_and_tallies'),
        ('trading', '0005_brokers'),
        ('trading', '0006_states_since_and_half_done_rows'),
        ('trading', '0007_newest_orders'),
        ('trading', '0008_drift'),
        ('trading', '0009_since_when_positions_are_to_be_closed'),
        ('trading', '0010_lanes_without_bars_out_of_session'),
        ('trading', '0011_fractions_of_shares'),
        ('trading', '0012_drift_of_sessions_under_way'),
        ('trading', '0013_python_names'),
        ('trading', '0014_help_texts'),
        ('trading', '0015_notify_of_account_changes'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_1_0'),
        ('algorithms', '0001_release_1_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='Account',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('balance', models.DecimalField(decimal_places=2, max_digits=18)),
                ('reserved', models.DecimalField(decimal_places=2, default=Decimal('0.00'), max_digits=18)),
                ('opened_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('reserved__gte', 0), ('reserved__lte', models.F('balance'))), name='account_reserves_what_it_has')],
            },
        ),
        migrations.CreateModel(
            name='BarStream',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbols', models.JSONField()),
                ('timeframe', models.CharField(choices=[('1m', '1m'), ('5m', '5m'), ('15m', '15m'), ('30m', '30m'), ('1h', '1h'), ('4h', '4h'), ('1d', '1d'), ('1w', '1w')], max_length=3)),
                ('key', models.CharField(help_text='SHA-256 of the three fields above', max_length=64, unique=True)),
                ('segment_start', models.BigIntegerField(db_column='began', null=True)),
                ('row_time', models.BigIntegerField(null=True)),
                ('wake_at', models.DateTimeField(null=True)),
                ('lease_token', models.PositiveBigIntegerField(default=0)),
                ('leased_until', models.DateTimeField(null=True)),
                ('include_out_of_session', models.BooleanField(default=False)),
            ],
            options={
                'indexes': [models.Index(models.F('wake_at'), condition=models.Q(('wake_at__isnull', False)), name='lanes_to_wake')],
                'constraints': [models.CheckConstraint(condition=models.Q(('row_time', None), models.Q(('row_time__gte', models.F('segment_start')), ('segment_start__isnull', False)), _connector='OR'), name='a_lane_goes_forward')],
                'db_table': 'trading_lane',
            },
        ),
        migrations.CreateModel(
            name='BrokerHealth',
            fields=[
                ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('ok', 'ok'), ('limited', 'limited'), ('unreachable', 'unreachable')], max_length=11)),
                ('detail', models.CharField(blank=True, max_length=200)),
                ('since', models.DateTimeField(help_text='When its state last changed')),
                ('checked_at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': "brokers' health",
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['ok', 'limited', 'unreachable'])), name='broker_state_is_known')],
            },
        ),
        migrations.CreateModel(
            name='DailyLoss',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('loss', models.DecimalField(decimal_places=2, help_text='Rupees; 0 or more', max_digits=18)),
                ('limit', models.DecimalField(decimal_places=2, max_digits=18)),
                ('breached_at', models.DateTimeField(help_text='When the loss reached the limit', null=True)),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='daily_losses', to='algorithms.algorithm')),
            ],
            options={
                'verbose_name_plural': 'daily losses',
                'constraints': [models.UniqueConstraint(fields=('algorithm', 'day'), name='one_loss_of_a_day'), models.CheckConstraint(condition=models.Q(('loss__gte', 0)), name='daily_loss_is_not_below_zero')],
            },
        ),
        migrations.CreateModel(
            name='GlobalSwitch',
            fields=[
                ('active', models.BooleanField(default=False)),
                ('since', models.DateTimeField(null=True)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
            ],
            options={
                'verbose_name': 'global kill switch',
                'verbose_name_plural': 'global kill switch',
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('active', True), ('since__isnull', False)), models.Q(('active', False), ('reason', ''), ('since', None)), _connector='OR'), name='global_switch_says_since_when'), models.CheckConstraint(condition=models.Q(('id', 1)), name='there_is_one_global_switch')],
            },
        ),
        migrations.CreateModel(
            name='KillSwitch',
            fields=[
                ('active', models.BooleanField(default=False)),
                ('since', models.DateTimeField(null=True)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'kill switches',
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('active', True), ('since__isnull', False)), models.Q(('active', False), ('reason', ''), ('since', None)), _connector='OR'), name='kill_switch_says_since_when')],
            },
        ),
        migrations.CreateModel(
            name='PerformanceTotals',
            fields=[
                ('algorithm', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='performance_totals', serialize=False, to='algorithms.algorithm')),
                ('trades', models.PositiveBigIntegerField(default=0)),
                ('won', models.PositiveBigIntegerField(default=0)),
                ('lost', models.PositiveBigIntegerField(default=0)),
                ('profit', models.DecimalField(decimal_places=2, default=Decimal('0.00'), max_digits=18)),
                ('loss', models.DecimalField(decimal_places=2, default=Decimal('0.00'), max_digits=18)),
                ('return_mean', models.FloatField(default=0)),
                ('return_squares', models.FloatField(default=0)),
            ],
            options={
                'verbose_name_plural': 'performance totals',
                'constraints': [models.CheckConstraint(condition=models.Q(('trades__gte', django.db.models.expressions.CombinedExpression(models.F('won'), '+', models.F('lost')))), name='a_trade_counts_once')],
                'db_table': 'trading_tally',
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('algorithm_version', models.PositiveIntegerField()),
                ('configuration', models.JSONField(help_text='The steps by their wire names, as they were sent')),
                ('mode', models.CharField(choices=[('paper', 'paper'), ('live', 'live')], max_length=5)),
                ('capital', models.DecimalField(decimal_places=2, help_text="Rupees of the account: the initial capital and the run's profit or loss", max_digits=18)),
                ('started_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('end_reason', models.CharField(blank=True, choices=[('stopped', 'stopped'), ('error', 'error')], max_length=10)),
                ('released_at', models.DateTimeField(help_text='When its capital was released', null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='trading.account')),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='algorithms.algorithm')),
                ('close_requested_at', models.DateTimeField(db_column='close_asked_at', help_text='When its owner requested to close all positions', null=True)),
            ],
            options={
                'indexes': [models.Index(models.F('algorithm'), models.OrderBy(models.F('started_at'), descending=True), name='runs_newest_first')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('released_at', None)), fields=('algorithm',), name='one_run_of_an_algorithm_holds_capital'), models.CheckConstraint(condition=models.Q(models.Q(('end_reason', ''), ('ended_at', None)), models.Q(('end_reason__in', ['stopped', 'error']), ('ended_at__isnull', False)), _connector='OR'), name='an_ended_run_says_why'), models.CheckConstraint(condition=models.Q(('released_at', None), ('ended_at__isnull', False), _connector='OR'), name='a_run_keeps_its_capital_until_it_ends'), models.CheckConstraint(condition=models.Q(('capital__gte', 0)), name='run_owes_nothing')],
            },
        ),
        migrations.CreateModel(
            name='RunState',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='state', serialize=False, to='trading.run')),
                ('data', models.BinaryField(help_text='State of the engine, as it saves it')),
                ('row_time', models.BigIntegerField(null=True)),
                ('equity', models.FloatField(help_text='Rupees, at the close of the last row')),
                ('peak', models.FloatField(help_text='The highest equity')),
                ('drawdown', models.FloatField(default=0, help_text='Maximum drawdown in percent of the peak')),
                ('drawdown_amount', models.FloatField(default=0, help_text='Maximum drawdown in rupees')),
                ('stream', models.ForeignKey(db_column='lane_id', help_text='Null until a runner has assigned a stream', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='states', to='trading.barstream')),
                ('since', models.BigIntegerField(help_text="The market's time at the start; the run is stepped by rows that close later")),
            ],
        ),
        migrations.CreateModel(
            name='SessionStart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text='Asia/Kolkata')),
                ('data', models.BinaryField(help_text='State of the engine, as it saves it')),
                ('equity', models.FloatField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='trading.run')),
                ('first_row', models.BigIntegerField(help_text='Start of the first row of the session, epoch seconds')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'day'), name='a_run_enters_a_session_once')],
            },
        ),
        migrations.CreateModel(
            name='Signal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(max_length=50)),
                ('bar_time', models.DateTimeField(help_text='Start of the bar at whose close it arose')),
                ('side', models.CharField(choices=[('long', 'long'), ('short', 'short')], max_length=5)),
                ('action', models.CharField(choices=[('entry', 'entry'), ('exit', 'exit')], max_length=5)),
                ('followed', models.BooleanField()),
                ('reason', models.CharField(blank=True, help_text='Why the signal was not executed', max_length=20)),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='signals', to='algorithms.algorithm')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='signals', to='trading.run')),
            ],
            options={
                'indexes': [models.Index(models.F('algorithm'), models.OrderBy(models.F('bar_time'), descending=True), models.OrderBy(models.F('id'), descending=True), name='signals_new')],
                'constraints': [models.UniqueConstraint(fields=('run', 'bar_time', 'symbol', 'action', 'side'), name='one_signal_of_a_bar'), models.CheckConstraint(condition=models.Q(('followed', True), models.Q(('reason', ''), _negated=True), _connector='OR'), name='a_signal_not_followed_says_why')],
            },
        ),
        migrations.CreateModel(
            name='Trade',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('symbol', models.CharField(max_length=50)),
                ('side', models.CharField(choices=[('long', 'long'), ('short', 'short')], max_length=5)),
                ('quantity', models.BigIntegerField()),
                ('entry_time', models.DateTimeField()),
                ('entry_price', models.DecimalField(decimal_places=4, max_digits=18)),
                ('exit_time', models.DateTimeField()),
                ('exit_price', models.DecimalField(decimal_places=4, max_digits=18)),
                ('exit_reason', models.CharField(max_length=20)),
                ('gross_profit', models.DecimalField(decimal_places=2, max_digits=18)),
                ('charges', models.DecimalField(decimal_places=2, max_digits=18)),
                ('profit', models.DecimalField(decimal_places=2, help_text='After charges', max_digits=18)),
                ('return_percentage', models.FloatField()),
                ('bars', models.PositiveIntegerField()),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='trades', to='algorithms.algorithm')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='trades', to='trading.run')),
            ],
            options={
                'indexes': [models.Index(models.F('algorithm'), models.OrderBy(models.F('exit_time'), descending=True), models.OrderBy(models.F('id'), descending=True), name='trades_new')],
            },
        ),
        migrations.CreateModel(
            name='BarRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('time', models.BigIntegerField(help_text='Start of its bars, epoch seconds')),
                ('bars', models.BinaryField(help_text='float64[symbols, 5]: open, high, low, close, volume; NaN without a bar')),
                ('used_at', models.DateTimeField()),
                ('stream', models.ForeignKey(db_column='lane_id', db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='trading.barstream')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('stream', 'time'), name='one_row_of_a_lane_at_a_time')],
                'db_table': 'trading_lanerow',
            },
        ),
        migrations.CreateModel(
            name='DriftReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(help_text='Asia/Kolkata')),
                ('rows', models.PositiveIntegerField(help_text='Number of rows that were simulated again')),
                ('total', models.PositiveIntegerField(help_text='Number of differences; the first of them are listed')),
                ('differences', models.JSONField()),
                ('checked_at', models.DateTimeField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='drift', to='trading.run')),
                ('through', models.BigIntegerField(help_text='Start of the last checked row of a session under way; null when it is over', null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'day'), name='a_session_is_checked_once')],
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('symbol', models.CharField(max_length=50)),
                ('side', models.CharField(choices=[('buy', 'buy'), ('sell', 'sell')], max_length=4)),
                ('intent', models.CharField(choices=[('entry', 'entry'), ('add', 'add'), ('exit', 'exit')], max_length=5)),
                ('type', models.CharField(choices=[('market', 'market'), ('limit', 'limit'), ('stop', 'stop')], max_length=6)),
                ('price', models.DecimalField(decimal_places=4, max_digits=18, null=True)),
                ('quantity', models.BigIntegerField(null=True)),
                ('status', models.CharField(choices=[('open', 'open'), ('filled', 'filled'), ('cancelled', 'cancelled'), ('rejected', 'rejected')], default='open', max_length=9)),
                ('reason', models.CharField(blank=True, help_text='Reason of an exit, or why the order was not filled', max_length=20)),
                ('bar_time', models.DateTimeField(help_text='Start of the bar that created the order')),
                ('placed_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='orders', to='algorithms.algorithm')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='orders', to='trading.run')),
                ('cancel_requested_at', models.DateTimeField(db_column='cancel_asked_at', help_text='When its owner requested the cancellation', null=True)),
            ],
            options={
                'indexes': [models.Index(models.F('algorithm'), models.OrderBy(models.F('placed_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='orders_new'), models.Index(models.F('run'), condition=models.Q(('status', 'open')), name='orders_open'), models.Index(models.OrderBy(models.F('placed_at'), descending=True), name='orders_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['open', 'filled', 'cancelled', 'rejected'])), name='order_status_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('status', 'open')), models.Q(models.Q(('status', 'open'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='an_order_ends_once'), models.CheckConstraint(condition=models.Q(('quantity', None), ('quantity__gt', 0), _connector='OR'), name='order_is_of_something')],
            },
        ),
        migrations.CreateModel(
            name='Position',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(max_length=50)),
                ('quantity', models.BigIntegerField(help_text='Negative for a short position')),
                ('entry_price', models.DecimalField(decimal_places=4, max_digits=18)),
                ('unrealised', models.DecimalField(decimal_places=2, default=Decimal('0.00'), help_text='Rupees, at the last mark', max_digits=18)),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='positions', to='trading.run')),
                ('mark', models.DecimalField(decimal_places=4, help_text='Last close', max_digits=18, null=True)),
                ('stop', models.DecimalField(decimal_places=4, max_digits=18, null=True)),
                ('target', models.DecimalField(decimal_places=4, max_digits=18, null=True)),
                ('close_requested_at', models.DateTimeField(db_column='close_asked_at', help_text='When its owner requested the closing', null=True)),
                ('fractions', models.DecimalField(db_default=Decimal('0.00'), decimal_places=2, help_text='Rupees won or lost on fractions of shares left by splits', max_digits=18)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at', None)), fields=('run', 'symbol'), name='one_open_position_of_a_symbol_in_a_run'), models.CheckConstraint(condition=models.Q(('quantity', 0), _negated=True), name='position_is_of_something')],
            },
        ),
        migrations.CreateModel(
            name='Fill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField(default=1, help_text='Number of the fill among those of the order, from 1')),
                ('quantity', models.BigIntegerField()),
                ('price', models.DecimalField(decimal_places=4, max_digits=18)),
                ('charges', models.DecimalField(decimal_places=2, max_digits=18)),
                ('charges_by_kind', models.JSONField(help_text='Rupees, as text, by kind of charge')),
                ('at', models.DateTimeField(help_text='Start of the bar in which it was filled')),
                ('order', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='fills', to='trading.order')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('order', 'number'), name='fills_of_an_order_count_up'), models.CheckConstraint(condition=models.Q(('quantity__gt', 0)), name='fill_is_of_something')],
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('opening', 'opening'), ('reset', 'reset'), ('entry', 'entry'), ('exit', 'exit'), ('fraction', 'fraction'), ('adjustment', 'adjustment')], max_length=10)),
                ('at', models.DateTimeField()),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='trading.account')),
                ('fill', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='ledger_entry', to='trading.fill')),
                ('position', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='ledger_entries', to='trading.position')),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'opening')), fields=('account',), name='an_account_opens_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['opening', 'reset', 'entry', 'exit', 'fraction', 'adjustment'])), name='ledger_entry_kind_is_known')],
                'indexes': [models.Index(models.F('position'), condition=models.Q(('position__isnull', False)), name='entries_of_fractions')],
            },
        ),
        migrations.CreateModel(
            name='Posting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('book', models.CharField(choices=[('cash', 'cash'), ('locked', 'locked'), ('capital', 'capital'), ('result', 'result'), ('charges', 'charges')], max_length=8)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=18)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='postings', to='trading.ledgerentry')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('book__in', ['cash', 'locked', 'capital', 'result', 'charges'])), name='posting_book_is_known')],
            },
        ),
        migrations.RunSQL([REFUSE_UPDATES, KEEP_THE_BALANCE]),
        migrations.RunSQL([
            *(NOTIFY_OF_ROWS.format(table=table) for table in ('order', 'position', 'signal')),
            NOTIFY_OF_MONEY,
        ]),
    ]
