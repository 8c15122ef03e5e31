"""Alerts that other programs send: the addresses they come to, what came, and the series that
conditions read.
"""

from typing import Self

from django.db import models
from django.db.models import Q

from apps.core.database import IdField, is_id
from apps.core.errors import NotFound
from apps.engine.candles import Symbol

MAX_HOOK_NAME = 100
MAX_ALERT_NAME = 100
MAX_SENT_AT = 100


class AlertFormat(models.TextChoices):
    """The forms of messages, as their senders write them."""

    TRADINGVIEW = "tradingview"
    CHARTINK = "chartink"
    JSON = "json"


class AlertHookQuerySet(models.QuerySet["AlertHook"]):
    def owned_by(self, owner: models.Model) -> Self:
        """Return the owner's hooks without ended ones."""
        return self.filter(owner_id=owner.pk, ended_at=None)

    def listening(self) -> Self:
        """Return the hooks of all users that take messages: of a closed account none does."""
        return self.filter(ended_at=None, owner__is_active=True, owner__erase_at=None)

    def fetch(self, hook_id: str) -> "AlertHook":
        """Return the hook with this id. Raises NotFound."""
        hook = self.filter(pk=hook_id).first() if is_id(hook_id) else None
        if hook is None:
            raise NotFound
        return hook


class AlertHook(models.Model):
    """An address that alerts come to. Whoever knows its secret may send.

    Without `networks` they may come from anywhere. If no alert came by `expected_by`, a time in
    India, on a day with a session, its owner is told. That time was set at `expected_since`. An
    ended hook keeps its alerts.
    """

    id = IdField()
    owner = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    name = models.CharField(max_length=MAX_HOOK_NAME)
    format = models.CharField(max_length=11, choices=AlertFormat.choices)
    secret_digest = models.CharField(
        max_length=64, unique=True, help_text="SHA-256 of the secret, in hex"
    )
    networks = models.JSONField(default=list, help_text="Networks that may send, as CIDR")
    expected_by = models.TimeField(null=True, blank=True)
    expected_since = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = AlertHookQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(format__in=AlertFormat.values), name="alert_format_is_known"
            ),
            models.CheckConstraint(
                condition=Q(expected_by=None, expected_since=None)
                | Q(expected_by__isnull=False, expected_since__isnull=False),
                name="an_expectation_has_a_start",
            ),
        ]

    @property
    def expected_clock(self) -> str | None:
        """`expected_by` as its owner wrote it."""
        return None if self.expected_by is None else f"{self.expected_by:%H:%M}"

    def __str__(self) -> str:
        return self.name


class MissingAlert(models.Model):
    """A day on which no alert came to a hook in time, and its owner was told."""

    hook = models.ForeignKey(AlertHook, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(help_text="Asia/Kolkata")
    noticed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hook", "day"], name="one_notice_of_a_missing_alert"),
        ]

    def __str__(self) -> str:
        return f"{self.hook_id} {self.day}"


class AlertMessage(models.Model):
    """A body that came to a hook, read or not: `refusal` says why it could not be read.

    `key` is what copies of it share: the id in it, else its body and its minute. Copies are only
    counted.
    """

    id = IdField()
    hook = models.ForeignKey(AlertHook, models.CASCADE, related_name="messages")
    key = models.CharField(max_length=64, help_text="SHA-256, in hex")
    body = models.TextField()
    received_at = models.DateTimeField()
    refusal = models.TextField(blank=True)
    copies = models.PositiveIntegerField(default=0, help_text="How often it came again")
    copied_at = models.DateTimeField(null=True, help_text="When it came again the last time")

    class Meta:
        indexes = [
            models.Index(fields=["hook", "-received_at"], name="messages_of_a_hook"),
            models.Index(
                fields=["hook", "-received_at"],
                name="refused_messages_of_a_hook",
                condition=~Q(refusal=""),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["hook", "key"], name="a_message_is_kept_once"),
        ]

    def __str__(self) -> str:
        return f"message of {self.received_at}"


class ReceivedAlert(models.Model):
    """An alert, one place of the series of its name. The database refuses to change it.

    Without a symbol it is about every symbol. `received_at` is the market's time, and the only one
    that counts; `came_at` is the real time, another one in a replay; `sent_at` is what the sender
    wrote.
    """

    id = IdField()
    # Alerts go with their owner: by way of messages Django would name each of these in a statement.
    message = models.ForeignKey(AlertMessage, models.DO_NOTHING, related_name="alerts")
    owner = models.ForeignKey("accounts.User", models.CASCADE, related_name="+")
    name = models.CharField(max_length=MAX_ALERT_NAME)
    symbol = models.CharField(max_length=Symbol.MAX_LENGTH, blank=True)
    received_at = models.DateTimeField()
    came_at = models.DateTimeField()
    price = models.FloatField(null=True, blank=True, help_text="Rupees, as the sender wrote them")
    sent_at = models.CharField(max_length=MAX_SENT_AT, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner", "name", "received_at"], name="series_of_a_name"),
            models.Index(fields=["owner", "-came_at"], name="alerts_newest_first"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.symbol}".strip()


class AlertClock(models.Model):
    """The market's time up to which live runs have read the alerts of a user. Its row is the lock
    between receiving and reading; it comes with the first hook.

    `bytes_of_day` counts what came on `day`, the last one on which anything came.
    """

    owner = models.OneToOneField("accounts.User", models.CASCADE, primary_key=True)
    read_until = models.DateTimeField(null=True, blank=True)
    day = models.DateField(null=True, help_text="Asia/Kolkata")
    bytes_of_day = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"alerts of user {self.owner_id} read until {self.read_until}"
