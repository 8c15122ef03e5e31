"""E-mail notices of events, for users who subscribe to them."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from django.core.mail import send_mail
from django.db import transaction

from apps.accounts.models import User
from apps.core import audit, limits
from apps.core.limits import TooManyRequests
from apps.core.times import indian_time
from apps.webhooks.events.texts import event_text
from apps.webhooks.models import EmailNotices, Event

_RATE: Final = "50/d"  # of mails to one user; further events go only to webhooks


def notices_of(owner: User) -> EmailNotices:
    """Return the user's subscription, an empty one by default."""
    return EmailNotices.objects.filter(owner=owner).first() or EmailNotices(owner=owner)


@transaction.atomic
def update_notices(*, owner: User, events: Sequence[str], now: datetime) -> EmailNotices:
    """Send the user mails of these types of events from now on, and of no other types."""
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


def send_mail_of(*, event_id: str) -> None:
    """Send the mail of an event, unless the user has reached the limit of the day or unsubscribed.

    It runs outside any transaction. Errors of the mail server are raised, to be tried again.
    """
    event = Event.objects.select_related("owner").filter(pk=event_id).first()
    if event is None or not event.owner.email_verified:  # another's address may be a stranger's
        return
    if not EmailNotices.objects.filter(owner=event.owner, events__contains=event.type).exists():
        return
    to = event.owner.email
    with suppress(TooManyRequests):
        limits.count_mail("notice", to=to, user_id=event.owner_id, rates=(_RATE,))
        send_mail(_subject(event), _text(event), None, [to])


def _subject(event: Event) -> str:
    """Return what happened in one line, a header: line breaks in a name become spaces."""
    name = str(event.data.get("algorithmName", ""))
    data = {**event.data, "algorithmName": " ".join(name.split())}
    return event_text(event.type, data).partition("\n")[0]


def _text(event: Event) -> str:
    return f"{event_text(event.type, event.data)}\n\n{indian_time(event.created_at)}\n"
