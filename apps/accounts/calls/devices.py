"""Browsers that have signed in at /app: strangers' wrong guesses do not lock them out.

The cookie is signed. It names the account and a fingerprint of its password, so it is void for
another account and after a change of password. It only selects the counter of wrong passwords, and
proves nothing else.
"""

import secrets
from datetime import timedelta
from typing import Final

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from apps.accounts.credentials import email_addresses
from apps.accounts.models import User

_COOKIE: Final = "device"
_PATH: Final = "/app"
_LIFETIME: Final = timedelta(days=180)
_SALT: Final = "accounts.device"


def remember_device(response: HttpResponse, user: User) -> None:
    """Make the browser a known device of the user, under a new id."""
    content = {"id": secrets.token_hex(8), "user": user.pk, "password": _fingerprint(user)}
    response.set_cookie(
        _COOKIE,
        signing.dumps(content, salt=_SALT),
        max_age=_LIFETIME,
        path=_PATH,
        secure=True,
        httponly=True,
        samesite="Strict",
    )


def device_of(request: HttpRequest, *, email: str) -> str | None:
    """Return the id of the browser if it is a known device of the account with this address."""
    try:
        content = signing.loads(request.COOKIES.get(_COOKIE, ""), salt=_SALT, max_age=_LIFETIME)
    except signing.BadSignature:
        return None
    user = User.objects.filter(
        pk=content["user"], email=email_addresses.normalize_address(email)
    ).first()
    if user is None or not constant_time_compare(content["password"], _fingerprint(user)):
        return None
    return str(content["id"])


def _fingerprint(user: User) -> str:
    return salted_hmac(_SALT, user.password).hexdigest()
