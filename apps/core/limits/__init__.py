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
    admin_login_scope,
    alert_scope,
    count_attempt,
    count_page,
    count_request,
    count_success,
    forget_counts,
    refuse_exceeded,
    scope_of,
)

__all__ = [
    "PROBES",
    "LimiterDown",
    "QuotaExceeded",
    "RateLimitScope",
    "Resource",
    "TooManyRequests",
    "Usage",
    "admin_login_scope",
    "alert_scope",
    "check_room",
    "count_attempt",
    "count_mail",
    "count_page",
    "count_request",
    "count_success",
    "counted_by",
    "forget_counts",
    "refuse_exceeded",
    "require_room",
    "scope_of",
    "usages",
]
