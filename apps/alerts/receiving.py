"""Receiving: a message comes to the address of a hook, and its alerts join the series."""

import hashlib
from datetime import date, datetime
from typing import Final

from django.db import transaction
from django.db.models import Case, F, When

from apps.alerts import series
from apps.alerts.hooks import digest_of_secret
from apps.alerts.message_formats import IncomingMessage, read_message
from apps.alerts.models import AlertClock, AlertHook, AlertMessage, ReceivedAlert
from apps.core import database, limits
from apps.core.errors import InvalidInput, NotFound
from apps.core.limits import Resource
from apps.core.requests import is_in_networks, storable
from apps.core.times import INDIA

# Messages without an id are copies if their bodies are equal, and came within the same minute, the
# shortest candle, of the market's time.
_SECONDS_OF_COPIES: Final = 60
# About what the database takes for one.
_BYTES_OF_ALERT: Final = 256
_MASK: Final = "ah_…"


def receive_message(*, secret: str, body: bytes, address: str | None, now: datetime) -> None:
    """Store a message with its alerts; of a copy of an earlier one, only that it came.

    A message that cannot be read is stored too, with its refusal. Raises NotFound for a secret that
    may not be used from this address, InvalidInput for a message that cannot be read,
    QuotaExceeded for more than the bytes of a day.
    """
    hook = _find_hook(secret, address)
    # ChartInk writes the address that it calls into its messages.
    body = body.replace(secret.encode(), _MASK.encode())
    text = storable(body.decode("utf-8", "replace"))
    message = AlertMessage(hook=hook, body=text, received_at=now)
    try:
        read = read_message(hook.format, body)
    except InvalidInput as error:
        message.refusal = str(error)
        _store(message, IncomingMessage(()), now=now)
        raise
    _store(message, read, now=now)


def _find_hook(secret: str, address: str | None) -> AlertHook:
    """Return the hook with this secret.

    One statement finds it, or finds nothing: the time of an answer tells a stranger nothing about
    the reason. Raises NotFound.
    """
    hook = AlertHook.objects.listening().filter(secret_digest=digest_of_secret(secret)).first()
    if hook is None or (hook.networks and not is_in_networks(address, hook.networks)):
        raise NotFound
    return hook


@transaction.atomic
def _store(message: AlertMessage, read: IncomingMessage, *, now: datetime) -> None:
    owner_id = message.hook.owner_id
    received_at = series.time_of_receipt(owner_id, now=now)
    minute = int(received_at.timestamp()) // _SECONDS_OF_COPIES
    # A refused body may be readable when it comes again: its hook can get another format.
    kind = "refused" if message.refusal else "body"
    message.key = _sha256(f"id {read.id}" if read.id else f"{kind} {minute} {message.body}")
    AlertMessage.objects.bulk_create([message], ignore_conflicts=True)
    if not AlertMessage.objects.filter(pk=message.pk).exists():
        original = AlertMessage.objects.filter(hook=message.hook, key=message.key)
        original.update(copies=F("copies") + 1, copied_at=now)
        return
    _count_bytes(message, len(read.alerts), now=now)
    ReceivedAlert.objects.bulk_create(
        ReceivedAlert(
            message=message,
            owner_id=owner_id,
            name=alert.name,
            symbol=alert.symbol,
            price=alert.price,
            sent_at=alert.sent_at,
            received_at=received_at,
            came_at=now,
        )
        for alert in read.alerts
    )


@limits.counted_by(Resource.ALERT_BYTES)
def _bytes_of_today(owner_id: str) -> int:
    clocks = AlertClock.objects.filter(pk=owner_id, day=_day(database.now()))
    return clocks.values_list("bytes_of_day", flat=True).first() or 0


def _count_bytes(message: AlertMessage, alerts: int, *, now: datetime) -> None:
    """Count the bytes of a message and of its alerts. The caller holds the owner's clock.

    Raises QuotaExceeded.
    """
    owner_id, day = message.hook.owner_id, _day(now)
    limits.check_room(owner_id, Resource.ALERT_BYTES)
    size = len(message.body.encode()) + alerts * _BYTES_OF_ALERT
    same_day = Case(When(day=day, then=F("bytes_of_day")), default=0)
    AlertClock.objects.filter(pk=owner_id).update(bytes_of_day=same_day + size, day=day)


def _day(now: datetime) -> date:
    return now.astimezone(INDIA).date()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
