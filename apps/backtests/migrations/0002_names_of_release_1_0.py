from django.db import migrations, models


class Migration(migrations.Migration):
    """Make two constraints of a database of release 1.0 anew: their text is of columns since renamed."""

    dependencies = [('backtests', '0001_release_1_0')]

    operations = [
        migrations.RemoveConstraint('backtest', 'backtest_completed_study_has_findings'),
        migrations.AddConstraint('backtest', models.CheckConstraint(condition=models.Q(models.Q(('performance__isnull', False), ('study__isnull', False), ('study_results__isnull', False)), models.Q(models.Q(('study__isnull', True), ('performance__isnull', True), _connector='OR'), ('study_results__isnull', True)), _connector='OR'), name='backtest_completed_study_has_findings')),
        migrations.RunSQL([
            'ALTER TABLE backtests_backtestresult ALTER COLUMN trades DROP NOT NULL',
            'ALTER TABLE backtests_backtestresult ALTER COLUMN trades SET NOT NULL',
        ]),
    ]
