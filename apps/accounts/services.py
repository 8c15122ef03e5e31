"""Signing up, in and out; one's password, sessions and keys; whose call it is."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from django.contrib import auth
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from apps.accounts import addresses, keys, scopes, tokens
from apps.accounts.models import (
    ApiKey,
    LoginSession,
    SessionEnded,
    SessionEndReason,
    User,
    new_token_id,
)
from apps.core import audit, jobs
from apps.core.audit import Action
from apps.core.errors import Code, Fault, InvalidInput, NotFound, ServiceError
from apps.core.ids import is_id
from apps.core.times import wire_time

log = logging.getLogger(__name__)

MOST_SESSIONS: Final = 20
"""Live ones of one user; one more ends the oldest."""
MOST_KEYS: Final = 20
"""Usable ones of one user."""
ROTATED_AFTER: Final = timedelta(hours=1)
"""A refresh token that is older is replaced when it is used."""
GRACE: Final = timedelta(seconds=60)
"""So long the one it replaced still leads to it: answers get lost, and tabs refresh at once."""
SEEN_EVERY: Final = timedelta(minutes=1)
"""`last_used_at` is that exact: more would cost every call a write."""

DEACTIVATE_JOB: Final = "accounts.shut_out"
DEACTIVATE_QUEUE: Final = "small"

ACTION_OF: Final = {
    SessionEndReason.LOGOUT: Action.LOGOUT,
    SessionEndReason.REUSE: Action.SESSION_REUSED,
}
"""What the end of a session is on record as, where it is not simply one."""

Credential: TypeAlias = LoginSession | ApiKey
"""What proves whose call it is; `.user` comes with it."""


class EmailTaken(ServiceError):
    code = Code.CONFLICT
    message = "An account with this e-mail address exists already."


class WrongCredentials(ServiceError):
    """Says the same of an unknown address, a wrong password and a user who is switched off."""

    code = Code.UNAUTHORIZED
    message = "The e-mail address or the password is wrong."


class KeyRejected(ServiceError):
    code = Code.UNAUTHORIZED
    message = "This API key is no longer accepted."


class TooManyKeys(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "There are {limit} API keys already; revoke one that is not needed."


class RefreshRefused(ServiceError):
    code = Code.UNAUTHORIZED
    message = "The refresh token is missing, invalid, expired or of an ended session; log in again."


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a refresh gives: an access token and, now and then, the next refresh token."""

    session: LoginSession
    access: str
    refresh: str | None


# -------------------------------------------------------------------------------- in and out


def sign_up(
    *, email: str, password: str, name: str, now: datetime, address: str | None, user_agent: str
) -> tokens.Issued:
    """Register a user and open their first session."""
    _check_password(password, user=User(email=email, name=name), field="password")
    try:
        with transaction.atomic():
            user = User.objects.create_user(email=email, password=password, name=name, now=now)
            audit.record(Action.SIGNUP, user, actor=audit.user(user), now=now)
            return tokens.issue(user=user, now=now, address=address, user_agent=user_agent)
    except IntegrityError:
        # The unique address is the only rule here that another request can break.
        raise EmailTaken(field="email") from None


def _check_password(password: str, *, user: User, field: str) -> None:
    """Ask the validators that the settings name."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(Fault(field, " ".join(error.messages))) from error


def log_in(
    *, email: str, password: str, now: datetime, address: str | None, user_agent: str
) -> tokens.Issued:
    """Open a session; Django hashes the password once, also when the address is unknown."""
    user = auth.authenticate(email=email, password=password)
    if not isinstance(user, User):
        # Not what was typed as the address of nobody: people type passwords there.
        tried = User.objects.filter(email=addresses.folded(email)).first()
        audit.record(Action.LOGIN_FAILED, tried, actor=audit.STRANGER, now=now)
        raise WrongCredentials
    with transaction.atomic():
        _still_the_same(user)
        issued = tokens.issue(user=user, now=now, address=address, user_agent=user_agent)
        _end_surplus(issued.session, now=now)
        audit.record(Action.LOGIN, issued.session, actor=audit.user(user), now=now)
    return issued


def _still_the_same(user: User) -> None:
    """Lock the user's row, so that no other login goes uncounted, and see that nobody has changed
    the password or switched the user off since the hash was compared: that ends all sessions, but
    this one would come after.
    """
    row = User.objects.locked(user.pk)
    if row is None or row.password != user.password or not row.is_active:
        raise WrongCredentials


def _end_surplus(newest: LoginSession, *, now: datetime) -> None:
    others = [pk for pk in LoginSession.live_ones(newest.user_id, now=now) if pk != newest.pk]
    if surplus := others[MOST_SESSIONS - 1 :]:
        end(LoginSession.objects.filter(pk__in=surplus), reason=SessionEndReason.LIMIT, now=now)


def refresh(*, refresh_token: str | None, now: datetime) -> Renewal:
    """A new access token for the session that this refresh token proves.

    However many calls bring a token that is due at once, one of them replaces it, by one
    conditional UPDATE; all of them then read the same successor from the row.
    """
    try:
        claims = tokens.read(refresh_token, RefreshToken)
        session = session_of(claims, now=now)
        if claims.token_id == session.token_id and now - session.rotated_at > ROTATED_AFTER:
            _rotate(session, now=now)
            session = session_of(claims, now=now)
    except (tokens.TokenRejected, SessionEnded) as refusal:
        raise RefreshRefused from refusal
    _refuse_reuse(session, claims, now=now)
    _note_use(session, now=now)
    is_current = claims.token_id == session.token_id
    return Renewal(
        session=session,
        access=tokens.access_token(session, now=now),
        refresh=None if is_current else tokens.refresh_token(session),
    )


def _rotate(session: LoginSession, *, now: datetime) -> None:
    """Does nothing when another call has done it first."""
    LoginSession.objects.live(now=now).filter(pk=session.pk, token_id=session.token_id).update(
        token_id=new_token_id(), previous_token_id=session.token_id, rotated_at=now
    )


def _refuse_reuse(session: LoginSession, claims: tokens.Claims, *, now: datetime) -> None:
    """A token that was replaced, and is back for more than its grace, is in two hands; as nobody
    can say which are the thief's, the session ends for both.
    """
    if claims.token_id == session.token_id:
        return
    if claims.token_id == session.previous_token_id and now - session.rotated_at <= GRACE:
        return
    log.warning("an old refresh token of session %s came back: the session is ended", session.pk)
    mine = LoginSession.objects.filter(pk=session.pk)
    end(mine, reason=SessionEndReason.REUSE, now=now, by=audit.SYSTEM)
    raise RefreshRefused


def log_out(
    *,
    access_token: str | None,
    refresh_token: str | None,
    browser_session: str | None,
    now: datetime,
) -> None:
    """End each session that a good credential proves, live or not; refuse when none is good.

    `browser_session` is the id of the session that a session cookie has proved already.
    """
    proven = [browser_session] if browser_session else []
    refusals: list[tokens.TokenRejected] = []
    for text, kind in ((refresh_token, RefreshToken), (access_token, AccessToken)):
        try:
            proven.append(tokens.read(text, kind).session_id)
        except tokens.TokenRejected as refusal:
            refusals.append(refusal)
    if not proven:
        raise refusals[-1]  # by what the access token was
    end(LoginSession.objects.filter(pk__in=proven), reason=SessionEndReason.LOGOUT, now=now)


# ----------------------------------------------------------------------------- whose call it is


def authenticate(*, bearer: str, path: str, now: datetime) -> Credential:
    """The session or key that this bearer token stands for, with its user, in one query.

    Raises `TokenRejected`, SessionEnded or KeyRejected. What a key may do is not asked here.
    """
    if not keys.is_key(bearer):
        session = session_of(tokens.read(bearer, AccessToken), now=now)
        _note_use(session, now=now)
        return session
    if not scopes.takes_keys(path):
        raise tokens.InvalidToken
    key = ApiKey.objects.select_related("user").filter(digest=keys.digest_of(bearer)).first()
    if key is None:
        raise tokens.InvalidToken
    if key.is_expired(now=now):
        raise tokens.TokenExpired
    if key.revoked_at is not None or not key.user.is_active:
        raise KeyRejected
    _note_use(key, now=now)
    return key


def authenticate_browser(*, session_id: str, now: datetime) -> LoginSession:
    """The live session of this id, which a session cookie has proved."""
    session = LoginSession.fetch(session_id, now=now)
    _note_use(session, now=now)
    return session


def session_of(claims: tokens.Claims, *, now: datetime) -> LoginSession:
    """The live session that a good token names, its user loaded in the same query."""
    session = LoginSession.fetch(claims.session_id, now=now)
    if session.user_id != claims.user_id:
        raise SessionEnded
    return session


def _note_use(credential: Credential, *, now: datetime) -> None:
    """Of the calls of one minute one writes; those that come at the same moment find it done."""
    seen = credential.last_used_at
    if seen is None or now - seen >= SEEN_EVERY:
        rows = type(credential).objects.filter(pk=credential.pk)
        rows.exclude(last_used_at__gt=now - SEEN_EVERY).update(last_used_at=now)


# ------------------------------------------------------------------------------ one's own account


@transaction.atomic
def change_profile(*, user: User, name: str | None = None, now: datetime) -> User:
    """Change what is given of the user's own description."""
    if name is not None:
        before, user.name = user.name, name
        user.save(update_fields=["name"])
        actor = audit.user(user)
        audit.record(Action.PROFILE_CHANGED, user, actor=actor, now=now, name=[before, name])
    return user


@transaction.atomic
def change_password(
    *, user: User, session: LoginSession, current_password: str, new_password: str, now: datetime
) -> None:
    """Every session but this one ends; keys stay. Raises InvalidInput."""
    if not user.check_password(current_password):
        raise _wrong_current_password()
    _check_password(new_password, user=user, field="newPassword")
    # Of two changes at once, only one finds the password that it has checked.
    unchanged = User.objects.filter(pk=user.pk, password=user.password)
    if not unchanged.update(password=make_password(new_password)):
        raise _wrong_current_password()
    audit.record(Action.PASSWORD_CHANGED, user, actor=audit.user(user), now=now)
    end(user.sessions.exclude(pk=session.pk), reason=SessionEndReason.PASSWORD, now=now)


def _wrong_current_password() -> InvalidInput:
    return InvalidInput(Fault("currentPassword", "is not your password"))


def sessions_of(user: User, *, now: datetime) -> QuerySet[LoginSession]:
    """The live ones, the newest first."""
    return user.sessions.live(now=now).order_by("-created_at", "-pk")


def end_session(*, user: User, session_id: str, now: datetime) -> None:
    """Raises NotFound when this is no live session of the user."""
    chosen = user.sessions.live(now=now).filter(pk=session_id if is_id(session_id) else None)
    if not end(chosen, reason=SessionEndReason.REVOKED, now=now):
        raise NotFound


def end_all_sessions(*, user: User, now: datetime) -> None:
    end(user.sessions.all(), reason=SessionEndReason.REVOKED, now=now)


@transaction.atomic(savepoint=False)
def end(
    sessions: QuerySet[LoginSession],
    *,
    reason: SessionEndReason,
    now: datetime,
    by: audit.Actor | None = None,
) -> int:
    """End those that still live, and say how many: their tokens are refused from now on.

    `by` is who ends them, their own user unless it says otherwise.
    """
    ended = list(sessions.filter(ended_at=None).order_by("pk").select_for_update())
    mine = LoginSession.objects.filter(pk__in=[session.pk for session in ended])
    mine.update(ended_at=now, end_reason=reason)
    for session in ended:
        action = ACTION_OF.get(reason, Action.SESSION_ENDED)
        actor = by or audit.Actor(audit.Kind.USER, session.user_id)
        audit.record(action, session, actor=actor, now=now, reason=reason)
    return len(ended)


# -------------------------------------------------------------------------------------------- keys


@transaction.atomic
def create_key(
    *,
    user: User,
    name: str,
    allowed: Collection[scopes.Scope],
    expires_at: datetime | None,
    now: datetime,
) -> tuple[ApiKey, str]:
    """The key's row, and its text, which nobody can read again. Raises InvalidInput, TooManyKeys.

    The user's row makes concurrent callers wait, so that they count each other's keys.
    """
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(Fault("expiresAt", "must lie in the future", wire_time(expires_at)))
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if user.keys.usable(now=now).count() >= MOST_KEYS:
        raise TooManyKeys(limit=MOST_KEYS)
    text = keys.new_key()
    key = user.keys.create(
        name=name,
        scopes=[scope.value for scope in scopes.Scope if scope in allowed],
        digest=keys.digest_of(text),
        last_four=text[-keys.LAST :],
        created_at=now,
        expires_at=expires_at,
    )
    actor = audit.user(user)
    audit.record(Action.KEY_CREATED, key, actor=actor, now=now, name=name, scopes=key.scopes)
    return key, text


def keys_of(user: User) -> QuerySet[ApiKey]:
    """Those not revoked, the newest first; expired ones are still seen."""
    return user.keys.filter(revoked_at=None).order_by("-created_at", "-pk")


def revoke_key(*, user: User, key_id: str, now: datetime) -> None:
    """Raises NotFound when the user has no such key, or has revoked it."""
    if not revoke(user.keys.filter(pk=key_id if is_id(key_id) else None), now=now):
        raise NotFound


@transaction.atomic
def revoke(chosen: QuerySet[ApiKey], *, now: datetime, by: audit.Actor | None = None) -> int:
    """Revoke those that are not, and say how many; `by` whom, if not by their own user."""
    revoked = list(chosen.filter(revoked_at=None).order_by("pk").select_for_update())
    ApiKey.objects.filter(pk__in=[key.pk for key in revoked]).update(revoked_at=now)
    for key in revoked:
        actor = by or audit.Actor(audit.Kind.USER, key.user_id)
        audit.record(Action.KEY_REVOKED, key, actor=actor, now=now, name=key.name)
    return len(revoked)


@transaction.atomic
def deactivate(*, user: User, by: audit.Actor, now: datetime) -> None:
    """End all that lets this user in, so that switching the user on again revives nothing; a job
    ends what is done in the user's name.
    """
    end(user.sessions.all(), reason=SessionEndReason.OPERATOR, now=now, by=by)
    revoke(user.keys.all(), now=now, by=by)
    arguments = [{"user_id": user.pk, "operator_id": by.user_id}]
    jobs.enqueue(DEACTIVATE_JOB, queue=DEACTIVATE_QUEUE, arguments=arguments)
