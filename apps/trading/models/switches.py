"""What stops trading: a user's switch, and the operators'."""

from datetime import datetime
from typing import Final

from django.db import models
from django.db.models import Q

MAX_REASON: Final = 200


class Switch(models.Model):
    """While it is on, nothing starts and nothing is entered; exits go on."""

    active = models.BooleanField(default=False)
    since = models.DateTimeField(null=True)
    reason = models.CharField(max_length=MAX_REASON, blank=True)

    class Meta:
        abstract = True

    def turn_on(self, *, reason: str, now: datetime) -> None:
        self.active, self.since, self.reason = True, now, reason

    def turn_off(self) -> None:
        self.active, self.since, self.reason = False, None, ""


def _says_since_when(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        condition=Q(active=True, since__isnull=False) | Q(active=False, since=None, reason=""),
        name=name,
    )


class KillSwitch(Switch):
    """Of one user, over all their algorithms."""

    owner = models.OneToOneField(
        "accounts.User", models.CASCADE, primary_key=True, related_name="+"
    )

    class Meta:
        verbose_name_plural = "kill switches"
        constraints = [_says_since_when("kill_switch_says_since_when")]

    def __str__(self) -> str:
        return f"Kill switch of {self.owner_id}"


class GlobalSwitch(Switch):
    """Of the operators, over everybody; there is one row at most."""

    SINGLETON_ID: Final = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=SINGLETON_ID)

    class Meta:
        verbose_name = "global kill switch"
        verbose_name_plural = "global kill switch"
        constraints = [
            _says_since_when("global_switch_says_since_when"),
            models.CheckConstraint(condition=Q(id=1), name="there_is_one_global_switch"),
        ]

    def __str__(self) -> str:
        return "the global kill switch"
