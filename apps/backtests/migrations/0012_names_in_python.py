from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename a model and two fields in Python alone: tables and columns keep their names."""

    dependencies = [("backtests", "0011_notify_of_ends")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("LastTurn", "LastDispatch"),
                migrations.AlterModelTable("LastDispatch", "backtests_lastturn"),
                migrations.RemoveIndex("Backtest", "backtest_running"),
                migrations.RemoveConstraint("Backtest", "backtest_running_has_a_beat"),
                migrations.RemoveConstraint("Backtest", "backtest_completed_study_has_findings"),
                migrations.RenameField("Backtest", "beat_at", "heartbeat_at"),
                migrations.AlterField(
                    "Backtest",
                    "heartbeat_at",
                    models.DateTimeField(db_column="beat_at", null=True),
                ),
                migrations.RenameField("Backtest", "findings", "study_results"),
                migrations.AlterField(
                    "Backtest",
                    "study_results",
                    models.JSONField(db_column="findings", null=True),
                ),
                migrations.AddIndex(
                    "Backtest",
                    models.Index(
                        condition=models.Q(status="running"),
                        fields=["owner", "heartbeat_at"],
                        name="backtest_running",
                    ),
                ),
                migrations.AddConstraint(
                    "Backtest",
                    models.CheckConstraint(
                        condition=~models.Q(status="running")
                        | models.Q(heartbeat_at__isnull=False),
                        name="backtest_running_has_a_beat",
                    ),
                ),
                migrations.AddConstraint(
                    "Backtest",
                    models.CheckConstraint(
                        condition=models.Q(
                            study__isnull=False,
                            performance__isnull=False,
                            study_results__isnull=False,
                        )
                        | (models.Q(study__isnull=True) | models.Q(performance__isnull=True))
                        & models.Q(study_results__isnull=True),
                        name="backtest_completed_study_has_findings",
                    ),
                ),
            ]
        )
    ]
