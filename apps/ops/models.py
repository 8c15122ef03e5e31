"""What the service remembers of its own operation."""

from typing import Self

from django.db import models
from django.db.models import Q


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
