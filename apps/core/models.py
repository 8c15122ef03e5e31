"""What the service counts (see `counters`)."""

from django.db import models


class Counter(models.Model):
    """How often something was done until a moment; the table is unlogged: a crash may forget it."""

    key = models.CharField(max_length=255, primary_key=True)
    count = models.BigIntegerField()
    expires_at = models.DateTimeField(db_index=True)
