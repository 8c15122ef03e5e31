"""Places of event streams: how many a session or key has at once, and which may go on.

A place is a row, because the streams of a session may be served by several processes. Whoever
serves a stream keeps its place; that of a process that was lost is free after KEPT_FOR.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import ApiKey, StreamPlace
from apps.accounts.services import Credential
from apps.core.errors import Code, ServiceError

MOST_STREAMS: Final = 4
KEPT_FOR: Final = timedelta(seconds=15)


class TooManyStreams(ServiceError):
    code = Code.TOO_MANY_REQUESTS
    message = "This session or key has {limit} event streams already; close one of them first."

    def __init__(self) -> None:
        super().__init__(
            reason="too_many_streams",
            limit=MOST_STREAMS,
            retryAfter=round(KEPT_FOR.total_seconds()),
        )


@transaction.atomic
def take_place(credential: Credential, *, now: datetime) -> int:
    """Take a place for one more stream and return its id. Raises TooManyStreams."""
    # The lock of the credential makes concurrent callers count each other's.
    type(credential).objects.select_for_update(no_key=True, of=("self",)).get(pk=credential.pk)
    owner = {"key" if isinstance(credential, ApiKey) else "session": credential}
    places = StreamPlace.objects.filter(**owner)
    places.filter(kept_until__lte=now).delete()
    if places.count() >= MOST_STREAMS:
        raise TooManyStreams
    return StreamPlace.objects.create(**owner, kept_until=now + KEPT_FOR).pk


def keep_places(place_ids: Collection[int], *, now: datetime) -> set[int]:
    """Keep these places and return those whose session or key is still valid."""
    is_live = Q(session__ended_at=None, session__expires_at__gt=now, session__user__is_active=True)
    is_usable = (Q(key__expires_at=None) | Q(key__expires_at__gt=now)) & Q(
        key__revoked_at=None, key__user__is_active=True
    )
    valid = (Q(session__isnull=False) & is_live) | (Q(key__isnull=False) & is_usable)
    kept = set(StreamPlace.objects.filter(valid, pk__in=place_ids).values_list("pk", flat=True))
    StreamPlace.objects.filter(pk__in=kept).update(kept_until=now + KEPT_FOR)
    return kept


def leave_places(place_ids: Collection[int]) -> None:
    """Free the places of streams that have ended."""
    StreamPlace.objects.filter(pk__in=place_ids).delete()
