"""What a user may keep and run: a limit for each resource, from the settings, and what is used.

An app says how its resource is counted by `counted_by`, and calls `require_room` before it makes
another. The lock of the user's row makes concurrent callers count each other's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.conf import settings
from django.contrib.auth import get_user_model

from apps.core.errors import Code, ServiceError

Count = Callable[[str], int]


class Resource(StrEnum):
    """Everything that is limited for each user, by its name on the wire."""

    ALGORITHMS = "algorithms"
    ACTIVE_ALGORITHMS = "activeAlgorithms"
    BACKTESTS = "backtests"
    BACKTEST_BYTES = "backtestBytes"
    WEBHOOKS = "webhooks"
    KEYS = "keys"
    EXPORTS = "exports"


class QuotaExceeded(ServiceError):
    """The user keeps as many as a user may keep."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "{used} of at most {limit} {resource} are used; make room first."


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """How much of a resource a user has, and may have."""

    resource: Resource
    limit: int
    used: int


_COUNTS: Final[dict[Resource, Count]] = {}


def counted_by(resource: Resource) -> Callable[[Count], Count]:
    """Register the function that counts what the user with an id has of a resource."""

    def register(count: Count) -> Count:
        _COUNTS[resource] = count
        return count

    return register


def require_room(user_id: str, *resources: Resource) -> None:
    """Raise QuotaExceeded where nothing is left; lock the user's row until the transaction ends."""
    users = get_user_model()._default_manager.select_for_update(no_key=True)
    users.get(pk=user_id)
    check_room(user_id, *resources)


def check_room(user_id: str, *resources: Resource) -> None:
    """As `require_room`, for a caller whose own lock makes concurrent callers wait."""
    for resource in resources:
        used, limit = _COUNTS[resource](user_id), settings.QUOTAS[resource]
        if used >= limit:
            raise QuotaExceeded(resource=resource.value, limit=limit, used=used)


def usages(user_id: str) -> Iterator[ResourceUsage]:
    """Yield what the user has of each resource."""
    for resource in Resource:
        yield ResourceUsage(resource, settings.QUOTAS[resource], _COUNTS[resource](user_id))
