"""Limits on wrong passwords, which stop attackers and not the owner.

Failures are counted for each account and network, for each network, and for each account from
anywhere. After too many from anywhere, only networks from which the owner has logged in lately may
try. So a stranger cannot lock the owner out, and more networks give no more guesses. A known device
of the account (`devices`) has a counter of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.conf import settings

from apps.accounts.credentials import email_addresses
from apps.accounts.models import LoginNetwork, User
from apps.core import limits, requests
from apps.core.audit import Action
from apps.core.limits import RateLimitScope
from apps.core.models import AuditRecord
from apps.core.requests import provider_network_of

# Failures from one network, over all accounts: an office or a mobile provider has many customers.
NETWORK_RATE: Final = "100/15m"
# For so long after its last login a network is known.
KNOWN_FOR: Final = timedelta(days=30)
# The window for counting failures.
WINDOW: Final = timedelta(minutes=15)
_FAILURES: Final = (Action.LOGIN_FAILED, Action.ADMIN_LOGIN_FAILED, Action.PASSWORD_REJECTED)


class AuthRealm(StrEnum):
    """A realm in which passwords are tried, with separate counters."""

    API = "login"
    ADMIN = "admin-login"


class NotAFailure(Exception):  # it marks an attempt, and is not an error itself
    """Mixed into errors that mean the password was right, so the attempt is not counted as a
    failure.
    """


def current_network() -> str:
    """Return the network of the request's client."""
    return provider_network_of(requests.current_origin().address or "unknown")


@contextmanager
def count_failure(
    *, email: str, realm: AuthRealm, now: datetime, device: str | None = None
) -> Iterator[None]:
    """Count the attempt made inside as a failure, unless it succeeds or raises NotAFailure.

    `device` is the id of the browser if it is a known device of the account.

    Raises TooManyRequests, LimiterDown.
    """
    rate = settings.RATE_LIMITS["failures"]
    if not rate:
        yield
        return
    account, network = email_addresses.normalize_address(email), current_network()
    from_network = _scope(realm, "network", NETWORK_RATE, network)
    if device is not None:
        scopes = [from_network, _scope(realm, "device", rate, device)]
        _count_all(scopes)
    else:
        in_network = _scope(realm, "account-network", rate, f"{account} {network}")
        from_anywhere = _scope(realm, "account", rate, account)
        scopes = [from_network, in_network, from_anywhere]
        _count_all([from_network, in_network])
        usage = limits.count_attempt(from_anywhere)
        if usage is not None and usage.exceeded and not _is_known(network, account, now=now):
            limits.refuse_exceeded(usage)
    try:
        yield
    except NotAFailure:
        _count_successes(scopes)
        raise
    _count_successes(scopes)


def _count_all(scopes: list[RateLimitScope]) -> None:
    """Count an attempt in each scope until the limit of one is exceeded.

    Raises TooManyRequests, LimiterDown.
    """
    for scope in scopes:
        limits.refuse_exceeded(limits.count_attempt(scope))


def _scope(realm: AuthRealm, counted: str, rate: str, key: str) -> RateLimitScope:
    return RateLimitScope(f"{realm}-failures-{counted}", rate, key, fails_open=False)


def _count_successes(scopes: list[RateLimitScope]) -> None:
    for scope in scopes:
        limits.count_success(scope)


def forget_failures(user: User, *, now: datetime) -> None:
    """Forget the failures of an account: from anywhere, and from networks with recent failures.

    The counters of networks over all accounts stay. Raises LimiterDown.
    """
    rate = settings.RATE_LIMITS["failures"]
    if not rate:
        return
    failed = AuditRecord.objects.filter(action__in=_FAILURES, object_type="user", object_id=user.pk)
    addresses = failed.filter(at__gt=now - WINDOW).values_list("address", flat=True)
    keys = {f"{user.email} {provider_network_of(address)}" for address in addresses}
    for realm in AuthRealm:
        limits.forget_counts(_scope(realm, "account", rate, user.email))
        for key in keys:
            limits.forget_counts(_scope(realm, "account-network", rate, key))


def _is_known(network: str, account: str, *, now: datetime) -> bool:
    known = LoginNetwork.objects.filter(user__email=account, network=network)
    return known.filter(last_login_at__gte=now - KNOWN_FOR).exists()


def record_login(user: User, *, now: datetime) -> bool:
    """Remember the network of a login; return whether the user has logged in from it before."""
    network = current_network()
    is_known = user.networks.filter(network=network).exists()
    LoginNetwork.objects.bulk_create(
        [LoginNetwork(user=user, network=network, last_login_at=now)],
        update_conflicts=True,
        unique_fields=["user", "network"],
        update_fields=["last_login_at"],
    )
    return is_known
