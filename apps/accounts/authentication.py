"""Whose call this is: the session or the key behind its bearer token, or behind its cookie."""

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.accounts import scopes, services, session_cookie
from apps.accounts.models import ApiKey, Session, User
from apps.accounts.services import Credential


def bearer_token(request: HttpRequest | Request) -> str | None:
    """What follows `Bearer` in the Authorization header; None with any other scheme or nothing."""
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None


def caller(request: Request) -> User:
    """The user behind a call that needs a token; REST framework's type also allows for none."""
    user = request.user
    assert isinstance(user, User), "this address answers calls without a token"
    return user


def session_of_call(request: Request) -> Session:
    """The session behind a call under /api/auth, where no key is taken."""
    session = request.auth
    assert isinstance(session, Session), "this address takes keys, or calls without a token"
    return session


class CallerAuthentication(BaseAuthentication):
    """`request.user` is who calls and `request.auth` the session or key that proves it."""

    def authenticate(self, request: Request) -> tuple[User, Credential] | None:
        by_cookie = "Authorization" not in request.headers
        credential = _of_cookie(request) if by_cookie else _of_bearer(request)
        return (credential.user, credential) if credential else None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _of_bearer(request: Request) -> Credential | None:
    bearer = bearer_token(request)
    if bearer is None:
        return None
    credential = services.authenticate(bearer=bearer, path=request.path, now=timezone.now())
    if isinstance(credential, ApiKey):
        scopes.check(credential.scopes, method=request.method or "", path=request.path)
    return credential


def _of_cookie(request: Request) -> Session | None:
    session_id = session_cookie.session_id_in(request)
    if session_id is None:
        return None
    session = services.authenticate_browser(session_id=session_id, now=timezone.now())
    session_cookie.check_csrf(request)
    return session
