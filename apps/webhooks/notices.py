"""Events told by e-mail, to users who have asked for it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.core.mail import send_mail
from django.db import transaction

from apps.accounts.models import User
from apps.core import audit
from apps.core.times import wire_time
from apps.webhooks import event_types
from apps.webhooks.event_types import EventType
from apps.webhooks.models import EmailNotices, Event

MOST_A_DAY: Final = 50
"""Mails to one user; what goes beyond is told by webhooks alone."""


def notices_of(owner: User) -> EmailNotices:
    return EmailNotices.objects.filter(owner=owner).first() or EmailNotices(owner=owner)


@transaction.atomic
def ask_for(*, owner: User, events: Sequence[EventType], now: datetime) -> EmailNotices:
    """Of which types of events the user is told by e-mail from now on."""
    notices, _ = EmailNotices.objects.update_or_create(
        owner=owner, defaults={"events": list(events)}
    )
    audit.record(
        audit.Action.NOTICES_CHANGED,
        notices,
        actor=audit.user(owner),
        now=now,
        events=notices.events,
    )
    return notices


def mail(*, event_id: str, now: datetime) -> None:
    """Send the mail of one event, unless its user has had enough that day or asks no more for it.

    Outside of any transaction. Raises what the mail server does to us; it may then be tried again.
    """
    event = Event.objects.select_related("owner").filter(pk=event_id).first()
    if event is None:
        return
    notices = EmailNotices.objects.filter(owner=event.owner, events__contains=event.type).first()
    if notices is not None and notices.counted(most=MOST_A_DAY, now=now):
        send_mail(_subject(event), _text(event), None, [event.owner.email])


def _subject(event: Event) -> str:
    """A header: of a name with line breaks they are spaces."""
    name = str(event.data.get("algorithmName") or event.algorithm_id)
    return f"{event.type}: {' '.join(name.split())}"


def _text(event: Event) -> str:
    lines = [
        event_types.EVENT_SCHEMAS[EventType(event.type)].description,
        "",
        f"at: {wire_time(event.created_at)}",
    ]
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in event.data.items()), ""])
