"""How often a client may call: one bucket for each request, the most specific.

Windows are django-ratelimit's: fixed, and beginning at another moment for each key.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import caches
from django.db import DatabaseError
from django.utils import timezone
from django_ratelimit import core as ratelimit

from apps.core import audit
from apps.core.client_address import network_of
from apps.core.errors import Code, ServiceError
from apps.core.ids import is_id

log = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Final = 5

UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Polled by whatever monitors the service; never limited."""
FAILURES: Final = "login-failures"
BEFORE_A_HASH: Final[Mapping[str, str]] = {
    "/api/auth/signup": "signup",
    "/api/auth/login": "login",
    "/api/auth/password": "password",
}
"""Each has a bucket of its own: a password is hashed only after it has spoken."""


class TooManyRequests(ServiceError):
    """The window's requests are used up."""

    code = Code.TOO_MANY_REQUESTS
    message = "Too many requests; try again in {retryAfter} seconds."


class LimiterDown(ServiceError):
    """What guards passwords does not open when it cannot count."""

    code = Code.SERVICE_UNAVAILABLE
    message = "The service cannot count requests just now; please try again."


@dataclass(frozen=True, slots=True)
class Bucket:
    """`rate` as django-ratelimit writes it, such as 5/15m; `key`: whose requests are counted."""

    name: str
    rate: str
    key: str
    fails_open: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a bucket is used; `seconds` until its window is over, at least 1; `counter` is
    the name under which this window is counted.
    """

    limit: int
    count: int
    seconds: int
    counter: str

    @property
    def exceeded(self) -> bool:
        return self.count > self.limit

    def headers(self, *, now: float) -> dict[str, str]:
        shown = {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self.count)),
            "X-RateLimit-Reset": str(int(now) + self.seconds),
        }
        return shown | ({"Retry-After": str(self.seconds)} if self.exceeded else {})


def bucket_of(method: str, path: str, *, user_id: str | None, address: str) -> Bucket | None:
    """The bucket that this request counts in; None where that limit is off."""
    name, setting, key = _place(method, path, user_id, network_of(address))
    rate = settings.RATE_LIMITS[setting]
    return Bucket(name, rate, key, fails_open=setting != "auth") if rate else None


def _place(method: str, path: str, user_id: str | None, address: str) -> tuple[str, str, str]:
    """The bucket's name, the setting of its rate, and the key."""
    if method == "POST" and path in BEFORE_A_HASH:
        return BEFORE_A_HASH[path], "auth", address
    if user_id and method in UNSAFE:
        if path.startswith(("/api/trading/", "/api/webhooks")):
            return "trading", "trading", user_id
        if path.startswith("/api/backtests") and method != "PUT":
            return "backtests", "backtests", user_id
    return "general", "general", user_id or address


def admin_login(address: str) -> Bucket | None:
    """Passwords tried at the admin's door from one address; None where limits are off."""
    rate = settings.RATE_LIMITS["auth"]
    return Bucket("admin-login", rate, network_of(address), fails_open=False) if rate else None


def count_page(path: str, *, address: str) -> Usage | None:
    """Count a request outside of /api; None for a probe and where nothing is counted.

    A window that is used up stays so until its end, so this process then refuses from its own
    memory: a flood costs the database one statement for each request that the limit lets through,
    and a single one beyond.
    """
    rate = settings.RATE_LIMITS["pages"]
    if path in PROBES or not rate:
        return None
    bucket = Bucket("pages", rate, network_of(address))
    limit, period = ratelimit._split_rate(rate)
    name, end = _window(bucket, period)
    seconds = _seconds_until(end)
    if caches["process"].get(name):
        return Usage(limit, limit + 1, seconds, counter=name)
    usage = count(bucket)
    if usage is not None and usage.exceeded:
        caches["process"].set(usage.counter, True, usage.seconds)
    return usage


def failures(email: str) -> Bucket | None:
    """Wrong passwords for one account, wherever they come from; None where limits are off."""
    rate = settings.RATE_LIMITS["failures"]
    return Bucket(FAILURES, rate, email, fails_open=False) if rate else None


def count(bucket: Bucket) -> Usage | None:
    """Count one more; None when the counters cannot be reached and the bucket fails open.

    Raises LimiterDown.
    """
    try:
        usage = _counted(bucket)
        if usage.count == usage.limit + 1:
            _put_on_record(bucket, now=timezone.now())
        return usage
    except (DatabaseError, OSError) as error:
        log.error("requests cannot be counted: %s", error)
        if bucket.fails_open:
            return None
        raise LimiterDown(retryAfter=RETRY_AFTER_SECONDS) from error


def _counted(bucket: Bucket) -> Usage:
    """In one trip to the counters, where django-ratelimit's own `get_usage` makes two."""
    limit, period = ratelimit._split_rate(bucket.rate)
    name, end = _window(bucket, period)
    count = caches["default"].hit(name, period + ratelimit.EXPIRATION_FUDGE)  # type: ignore[attr-defined]
    return Usage(limit, count, _seconds_until(end), counter=name)


def _seconds_until(end: int) -> int:
    """At least 1."""
    return max(0, end - int(time.time())) + 1


def _window(bucket: Bucket, period: int) -> tuple[str, int]:
    """(the name of the counter of the current window, when the window ends): django-ratelimit's."""
    end = ratelimit._get_window(bucket.key, period)
    name = ratelimit._make_cache_key(bucket.name, end, bucket.rate, bucket.key, ratelimit.ALL)
    return name, end


def _put_on_record(bucket: Bucket, *, now: datetime) -> None:
    """Once for each window that is used up, by the first request that is too much.

    Of the key only a user's id is named: an address is on record anyway, and as an e-mail address
    anything may have been typed.
    """
    by_user = is_id(bucket.key) and bucket.name != FAILURES
    actor = audit.Actor(audit.Kind.USER, bucket.key) if by_user else audit.STRANGER
    action = audit.Action.LIMIT_HIT
    audit.record(action, None, actor=actor, now=now, bucket=bucket.name, rate=bucket.rate)


def refuse_exceeded(usage: Usage | None) -> None:
    """Raises TooManyRequests; None, where nothing was counted, passes."""
    if usage is not None and usage.exceeded:
        raise TooManyRequests(retryAfter=usage.seconds, limit=usage.limit)


@contextmanager
def failures_counted(bucket: Bucket | None) -> Iterator[None]:
    """Count what is done inside, and take it back when it does not fail.

    Counted first, so that of failures at the same moment no more pass than the limit. Raises
    TooManyRequests, LimiterDown.
    """
    usage = count(bucket) if bucket else None
    if usage is None or bucket is None:
        yield
        return
    refuse_exceeded(usage)
    yield
    # Its window may have ended meanwhile, and with it the count.
    with suppress(ValueError):
        caches["default"].decr(usage.counter)
