"""Whose call this is: the bearer token, and the session behind it."""

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework_simplejwt.tokens import AccessToken

from apps.accounts import services, tokens
from apps.accounts.models import Session, User


def bearer_token(request: HttpRequest | Request) -> str | None:
    """What follows `Bearer` in the Authorization header; None with any other scheme or nothing."""
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None


def caller(request: Request) -> User:
    """The user behind a call that needs a token; REST framework's type also allows for none."""
    user = request.user
    assert isinstance(user, User), "this address answers calls without a token"
    return user


class SessionTokenAuthentication(BaseAuthentication):
    """`request.user` is the session's user and `request.auth` the session, fetched in one query."""

    def authenticate(self, request: Request) -> tuple[User, Session] | None:
        token = bearer_token(request)
        if token is None:
            return None
        session = services.session_of(tokens.read(token, AccessToken), now=timezone.now())
        return session.user, session

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
