"""Quotas of a user: a limit for each resource, from the settings, and the current use.

An app registers a counting function with `counted_by`, and calls `require_room` before it creates a
resource. The lock on the user's row makes concurrent callers count each other's resources.
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
    """The resources with a limit for each user, by wire name."""

    ALGORITHMS = "algorithms"
    ACTIVE_ALGORITHMS = "activeAlgorithms"
    BACKTESTS = "backtests"
    BACKTEST_BYTES = "backtestBytes"
    WEBHOOKS = "webhooks"
    KEYS = "keys"
    EXPORTS = "exports"
    ALERT_HOOKS = "alertHooks"
    ALERT_BYTES = "alertBytes"


class QuotaExceeded(ServiceError):
    """The user has reached the limit of a resource."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "{used} of at most {limit} {resource} are used; make room first."


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """A user's limit and current use of a resource."""

    resource: Resource
    limit: int
    used: int


_COUNTS: Final[dict[Resource, Count]] = {}


def counted_by(resource: Resource) -> Callable[[Count], Count]:
    """Register the function that counts a resource of the user with an id."""

    def register(count: Count) -> Count:
        _COUNTS[resource] = count
        return count

    return register


def require_room(user_id: str, *resources: Resource) -> None:
    """Raise QuotaExceeded at the limit; lock the user's row until the transaction ends."""
    users = get_user_model()._default_manager.select_for_update(no_key=True)
    users.get(pk=user_id)
    check_room(user_id, *resources)


def check_room(user_id: str, *resources: Resource) -> None:
    """Do as `require_room`, for a caller that already holds a lock against concurrent callers."""
    for resource in resources:
        used, limit = _COUNTS[resource](user_id), settings.QUOTAS[resource]
        if used >= limit:
            raise QuotaExceeded(resource=resource.value, limit=limit, used=used)


def usages(user_id: str) -> Iterator[ResourceUsage]:
    """Yield the user's limit and use of each resource."""
    for resource in Resource:
        yield ResourceUsage(resource, settings.QUOTAS[resource], _COUNTS[resource](user_id))
