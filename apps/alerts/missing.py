"""Notices of alerts that did not come: a hook expects one by a time of the day."""

from datetime import date, datetime, time, timedelta
from typing import Final

import numpy as np
from django.db import transaction
from django.db.models import DateTimeField, DurationField, Exists, F, OuterRef, QuerySet, Value
from django.db.models.functions import Cast

from apps.alerts.models import AlertHook, AlertMessage, MissingAlert
from apps.core import jobs
from apps.core.times import INDIA, day_number
from apps.market.rulebook import calendar_of
from apps.webhooks.events import EventType, write_event

# Its market decides which days are trading days.
_INDEX: Final = "NSE:NIFTY"
# A message that comes in the last moment may still be on its way into the database.
_GRACE: Final = timedelta(seconds=30)


def notice_missing_alerts(*, now: datetime) -> int:
    """Tell the owners of hooks to which no alert came by their time today, once a day; return how
    many hooks.

    Today is the date in India of the clock, also in a replay. A restored copy tells nothing in its
    quiet start, because senders know the address of the original.
    """
    today = now.astimezone(INDIA).date()
    if jobs.is_quiet() or not _is_trading_day(today):
        return 0
    return sum(_write(hook, today, now) for hook in _without_alert(today, now))


def _is_trading_day(day: date) -> bool:
    return bool(calendar_of(_INDEX).is_session(np.array([day_number(day)], np.int32))[0])


def _without_alert(today: date, now: datetime) -> QuerySet[AlertHook]:
    """Return the hooks whose time has passed today without a readable message, and whose owners
    were not told.
    """
    midnight = datetime.combine(today, time(), INDIA)
    hooks = AlertHook.objects.listening().annotate(
        due=Value(midnight, DateTimeField()) + Cast("expected_by", DurationField())
    )
    received = AlertMessage.objects.filter(
        hook=OuterRef("pk"), refusal="", received_at__range=(midnight, OuterRef("due"))
    )
    noticed = MissingAlert.objects.filter(hook=OuterRef("pk"), day=today)
    return hooks.filter(
        ~Exists(received), ~Exists(noticed), due__lte=now - _GRACE, expected_since__lte=F("due")
    ).order_by("pk")


@transaction.atomic
def _write(hook: AlertHook, day: date, now: datetime) -> bool:
    """Write the event, unless another worker has."""
    _, is_new = MissingAlert.objects.get_or_create(hook=hook, day=day, defaults={"noticed_at": now})
    if is_new:
        data = {
            "hookId": hook.pk,
            "hookName": hook.name,
            "day": day.isoformat(),
            "expectedBy": hook.expected_clock,
        }
        write_event(
            EventType.ALERT_MISSING,
            owner_id=hook.owner_id,
            algorithm_id=hook.owner_id,
            data=data,
            now=now,
        )
    return is_new
