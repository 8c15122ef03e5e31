"""What belongs to requests rather than to any app: counters, remembered answers."""

from django.db import models


class Counter(models.Model):
    """How often something was done until a moment; the table is unlogged: a crash may forget it."""

    key = models.CharField(max_length=255, primary_key=True)
    count = models.BigIntegerField()
    expires_at = models.DateTimeField(db_index=True)


class IdempotencyKey(models.Model):
    """A request that was answered, so that its repetition gets the same answer (`idempotency`)."""

    user_id = models.CharField(max_length=24)
    method = models.CharField(max_length=7)
    path = models.CharField(max_length=512)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the canonical body")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "method", "path", "key"], name="a_key_is_used_once"
            )
        ]
