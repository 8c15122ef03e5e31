import apps.core.ids
import django.db.models.deletion
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
DROP_THE_REFUSAL = """
    DROP TRIGGER ledger_is_kept ON trading_ledgerentry;
    DROP FUNCTION trading_ledger_is_kept();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0002_rotation_and_keys'),
        ('algorithms', '0003_history_and_alerts'),
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
            name='Run',
            fields=[
                ('id', apps.core.ids.IdField(serialize=False)),
                ('algorithm_version', models.PositiveIntegerField()),
                ('configuration', models.JSONField(help_text='The steps by their wire names, as they were sent')),
                ('mode', models.CharField(choices=[('paper', 'paper'), ('live', 'live')], max_length=5)),
                ('capital', models.DecimalField(decimal_places=2, help_text='Its part of the account: what it began with and has won or lost since', max_digits=18)),
                ('started_at', models.DateTimeField()),
                ('close_positions', models.BooleanField(default=False)),
                ('ended_at', models.DateTimeField(null=True)),
                ('end_reason', models.CharField(blank=True, choices=[('stopped', 'stopped'), ('error', 'error')], max_length=10)),
                ('released_at', models.DateTimeField(help_text='When its capital was given back', null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='trading.account')),
                ('algorithm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='algorithms.algorithm')),
            ],
        ),
        migrations.CreateModel(
            name='Position',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('symbol', models.CharField(max_length=50)),
                ('quantity', models.BigIntegerField(help_text='Below zero when it is short')),
                ('entry_price', models.DecimalField(decimal_places=4, max_digits=18)),
                ('unrealised', models.DecimalField(decimal_places=2, default=Decimal('0.00'), help_text='Rupees, at the last mark', max_digits=18)),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='positions', to='trading.run')),
            ],
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
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('opening', 'opening'), ('reset', 'reset')], max_length=10)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=18)),
                ('at', models.DateTimeField()),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='trading.account')),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['opening', 'reset'])), name='ledger_entry_kind_is_known'), models.UniqueConstraint(condition=models.Q(('kind', 'opening')), fields=('account',), name='an_account_opens_once')],
            },
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(models.F('algorithm'), models.OrderBy(models.F('started_at'), descending=True), name='runs_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('released_at', None)), fields=('algorithm',), name='one_run_of_an_algorithm_holds_capital'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('end_reason', ''), ('ended_at', None)), models.Q(('end_reason__in', ['stopped', 'error']), ('ended_at__isnull', False)), _connector='OR'), name='an_ended_run_says_why'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('released_at', None), ('ended_at__isnull', False), _connector='OR'), name='a_run_keeps_its_capital_until_it_ends'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('capital__gte', 0)), name='run_owes_nothing'),
        ),
        migrations.AddConstraint(
            model_name='position',
            constraint=models.UniqueConstraint(condition=models.Q(('closed_at', None)), fields=('run', 'symbol'), name='one_open_position_of_a_symbol_in_a_run'),
        ),
        migrations.AddConstraint(
            model_name='position',
            constraint=models.CheckConstraint(condition=models.Q(('quantity', 0), _negated=True), name='position_is_of_something'),
        ),
        migrations.RunSQL(REFUSE_UPDATES, DROP_THE_REFUSAL),
    ]
