"""The switches that stop trading: a user's and the operators'; and the health of brokers."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from django.db import models
from django.db.models import Q

MAX_REASON: Final = 200


class Switch(models.Model):
    """While a switch is on, no run starts and no entry is made; exits continue."""

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
    """The switch of one user, over all their algorithms."""

    owner = models.OneToOneField(
        "accounts.User", models.CASCADE, primary_key=True, related_name="+"
    )

    class Meta:
        verbose_name_plural = "kill switches"
        constraints = [_says_since_when("kill_switch_says_since_when")]

    def __str__(self) -> str:
        return f"Kill switch of {self.owner_id}"


class GlobalSwitch(Switch):
    """The switch of the operators, over everybody; at most one row."""

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


class BrokerState(StrEnum):
    """`limited`: it answers, and accepts no more orders for now."""

    OK = "ok"
    LIMITED = "limited"
    UNREACHABLE = "unreachable"


class BrokerHealth(models.Model):
    """The known health of a broker; a broker without reports has no row."""

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
