"""What users were told: the summary of a day, and outages of the feed."""

from django.db import models

from apps.trading.models.accounts import Account


class DaySummary(models.Model):
    """The summary of a day that was sent to a user."""

    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(help_text="Asia/Kolkata")
    sent_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "day summaries"
        constraints = [
            models.UniqueConstraint(fields=["account", "day"], name="one_summary_of_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.day}"


class FeedOutage(models.Model):
    """An outage of the feed that a user was told of.

    The last bar before it identifies it: the next outage follows another bar.
    """

    account = models.ForeignKey(Account, models.CASCADE, related_name="+", db_index=False)
    since = models.BigIntegerField(help_text="End of the last bar, epoch seconds")
    noticed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "since"], name="one_notice_of_an_outage"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.since}"
