"""The two tokens of a login session: JSON Web Tokens that name session, user and token type.

The access token (15 minutes) goes with each call; the refresh token (7 days) only fetches new
access tokens. Neither is stored. A token is valid while its signature, its time and its session
are. The row of a session names its one valid refresh token.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeGuard

from django.conf import settings
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import ExpiredTokenError, TokenError
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken, Token

from apps.accounts.models import LoginSession, User
from apps.core import database
from apps.core.database import is_id
from apps.core.errors import Code, ServiceError

ACCESS_LIFETIME: Final[timedelta] = api_settings.ACCESS_TOKEN_LIFETIME
REFRESH_LIFETIME: Final[timedelta] = api_settings.REFRESH_TOKEN_LIFETIME
_ID: Final = "jti"
_SESSION: Final = "sid"
_USER: Final = "sub"

TokenType = type[AccessToken] | type[RefreshToken]


class TokenRejected(ServiceError):
    """No valid token was sent; subclasses give the reason."""


class NoToken(TokenRejected):
    code = Code.UNAUTHORIZED
    message = "This call needs an access token: send Authorization: Bearer <access token>."


class InvalidToken(TokenRejected):
    code = Code.INVALID_TOKEN
    message = "The token is invalid: damaged, of the wrong kind, or not from this service."


class TokenExpired(TokenRejected):
    code = Code.TOKEN_EXPIRED
    message = "The token has expired; fetch a new access token."


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a valid token."""

    session_id: str
    user_id: str
    token_id: str


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """A new session and the two tokens that prove it."""

    session: LoginSession
    access: str
    refresh: str


def issue(*, user: User, now: datetime, address: str | None, user_agent: str) -> IssuedTokens:
    """Open a session for this user."""
    session = LoginSession.objects.create(
        user=user,
        created_at=now,
        last_used_at=now,
        expires_at=now + REFRESH_LIFETIME,
        rotated_at=now,
        proved_at=now,
        address=address,
        user_agent=user_agent,
    )
    return IssuedTokens(
        session=session,
        access=access_token(session, now=now),
        refresh=refresh_token(session),
    )


def access_token(session: LoginSession, *, now: datetime) -> str:
    """Return a new access token."""
    token = AccessToken()
    token.set_exp(from_time=now)
    return _encode(token, session, issued_at=now)


def refresh_token(session: LoginSession) -> str:
    """Return the session's valid refresh token, the same bytes at every call."""
    token = RefreshToken()
    token[_ID] = session.token_id
    token.set_exp(from_time=session.expires_at, lifetime=timedelta(0))
    return _encode(token, session, issued_at=session.rotated_at)


def _encode(token: Token, session: LoginSession, *, issued_at: datetime) -> str:
    token.set_iat(at_time=issued_at)
    token[_USER] = session.user_id
    token[_SESSION] = session.pk
    return str(token)


def read(text: str | None, token_type: TokenType) -> Claims:
    """Return the claims of a valid token of this type, without reading the session's row.

    Raises NoToken, InvalidToken or TokenExpired.
    """
    if text is None:
        raise NoToken
    token = _verify(text, token_type)
    if token["exp"] <= database.now().timestamp():
        raise TokenExpired
    session_id, user_id, token_id = token.get(_SESSION), token.get(_USER), token.get(_ID)
    if not (_is_id(session_id) and _is_id(user_id) and isinstance(token_id, str)):
        raise InvalidToken
    return Claims(session_id=session_id, user_id=user_id, token_id=token_id)


def _verify(text: str, token_type: TokenType) -> Token:
    """Verify signature, times and type. A token counts as expired only if the rest is valid."""
    problem: TokenError | None = None
    for known_type in (token_type, *_signed_before(token_type)):
        try:
            return known_type(text)  # type: ignore[arg-type]  # annotated as a Token, documented as text
        except ExpiredTokenError as error:
            expired = known_type(text, verify=False)  # type: ignore[arg-type]  # the signature was good
            is_of_type = expired.get(api_settings.TOKEN_TYPE_CLAIM) == token_type.token_type
            raise (TokenExpired if is_of_type else InvalidToken) from error
        except TokenError as error:
            problem = error
    raise InvalidToken from problem


def _signed_before(token_type: TokenType) -> Iterator[TokenType]:
    """Yield the type as earlier keys of the service signed it."""
    for key in settings.TOKEN_KEY_FALLBACKS:
        backend = TokenBackend(api_settings.ALGORITHM, key, leeway=api_settings.LEEWAY)
        yield type(token_type.__name__, (token_type,), {"token_backend": backend})


def _is_id(claim: object) -> TypeGuard[str]:
    return isinstance(claim, str) and is_id(claim)
