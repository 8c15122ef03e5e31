"""How a session's paper trading compares with its backtest."""

from django.db import models

from apps.trading.models.runs import Run


class DriftReport(models.Model):
    """Of one run and session; clean when it lists no difference."""

    # Its own index on the run would repeat the constraint's.
    run = models.ForeignKey(Run, models.CASCADE, related_name="drift", db_index=False)
    day = models.DateField(help_text="Asia/Kolkata")
    rows = models.PositiveIntegerField(help_text="Number of rows that were simulated again")
    total = models.PositiveIntegerField(
        help_text="Number of differences; the first of them are listed"
    )
    differences = models.JSONField()
    checked_at = models.DateTimeField()
    through = models.BigIntegerField(
        null=True,
        help_text="Start of the last checked row of a session under way; null when it is over",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "day"], name="a_session_is_checked_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.day}: {self.total}"
