"""Facts on their way out: what has happened to a user's algorithms, in order."""

from django.db import models
from django.db.models import Q

from apps.core.ids import IdField
from apps.webhooks.event_types import EventType


class Sequence(models.Model):
    """How many events of one algorithm there have been, however few are still kept."""

    algorithm_id = models.CharField(max_length=24, primary_key=True)
    last = models.PositiveBigIntegerField()


class Event(models.Model):
    """One thing that has happened, committed with the change that it tells of.

    It names its subject by id and not by foreign key: what it tells of may be gone.
    """

    id = IdField()
    type = models.CharField(max_length=40, choices=[(t.value, t.value) for t in EventType])
    owner = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    algorithm_id = models.CharField(max_length=24)
    backtest_id = models.CharField(
        max_length=24, blank=True, help_text="Of the algorithm's backtest that it is about"
    )
    sequence = models.PositiveBigIntegerField(help_text="Its place among the algorithm's events")
    created_at = models.DateTimeField()
    data = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["algorithm_id", "sequence"], name="one_event_in_each_place"
            ),
            models.CheckConstraint(
                condition=Q(type__in=[t.value for t in EventType]), name="event_type_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.algorithm_id} {self.sequence}"
