from django.db import migrations, models
from django.db.models import Q

HAS_RESULTS = models.CheckConstraint(
    condition=Q(study__isnull=False, performance__isnull=False, study_results__isnull=False)
    | (Q(study__isnull=True) | Q(performance__isnull=True)) & Q(study_results__isnull=True),
    name="backtest_completed_study_has_results",
)
RUNNING_HAS_A_HEARTBEAT = models.CheckConstraint(
    condition=~Q(status="running") | Q(heartbeat_at__isnull=False),
    name="backtest_running_has_a_heartbeat",
)
SHARD_HAS_A_HEARTBEAT = models.CheckConstraint(
    condition=~Q(state="running") | Q(heartbeat_at__isnull=False),
    name="study_shard_running_has_a_heartbeat",
)


class Migration(migrations.Migration):
    dependencies = [("backtests", "0003_kinship_of_trials")]

    operations = [
        migrations.AlterModelTable("lastdispatch", None),
        migrations.AlterField("backtest", "study_results", models.JSONField(null=True)),
        migrations.AlterField("backtest", "heartbeat_at", models.DateTimeField(null=True)),
        # PostgreSQL renames a constraint without reading the table; Django would check each row.
        migrations.RunSQL(
            [
                "ALTER TABLE backtests_backtest RENAME CONSTRAINT"
                " backtest_completed_study_has_findings TO backtest_completed_study_has_results",
                "ALTER TABLE backtests_backtest RENAME CONSTRAINT"
                " backtest_running_has_a_beat TO backtest_running_has_a_heartbeat",
                "ALTER TABLE backtests_studyshard RENAME CONSTRAINT"
                " study_shard_running_has_a_beat TO study_shard_running_has_a_heartbeat",
            ],
            state_operations=[
                migrations.RemoveConstraint("backtest", "backtest_completed_study_has_findings"),
                migrations.RemoveConstraint("backtest", "backtest_running_has_a_beat"),
                migrations.RemoveConstraint("studyshard", "study_shard_running_has_a_beat"),
                migrations.AddConstraint("backtest", HAS_RESULTS),
                migrations.AddConstraint("backtest", RUNNING_HAS_A_HEARTBEAT),
                migrations.AddConstraint("studyshard", SHARD_HAS_A_HEARTBEAT),
            ],
        ),
    ]
