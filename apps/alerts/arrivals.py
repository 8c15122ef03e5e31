"""What came to the hooks of a user, at a glance."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Max, QuerySet

from apps.accounts.models import User
from apps.alerts.models import AlertMessage, ReceivedAlert


def last_received(*, owner: User) -> Mapping[str, datetime]:
    """Return when the last message that could be read came to each hook, keyed by its id; without
    hooks that got none.
    """
    messages = AlertMessage.objects.filter(hook__owner=owner, hook__ended_at=None, refusal="")
    return dict(messages.values_list("hook").annotate(last=Max("received_at")))


def refused_messages(*, owner: User) -> QuerySet[AlertMessage]:
    """Return the messages that could not be read, with their hooks, the newest first."""
    messages = AlertMessage.objects.filter(hook__owner=owner, hook__ended_at=None)
    refused = messages.exclude(refusal="").select_related("hook")
    return refused.order_by("-received_at", "-pk")


def received_names(*, owner: User) -> list[str]:
    """Return the names of the alerts that came, in order."""
    names = ReceivedAlert.objects.filter(owner=owner).order_by("name")
    return list(names.values_list("name", flat=True).distinct())
