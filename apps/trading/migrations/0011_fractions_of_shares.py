import django.db.models.deletion
from decimal import Decimal
from django.db import migrations, models


# Such a state was kept after the splits of its day, and from now on is read as one of before them.
FORGET_STARTS_OF_SPLIT_DAYS = """
    DELETE FROM trading_sessionstart AS started
    USING trading_run AS run, market_corporateaction AS action
    WHERE started.run_id = run.id AND action.ex_date = started.day
        AND run.configuration -> 'basicInfo' -> 'symbols' ? action.symbol
        AND NOT EXISTS (
            SELECT FROM trading_driftreport AS report
            WHERE report.run_id = started.run_id AND report.day = started.day
        )
"""


class Migration(migrations.Migration):

    dependencies = [
        ('market', '0004_corporate_actions'),
        ('trading', '0010_lanes_without_bars_out_of_session'),
    ]

    operations = [
        migrations.RunSQL(FORGET_STARTS_OF_SPLIT_DAYS, migrations.RunSQL.noop),
        migrations.RemoveConstraint(
            model_name='ledgerentry',
            name='ledger_entry_kind_is_known',
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='position',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='ledger_entries', to='trading.position'),
        ),
        migrations.AddField(
            model_name='position',
            name='fractions',
            field=models.DecimalField(db_default=Decimal('0.00'), decimal_places=2, help_text='Rupees won or lost on parts of shares that splits left over', max_digits=18),
        ),
        migrations.AlterField(
            model_name='ledgerentry',
            name='kind',
            field=models.CharField(choices=[('opening', 'opening'), ('reset', 'reset'), ('entry', 'entry'), ('exit', 'exit'), ('fraction', 'fraction'), ('adjustment', 'adjustment')], max_length=10),
        ),
        migrations.AddIndex(
            model_name='ledgerentry',
            index=models.Index(models.F('position'), condition=models.Q(('position__isnull', False)), name='entries_of_fractions'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['opening', 'reset', 'entry', 'exit', 'fraction', 'adjustment'])), name='ledger_entry_kind_is_known'),
        ),
    ]
