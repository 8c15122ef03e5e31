"""Slots of event streams: a limit for each session or key, and the check that streams may continue.

A slot is a row, because the streams of a session may be served by several processes. The serving
process renews its slot; the slot of a lost process is free after KEPT_FOR.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q

from apps.accounts.login.services import Credential
from apps.accounts.models import ApiKey, StreamSlot
from apps.core.errors import Code, ServiceError

MOST_EVENT_STREAMS: Final = 4
KEPT_FOR: Final = timedelta(seconds=15)


class TooManyStreams(ServiceError):
    code = Code.TOO_MANY_REQUESTS
    message = "This session or key has {limit} event streams already; close one of them first."

    def __init__(self) -> None:
        super().__init__(
            reason="too_many_streams",
            limit=MOST_EVENT_STREAMS,
            retryAfter=round(KEPT_FOR.total_seconds()),
        )


@transaction.atomic
def take_slot(credential: Credential, *, now: datetime) -> int:
    """Take a slot for one more stream and return its id. Raises TooManyStreams."""
    # The lock of the credential makes concurrent callers count each other's.
    type(credential).objects.select_for_update(no_key=True, of=("self",)).get(pk=credential.pk)
    owner = {"key" if isinstance(credential, ApiKey) else "session": credential}
    slots = StreamSlot.objects.filter(**owner)
    slots.filter(kept_until__lte=now).delete()
    if slots.count() >= MOST_EVENT_STREAMS:
        raise TooManyStreams
    return StreamSlot.objects.create(**owner, kept_until=now + KEPT_FOR).pk


def keep_slots(slot_ids: Collection[int], *, now: datetime) -> set[int]:
    """Renew these slots, and return the ids whose session or key is still valid."""
    is_live = Q(session__ended_at=None, session__expires_at__gt=now, session__user__is_active=True)
    is_usable = (Q(key__expires_at=None) | Q(key__expires_at__gt=now)) & Q(
        key__revoked_at=None, key__user__is_active=True
    )
    valid = (Q(session__isnull=False) & is_live) | (Q(key__isnull=False) & is_usable)
    kept = set(StreamSlot.objects.filter(valid, pk__in=slot_ids).values_list("pk", flat=True))
    StreamSlot.objects.filter(pk__in=kept).update(kept_until=now + KEPT_FOR)
    return kept


def leave_slots(slot_ids: Collection[int]) -> None:
    """Free the slots of streams that have ended."""
    StreamSlot.objects.filter(pk__in=slot_ids).delete()
