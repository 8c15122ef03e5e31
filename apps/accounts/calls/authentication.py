"""The caller of a request: the session or API key behind its bearer token or its cookie."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.accounts.calls import cookies
from apps.accounts.credentials import api_keys
from apps.accounts.login import services
from apps.accounts.login.services import Credential
from apps.accounts.models import ApiKey, LoginSession, User
from apps.core import database, requests
from apps.core.errors import Forbidden, ServiceError

USER_AGENT_LENGTH: Final = 200
# Open pages ask for these again and again: an idle session still ends.
_POLLED: Final = frozenset({"/app/market"})


def bearer_token(request: HttpRequest | Request) -> str | None:
    """Return the token of the Authorization header; None with another scheme or without
    the header.
    """
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None


def origin_of(request: HttpRequest | Request) -> dict[str, Any]:
    """Return the origin of a new session, as the user's list of sessions shows it."""
    agent = request.headers.get("User-Agent", "")
    return {
        "address": requests.current_origin().address,
        "user_agent": "".join(filter(str.isprintable, agent))[:USER_AGENT_LENGTH],
    }


def caller(request: Request) -> User:
    """Return the user who makes a call that needs a token."""
    user = request.user
    assert isinstance(user, User), "this address answers calls without a token"
    return user


def operator_of(request: Request) -> User:
    """Return the operator who makes a call for operators only. Raises Forbidden."""
    user = caller(request)
    if not user.is_staff:
        raise Forbidden(reason="This call is for operators.")
    return user


def session_of_call(request: Request) -> LoginSession:
    """Return the session behind a call under /api/auth, where no key is accepted."""
    session = request.auth
    assert isinstance(session, LoginSession), "this address takes keys, or calls without a token"
    return session


@dataclass(frozen=True, slots=True)
class Caller:
    """The credential of a request, if any, or the reason why it is refused."""

    credential: Credential | None = None
    refusal: ServiceError | None = None


def identify(request: HttpRequest) -> Caller:
    """Identify the caller, once for each request; CallerAuthentication refuses bad credentials."""
    known: Caller | None = getattr(request, "caller", None)
    if known is None:
        try:
            known = Caller(credential=_credential_of(request))
            requests.proven_by(known.credential.pk if known.credential else "")
        except ServiceError as refusal:
            known = Caller(refusal=refusal)
        request.caller = known  # type: ignore[attr-defined]  # ours, for the rest of the request
    return known


def _credential_of(request: HttpRequest) -> Credential | None:
    now = database.now()
    if "Authorization" in request.headers:
        bearer = bearer_token(request)
        return services.authenticate(bearer=bearer, path=request.path, now=now) if bearer else None
    session_id = cookies.session_id_in(request)
    if not session_id:
        return None
    is_used = request.path not in _POLLED
    return services.authenticate_browser(session_id=session_id, is_used=is_used, now=now)


class CallerAuthentication(BaseAuthentication):
    """Set `request.user` to the caller and `request.auth` to the session or key that proves it."""

    def authenticate(self, request: Request) -> tuple[User, Credential] | None:
        caller = identify(request._request)
        if caller.refusal is not None:
            raise caller.refusal
        credential = caller.credential
        if credential is None:
            return None
        if isinstance(credential, ApiKey):
            api_keys.check_scope(credential.scopes, method=request.method or "", path=request.path)
        elif "Authorization" not in request.headers:
            cookies.check_csrf(request)
        return credential.user, credential

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
