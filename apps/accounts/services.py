"""Signing up, in and out."""

from datetime import datetime

from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from apps.accounts import tokens
from apps.accounts.models import EndReason, Session, User
from apps.core.errors import Code, Fault, InvalidInput, ServiceError


class EmailTaken(ServiceError):
    code = Code.CONFLICT
    message = "An account with this e-mail address exists already."


class WrongCredentials(ServiceError):
    """Says the same of an unknown address, a wrong password and a user who is switched off."""

    code = Code.UNAUTHORIZED
    message = "The e-mail address or the password is wrong."


class SessionOver(ServiceError):
    code = Code.UNAUTHORIZED
    message = "This session has ended; log in again."


class RefreshRefused(ServiceError):
    code = Code.UNAUTHORIZED
    message = "The refresh token is missing, invalid, expired or of an ended session; log in again."


def sign_up(
    *, email: str, password: str, name: str, now: datetime, address: str | None, user_agent: str
) -> tokens.Issued:
    """Register a user and open their first session."""
    _check_password(password, user=User(email=email, name=name))
    try:
        with transaction.atomic():
            user = User.objects.create_user(email=email, password=password, name=name, now=now)
            return tokens.issue(user=user, now=now, address=address, user_agent=user_agent)
    except IntegrityError:
        # The unique address is the only rule here that another request can break.
        raise EmailTaken(field="email") from None


def _check_password(password: str, *, user: User) -> None:
    """Ask the validators that the settings name."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(Fault("password", " ".join(error.messages))) from error


def log_in(
    *, email: str, password: str, now: datetime, address: str | None, user_agent: str
) -> tokens.Issued:
    """Open a session; Django hashes the password even when the address is unknown."""
    user = authenticate(email=email, password=password)
    if not isinstance(user, User):
        raise WrongCredentials
    return tokens.issue(user=user, now=now, address=address, user_agent=user_agent)


def session_of(claims: tokens.Claims, *, now: datetime) -> Session:
    """The live session that a good token names, its user loaded in the same query."""
    session = (
        Session.objects.select_related("user")
        .filter(pk=claims.session_id, user_id=claims.user_id)
        .first()
    )
    if session is None or not session.is_live(now=now):
        raise SessionOver
    return session


def refresh(*, refresh_token: str | None, now: datetime) -> str:
    """A new access token for the session that this refresh token proves."""
    try:
        session = session_of(tokens.read(refresh_token, RefreshToken), now=now)
    except (tokens.TokenRefused, SessionOver) as refusal:
        raise RefreshRefused from refusal
    Session.objects.filter(pk=session.pk).update(last_used_at=now)
    return tokens.access_token(session, now=now)


def log_out(*, access_token: str | None, refresh_token: str | None, now: datetime) -> None:
    """End each session that a good credential proves, live or not; refuse when none is good."""
    proven: list[str] = []
    refusals: list[tokens.TokenRefused] = []
    for text, kind in ((refresh_token, RefreshToken), (access_token, AccessToken)):
        try:
            proven.append(tokens.read(text, kind).session_id)
        except tokens.TokenRefused as refusal:
            refusals.append(refusal)
    if not proven:
        raise refusals[-1]  # by what the access token was
    end(Session.objects.filter(pk__in=proven), reason=EndReason.LOGOUT, now=now)


def end(sessions: QuerySet[Session], *, reason: EndReason, now: datetime) -> None:
    """End those that still live: their tokens are refused from now on."""
    sessions.filter(ended_at=None).update(ended_at=now, end_reason=reason)


def change_profile(*, user: User, name: str | None = None) -> User:
    """Change what is given of the user's own description."""
    if name is not None:
        user.name = name
        user.save(update_fields=["name"])
    return user
