"""Overviews of a user's hooks: their last messages, refused ones, and names of alerts."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Max, QuerySet

from apps.accounts.models import User
from apps.alerts.models import AlertMessage, ReceivedAlert


def last_received(*, owner: User) -> Mapping[str, datetime]:
    """Return the time of the last readable message to each hook, keyed by its id; hooks without
    one are left out.
    """
    messages = AlertMessage.objects.filter(hook__owner=owner, hook__ended_at=None, refusal="")
    return dict(messages.values_list("hook").annotate(last=Max("received_at")))


def refused_messages(*, owner: User) -> QuerySet[AlertMessage]:
    """Return the refused messages with their hooks, the newest first."""
    messages = AlertMessage.objects.filter(hook__owner=owner, hook__ended_at=None)
    refused = messages.exclude(refusal="").select_related("hook")
    return refused.order_by("-received_at", "-pk")


def received_names(*, owner: User) -> list[str]:
    """Return the names of all alerts, in order."""
    names = ReceivedAlert.objects.filter(owner=owner).order_by("name")
    return list(names.values_list("name", flat=True).distinct())
