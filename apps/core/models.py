"""Models of no single app: counters, remembered answers, the audit record, the quiet start, the
encryption key in use.
"""

from typing import Final

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q


class Counter(models.Model):
    """A counter until a moment. The table is unlogged, so a crash may erase it."""

    key = models.CharField(max_length=255, primary_key=True)
    count = models.BigIntegerField()
    expires_at = models.DateTimeField(db_index=True)


class IdempotencyKey(models.Model):
    """An answered request, so that its repetition gets the same answer (`idempotency`)."""

    user_id = models.CharField(max_length=24)
    credential = models.CharField(
        max_length=24,
        blank=True,
        default="",
        help_text="Id of the session or API key, where the response holds a secret",
    )
    method = models.CharField(max_length=7)
    path = models.CharField(max_length=512)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the canonical body")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)  # encrypted
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "credential", "method", "path", "key"], name="a_key_is_used_once"
            )
        ]


class AuditRecord(models.Model):
    """An entry of the audit record (`audit`).

    The database refuses to change or delete it. It has no foreign keys, because its subject may be
    deleted.
    """

    at = models.DateTimeField()
    action = models.CharField(max_length=40, help_text="One of audit.Action")
    actor = models.CharField(max_length=24, blank=True, help_text="Id of the user, if known")
    actor_kind = models.CharField(max_length=10, help_text="One of audit.ActorKind")
    session_id = models.CharField(
        max_length=24, blank=True, help_text="Id of the session or API key"
    )
    address = models.CharField(max_length=64, blank=True, help_text="IP address of the client")
    request_id = models.CharField(max_length=128)
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    details = models.JSONField(encoder=DjangoJSONEncoder)

    class Meta:
        indexes = [
            models.Index(fields=["action", "-id"], name="audit_by_action"),
            models.Index(fields=["actor", "-id"], name="audit_by_actor"),
            models.Index(fields=["object_id", "-id"], name="audit_by_object"),
            models.Index(fields=["request_id"], name="audit_by_request"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.object_type} {self.object_id}".strip()


class QuietStart(models.Model):
    """A restore of this database.

    Trading and sending resume when an operator ends the quiet start
    (apps/core/jobs/quiet_start.py).
    """

    began_at = models.DateTimeField()
    snapshot_at = models.DateTimeField(help_text="When the backup was taken")
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"quiet start of the backup of {self.snapshot_at:%Y-%m-%d %H:%M} UTC"


class InstalledKey(models.Model):
    """The SECRET_KEY that encrypts this database's secrets; a single row, written at first start.

    A machine with another key refuses to start (apps/ops/database/secret_key.py).
    """

    SINGLETON_ID: Final = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=SINGLETON_ID)
    fingerprint = models.CharField(max_length=16, help_text="encryption.fingerprint of the key")
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="there_is_one_installed_key"),
        ]

    def __str__(self) -> str:
        return f"key {self.fingerprint}"
