"""Limits: how often a client may call, how many mails leave, how much a user may keep."""

from apps.core.limits.mail_limits import count_mail
from apps.core.limits.quotas import (
    QuotaExceeded,
    Resource,
    check_room,
    counted_by,
    require_room,
    usages,
)
from apps.core.limits.rate_limits import (
    PROBES,
    LimiterDown,
    RateLimitScope,
    TooManyRequests,
    Usage,
    count_attempt,
    count_page,
    refuse_exceeded,
    scope_of,
)
from apps.core.limits.rate_limits import admin_login as admin_login_scope
from apps.core.limits.rate_limits import count as count_request
from apps.core.limits.rate_limits import forget as forget_failures
from apps.core.limits.rate_limits import forgive as forgive_failure

__all__ = [
    "PROBES",
    "LimiterDown",
    "QuotaExceeded",
    "RateLimitScope",
    "Resource",
    "TooManyRequests",
    "Usage",
    "admin_login_scope",
    "check_room",
    "count_attempt",
    "count_mail",
    "count_page",
    "count_request",
    "counted_by",
    "forget_failures",
    "forgive_failure",
    "refuse_exceeded",
    "require_room",
    "scope_of",
    "usages",
]
