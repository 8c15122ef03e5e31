"""The two tokens of a session: JSON Web Tokens that name the session, the user and their own kind.

The access token (15 minutes) goes with each call; the refresh token (7 days) only fetches new
access tokens. Neither is stored: a token is good while its signature and its time are, and while
the session that it names lives. Which refresh token of a session is the good one stands in its row.
"""

import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeGuard

import orjson
from jwt.utils import base64url_decode, base64url_encode
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken, Token

from apps.accounts.models import Session, User
from apps.core.errors import Code, ServiceError
from apps.core.ids import is_id

ACCESS_LIFETIME: Final[timedelta] = api_settings.ACCESS_TOKEN_LIFETIME
REFRESH_LIFETIME: Final[timedelta] = api_settings.REFRESH_TOKEN_LIFETIME
_ID: Final = "jti"
_SESSION: Final = "sid"
_USER: Final = "sub"
_KIND: Final = api_settings.TOKEN_TYPE_CLAIM
_CLAIMS: Final = {_KIND, "exp", "iat", _ID, _USER, _SESSION}

_HEADER: Final = str(AccessToken()).partition(".")[0]
_KEY: Final = api_settings.SIGNING_KEY.encode()

Kind = type[AccessToken] | type[RefreshToken]


class TokenRefused(ServiceError):
    """No good token was sent; the subclasses say what was."""


class NoToken(TokenRefused):
    code = Code.UNAUTHORIZED
    message = "This call needs an access token: send Authorization: Bearer <access token>."


class InvalidToken(TokenRefused):
    code = Code.INVALID_TOKEN
    message = "The token is invalid: damaged, of the wrong kind, or not from this service."


class TokenExpired(TokenRefused):
    code = Code.TOKEN_EXPIRED
    message = "The token has expired; fetch a new access token."


@dataclass(frozen=True, slots=True)
class Claims:
    """What a good token says of itself."""

    session_id: str
    user_id: str
    token_id: str


@dataclass(frozen=True, slots=True)
class Issued:
    """A new session and the two tokens that prove it."""

    session: Session
    access: str
    refresh: str


def issue(*, user: User, now: datetime, address: str | None, user_agent: str) -> Issued:
    """Open a session for this user."""
    session = Session.objects.create(
        user=user,
        created_at=now,
        last_used_at=now,
        expires_at=now + REFRESH_LIFETIME,
        rotated_at=now,
        address=address,
        user_agent=user_agent,
    )
    return Issued(
        session=session,
        access=access_token(session, now=now),
        refresh=refresh_token(session),
    )


def access_token(session: Session, *, now: datetime) -> str:
    token = AccessToken()
    token.set_exp(from_time=now)
    return _signed(token, session, issued_at=now)


def refresh_token(session: Session) -> str:
    """The one that is good now, the same bytes at every call; it ends with the session."""
    token = RefreshToken()
    token[_ID] = session.token_id
    token.set_exp(from_time=session.expires_at, lifetime=timedelta(0))
    return _signed(token, session, issued_at=session.rotated_at)


def _signed(token: Token, session: Session, *, issued_at: datetime) -> str:
    token.set_iat(at_time=issued_at)
    token[_USER] = session.user_id
    token[_SESSION] = session.pk
    return str(token)


def read(text: str | None, kind: Kind) -> Claims:
    """The claims of a good token of this kind; raises `TokenRefused`. The session is not read."""
    if text is None:
        raise NoToken
    claims = _verified(text)
    session_id, user_id, token_id = claims[_SESSION], claims[_USER], claims[_ID]
    if claims[_KIND] != kind.token_type or not isinstance(token_id, str):
        raise InvalidToken
    _check_times(claims["iat"], claims["exp"], kind)
    if not (_is_id(session_id) and _is_id(user_id)):
        raise InvalidToken
    return Claims(session_id=session_id, user_id=user_id, token_id=token_id)


@lru_cache(maxsize=1024)
def _verified(text: str) -> Mapping[str, Any]:
    """What our signature vouches for: HMAC with SHA-256 (RFC 7515, A.1), the one algorithm that
    our own header names, so no other header is read. The library takes ten times as long.

    The signature is compared as it is spelled, as Base64 has several spellings of one. What good
    tokens say is remembered, as they never say anything else. Any: JSON.
    """
    signed, _, signature = text.rpartition(".")
    header, _, payload = signed.partition(".")
    if not (text.isascii() and header == _HEADER):
        raise InvalidToken
    if not hmac.compare_digest(signature.encode(), _signature(signed)):
        raise InvalidToken
    try:
        claims = orjson.loads(base64url_decode(payload))
    except ValueError as error:
        raise InvalidToken from error
    if not isinstance(claims, dict) or claims.keys() != _CLAIMS:
        raise InvalidToken
    return claims


def _signature(signed: str) -> bytes:
    return base64url_encode(hmac.digest(_KEY, signed.encode(), "sha256"))


def _check_times(issued: object, expires: object, kind: Kind) -> None:
    """Seconds since 1970. No token comes from the future, or lives longer than its kind does."""
    now = time.time()
    if not (isinstance(issued, int) and isinstance(expires, int)):
        raise InvalidToken
    if issued > now or expires > issued + kind.lifetime.total_seconds():
        raise InvalidToken
    if expires <= now:
        raise TokenExpired


def _is_id(claim: object) -> TypeGuard[str]:
    return isinstance(claim, str) and is_id(claim)
