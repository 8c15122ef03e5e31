"""The processes of the service on all machines."""

from datetime import timedelta
from typing import Final, Self

from django.db import models
from django.db.models import F
from django.db.models.functions import Now

# A process that has not been heard of for so long is frozen, or its machine is gone.
SILENCE: Final = timedelta(seconds=30)
# After so long nobody expects it back.
FORGOTTEN: Final = timedelta(minutes=10)


class ServiceProcessQuerySet(models.QuerySet["ServiceProcess"]):
    def known(self) -> Self:
        """Return the processes that run or should run, with `silent_for`, by the
        database's clock.
        """
        known = self.filter(heartbeat_at__gt=Now() - FORGOTTEN)
        return known.annotate(silent_for=Now() - F("heartbeat_at")).order_by(
            "machine", "role", "pid"
        )


class ServiceProcess(models.Model):
    """A process that reports every few seconds (apps/ops/processes/presence.py).

    A process that ends normally removes its row; rows of killed processes are removed by the next
    process of their machine.
    """

    machine = models.CharField(max_length=64)
    pid = models.PositiveIntegerField()
    role = models.CharField(max_length=40, help_text="Name of the process, such as runner")
    version = models.CharField(max_length=20)
    key_fingerprint = models.CharField(max_length=16)
    started_at = models.DateTimeField(db_default=Now())
    heartbeat_at = models.DateTimeField(db_default=Now())
    clock_ahead = models.FloatField(help_text="Seconds, where the machine's clock is off")
    idle_reason = models.CharField(max_length=20, blank=True, help_text="Why it takes no work")

    silent_for: timedelta  # set by `known`

    objects = ServiceProcessQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "service processes"
        constraints = [
            models.UniqueConstraint(
                fields=["machine", "pid"], name="one_row_of_a_process_of_a_machine"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.pid} on {self.machine}"
