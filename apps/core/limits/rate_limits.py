"""Rate limits: each request counts in one scope, the most specific. django-ratelimit counts in
fixed windows, which start at a different time for each key.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import caches
from django.db import DatabaseError
from django.utils import timezone
from django_ratelimit.core import get_usage

from apps.core import audit
from apps.core.database.ids import is_id
from apps.core.errors import Code, ServiceError
from apps.core.requests.addresses import network_of

log = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Final = 5

UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# Monitoring systems poll these; they are never limited.
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
# Each is a scope of its own, counted before a password is hashed.
BEFORE_A_HASH: Final[Mapping[str, str]] = {
    "/api/auth/signup": "signup",
    "/api/auth/login": "login",
    "/api/auth/password": "password",
    "/api/auth/password-reset": "password-reset",
    "/api/auth/proof": "proof",
    "/api/auth/two-factor/confirm": "two-factor",
}


class TooManyRequests(ServiceError):
    """The window's requests are used up."""

    code = Code.TOO_MANY_REQUESTS
    message = "Too many requests; try again in {retryAfter} seconds."


class LimiterDown(ServiceError):
    """The counters cannot be reached, so no password is tried."""

    code = Code.SERVICE_UNAVAILABLE
    message = "The service cannot count requests just now; please try again."


@dataclass(frozen=True, slots=True)
class RateLimitScope:
    """Requests that are counted together: of one client (`key`) and one kind (`name`), with their
    limit. `rate` has django-ratelimit's form, such as 5/15m. When the counters cannot be reached,
    requests pass if `fails_open`.
    """

    name: str
    rate: str
    key: str
    fails_open: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """The used requests of a window. The next window begins at `ends_at`, in epoch seconds."""

    limit: int
    count: int
    ends_at: int

    @property
    def exceeded(self) -> bool:
        return self.count > self.limit

    @property
    def seconds_left(self) -> int:
        return max(1, self.ends_at - int(time.time()))

    def headers(self) -> dict[str, str]:
        headers = {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self.count)),
            "X-RateLimit-Reset": str(self.ends_at),
        }
        return headers | ({"Retry-After": str(self.seconds_left)} if self.exceeded else {})


def scope_of(method: str, path: str, *, user_id: str | None, address: str) -> RateLimitScope | None:
    """Return the scope of a request, or None if its limit is off."""
    name, setting, key = _scope_of(method, path, user_id, network_of(address))
    rate = settings.RATE_LIMITS[setting]
    return RateLimitScope(name, rate, key, fails_open=setting != "auth") if rate else None


def _scope_of(method: str, path: str, user_id: str | None, address: str) -> tuple[str, str, str]:
    """Return the scope's name, the setting of its rate, and the key."""
    if method == "POST" and path in BEFORE_A_HASH:
        return BEFORE_A_HASH[path], "auth", address
    if user_id and method in UNSAFE:
        if path.startswith(("/api/trading/", "/api/webhooks")):
            return "trading", "trading", user_id
        if path.startswith("/api/backtests") and method != "PUT":
            return "backtests", "backtests", user_id
    return "general", "general", user_id or address


def alert_scope(secret_digest: str) -> RateLimitScope | None:
    """Return the scope of messages to one alert hook, known or not, or None where limits are
    off.
    """
    rate = settings.RATE_LIMITS["alerts"]
    return RateLimitScope("alerts", rate, secret_digest) if rate else None


def admin_login_scope(address: str) -> RateLimitScope | None:
    """Return the scope of logins to the admin from one address, or None where limits are off."""
    rate = settings.RATE_LIMITS["auth"]
    if not rate:
        return None
    return RateLimitScope("admin-login", rate, network_of(address), fails_open=False)


def count_page(path: str, *, address: str) -> Usage | None:
    """Count a request outside of /api; return None for a probe and while limits are off.

    This process remembers a used-up window until it ends: a flood then costs the counters one query
    for each allowed request, and one more.
    """
    rate = settings.RATE_LIMITS["pages"]
    if path in PROBES or not rate:
        return None
    network = network_of(address)
    remembered = f"pages:{rate}:{network}"
    exceeded: Usage | None = caches["process"].get(remembered)
    if exceeded is not None and exceeded.ends_at > time.time():
        return exceeded
    usage = count_request(RateLimitScope("pages", rate, network))
    if usage is not None and usage.exceeded:
        caches["process"].set(remembered, usage, usage.seconds_left)
    return usage


def count_request(scope: RateLimitScope) -> Usage | None:
    """Count a request; return None when the counters cannot be reached and the scope fails open.

    Raises LimiterDown.
    """
    return _count(scope, _usage_of)


def count_attempt(scope: RateLimitScope) -> Usage | None:
    """Count an attempt as a failure until `count_success`; otherwise like `count_request`.

    Successes are read first: each of several concurrent attempts then sees all attempts before it,
    so no more than the limit can fail.
    """

    def failures(scope: RateLimitScope) -> Usage:
        successes = _usage_of(_successes(scope), increment=False)
        attempts = _usage_of(scope)
        if attempts.ends_at - successes.ends_at > 1:  # a window began in between
            return attempts
        return replace(attempts, count=attempts.count - successes.count)

    return _count(scope, failures)


def count_success(scope: RateLimitScope) -> None:
    """Count an attempt as a success, so it is no longer a failure."""
    _usage_of(_successes(scope))


def forget_counts(scope: RateLimitScope) -> None:
    """Reset the failures. Raises LimiterDown."""
    try:
        successes = _usage_of(_successes(scope), increment=False)
        attempts = _usage_of(scope, increment=False)
        for _ in range(attempts.count - successes.count):
            count_success(scope)
    except (DatabaseError, OSError) as error:
        raise LimiterDown(retryAfter=RETRY_AFTER_SECONDS) from error


def _count(scope: RateLimitScope, usage_of: Callable[[RateLimitScope], Usage]) -> Usage | None:
    try:
        usage = usage_of(scope)
        if usage.count == usage.limit + 1:
            _record_limit_hit(scope, now=timezone.now())
        return usage
    except (DatabaseError, OSError) as error:
        log.error("requests cannot be counted: %s", error)
        if scope.fails_open:
            return None
        raise LimiterDown(retryAfter=RETRY_AFTER_SECONDS) from error


def _usage_of(scope: RateLimitScope, *, increment: bool = True) -> Usage:
    """Raises ConnectionError, DatabaseError."""
    for _ in range(2):
        usage = get_usage(
            None,  # the scope has its key; django-ratelimit reads no request
            group=scope.name,
            key=lambda group, request: scope.key,
            rate=scope.rate,
            increment=increment,
        )
        if usage["limit"]:
            break
        # django-ratelimit's answer when a counter is lost while it counts: a new one is made.
    else:
        raise ConnectionError(f"the counter of {scope.name} is lost")
    window_end = int(time.time()) + usage["time_left"]
    return Usage(usage["limit"], usage["count"], window_end + 1)


def _successes(scope: RateLimitScope) -> RateLimitScope:
    return replace(scope, name=f"{scope.name}-successes")


def _record_limit_hit(scope: RateLimitScope, *, now: datetime) -> None:
    """Record the first request over the limit of a window in the audit record.

    Only a user's id is recorded as key. An address is on record anyway. Scopes that fail closed
    count under an e-mail address, where a client may have typed anything.
    """
    by_user = is_id(scope.key) and scope.fails_open
    actor = audit.Actor(audit.ActorKind.USER, scope.key) if by_user else audit.STRANGER
    action = audit.Action.LIMIT_HIT
    audit.record(action, None, actor=actor, now=now, bucket=scope.name, rate=scope.rate)


def refuse_exceeded(usage: Usage | None) -> None:
    """Raise TooManyRequests if the limit is exceeded; do nothing with None."""
    if usage is not None and usage.exceeded:
        raise TooManyRequests(retryAfter=usage.seconds_left, limit=usage.limit)
