"""Whether brokers can be reached."""

from enum import StrEnum

from django.db import models
from django.db.models import Q


class BrokerState(StrEnum):
    """`limited`: it answers, and takes no more orders for now."""

    OK = "ok"
    LIMITED = "limited"
    UNREACHABLE = "unreachable"


class BrokerHealth(models.Model):
    """What is known of one broker; of one that was never heard of there is no row."""

    name = models.CharField(max_length=40, primary_key=True)
    state = models.CharField(max_length=11, choices=[(s.value, s.value) for s in BrokerState])
    detail = models.CharField(max_length=200, blank=True)
    since = models.DateTimeField(help_text="When its state last changed")
    checked_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "brokers' health"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in BrokerState]),
                name="broker_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.state}"
