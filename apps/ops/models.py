"""What the service remembers of its own operation: backups, and its processes on all machines."""

from datetime import timedelta
from typing import Final, Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

# A process that has not been heard of for so long is frozen, or its machine is gone.
SILENCE: Final = timedelta(seconds=30)
# After so long nobody expects it back.
FORGOTTEN: Final = timedelta(minutes=10)


class BackupQuerySet(models.QuerySet["BackupRecord"]):
    def successful(self) -> Self:
        return self.filter(taken_at__isnull=False)


class BackupRecord(models.Model):
    """That a backup was made, or that it failed. The file itself may be gone since."""

    name = models.CharField(max_length=100, blank=True, help_text="Of the file")
    begun_at = models.DateTimeField(db_index=True)
    taken_at = models.DateTimeField(
        null=True, help_text="The time of the snapshot; null if the backup failed"
    )
    size = models.BigIntegerField(default=0, help_text="Bytes")
    error = models.CharField(max_length=500, blank=True)
    is_scheduled = models.BooleanField(
        default=False, db_default=False, help_text="By the schedule, not by hand"
    )

    objects = BackupQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(taken_at=None) & ~Q(error="") | Q(taken_at__isnull=False, error=""),
                name="a_backup_succeeds_or_says_why_not",
            )
        ]

    def __str__(self) -> str:
        return self.name or f"failed: {self.error}"


class ServiceProcessQuerySet(models.QuerySet["ServiceProcess"]):
    def known(self) -> Self:
        """Return those that run or ought to, with `silent_for`; the database's clock counts."""
        known = self.filter(beat_at__gt=Now() - FORGOTTEN)
        return known.annotate(silent_for=Now() - F("beat_at")).order_by("machine", "role", "pid")


class ServiceProcess(models.Model):
    """A process that has told of itself, every few seconds since it began (apps/ops/presence.py).

    One that ends orderly removes itself; those that were killed are removed by the next process
    of their machine.
    """

    machine = models.CharField(max_length=64)
    pid = models.PositiveIntegerField()
    role = models.CharField(max_length=40, help_text="Name of the process, such as runner")
    version = models.CharField(max_length=20)
    key_fingerprint = models.CharField(max_length=16)
    started_at = models.DateTimeField(db_default=Now())
    beat_at = models.DateTimeField(db_default=Now())
    clock_ahead = models.FloatField(help_text="Seconds, where the machine's clock is off")
    resting = models.CharField(max_length=20, blank=True, help_text="Why it takes no work")

    silent_for: timedelta  # of those that `known` returns

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
