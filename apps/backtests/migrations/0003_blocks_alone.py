from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("backtests", "0002_turns_and_beats"),
    ]

    operations = [
        # The default is for the way back.
        migrations.AlterField(
            model_name="backtestresult", name="whole", field=models.BinaryField(default=b"")
        ),
        migrations.RemoveField(model_name="backtestresult", name="whole"),
        migrations.AddConstraint(
            model_name="backtest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["queued", "running", "completed", "failed", "cancelled"])
                ),
                name="backtest_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="backtest",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "running"), _negated=True),
                    ("beat_at__isnull", False),
                    _connector="OR",
                ),
                name="backtest_running_has_a_beat",
            ),
        ),
    ]
