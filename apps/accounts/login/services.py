"""Operations on accounts: sign-up, login, refresh, logout, passwords, sessions, API keys."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from django.contrib import auth
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from apps.accounts import mails
from apps.accounts.credentials import api_keys, email_addresses, passwords
from apps.accounts.login import login_limits, queries, tokens, two_factor
from apps.accounts.login.login_limits import NotAFailure
from apps.accounts.mails import MailKind
from apps.accounts.models import (
    ApiKey,
    LinkPurpose,
    LoginSession,
    SessionEnded,
    SessionEndReason,
    User,
    new_token_id,
)
from apps.core import audit, jobs, limits, requests
from apps.core.audit import Action
from apps.core.database import is_id
from apps.core.errors import Code, Fault, InvalidInput, NotFound, ServiceError
from apps.core.limits import Resource, TooManyRequests
from apps.core.requests import is_in_networks
from apps.core.times import wire_time

log = logging.getLogger(__name__)

MOST_SESSIONS: Final = 20  # live sessions of a user; one more ends the oldest
MOST_WRONG_PASSWORDS: Final = 10  # that a session survives
# For this time after a login or a proof, a call may give out credentials that outlive the session.
PROOF_LASTS: Final = timedelta(minutes=10)
KEY_LIFETIME: Final = timedelta(days=90)  # unless its owner says otherwise
# A refresh token that is older is replaced when it is used.
ROTATED_AFTER: Final = timedelta(hours=1)
# For so long the replaced token still leads to its successor: answers get lost, and tabs refresh at
# once.
REUSE_GRACE_PERIOD: Final = timedelta(seconds=60)
# For so long a session that was begun at /app lasts without a request.
IDLE_LIFETIME: Final = timedelta(hours=12)
# The precision of `last_used_at`: more would cost every call a write.
LAST_USED_PRECISION: Final = timedelta(minutes=1)

DEACTIVATE_JOB: Final = "accounts.deactivate"
DEACTIVATE_QUEUE: Final = "small"

# How the end of a session is audited when it is not simply an end.
ACTION_OF: Final = {
    SessionEndReason.LOGOUT: Action.LOGOUT,
    SessionEndReason.REUSE: Action.SESSION_REUSED,
}
# The reasons given to the user for sessions that the service ended.
TOLD_REASONS: Final = {
    SessionEndReason.LIMIT: f"more than {MOST_SESSIONS} were open",
    SessionEndReason.REUSE: "its refresh token was used again after it had been replaced, so"
    " somebody else may have it",
    SessionEndReason.OPERATOR: "an operator ended it",
    SessionEndReason.GUESSING: "too many wrong passwords were tried with it",
}

# The credential of a caller; its user is loaded with it.
Credential: TypeAlias = LoginSession | ApiKey


class EmailTaken(ServiceError):
    code = Code.CONFLICT
    message = "An account with this e-mail address exists already."


class WrongCredentials(ServiceError):
    """The same text for an unknown address, a wrong password and a deactivated user."""

    code = Code.UNAUTHORIZED
    message = "The e-mail address or the password is wrong."


class TwoFactorRequired(ServiceError, NotAFailure):
    """The password was right, and the account also needs a code."""

    code = Code.UNAUTHORIZED
    message = "This account asks for a one-time code too: send `code`."

    def __init__(self) -> None:
        super().__init__(reason="two_factor_required")


class WrongCode(ServiceError):
    code = Code.UNAUTHORIZED
    message = "The one-time code is wrong, or was used before."

    def __init__(self) -> None:
        super().__init__(reason="two_factor_failed")


class RecentProofRequired(ServiceError):
    """The result of the call outlives the session, so the session's token is not enough."""

    code = Code.FORBIDDEN
    message = "Prove who you are first, by POST /api/auth/proof; that lasts ten minutes."

    def __init__(self) -> None:
        super().__init__(reason="recent_proof_required")


class KeyRejected(ServiceError):
    code = Code.UNAUTHORIZED
    message = "This API key is no longer accepted."


class RefreshRefused(ServiceError):
    code = Code.UNAUTHORIZED
    message = "The refresh token is missing, invalid, expired or of an ended session; log in again."


@dataclass(frozen=True, slots=True)
class RefreshedTokens:
    """A new access token and, at times, the next refresh token."""

    session: LoginSession
    access: str
    refresh: str | None


# Login and logout.


def sign_up(
    *, email: str, password: str, name: str, now: datetime, address: str | None, user_agent: str
) -> tokens.IssuedTokens:
    """Register a user and open their first session."""
    passwords.require_strong(password, user=User(email=email, name=name), field="password")
    try:
        with transaction.atomic():
            user = User.objects.create_user(email=email, password=password, name=name, now=now)
            details = passwords.audit_details(password)
            audit.record(Action.SIGNUP, user, actor=audit.user(user), now=now, **details)
            login_limits.record_login(user, now=now)
            if mails.can_send_mails():
                with suppress(TooManyRequests):  # another link can be asked for later
                    mails.send_link(user, LinkPurpose.VERIFY, email=user.email, now=now)
            return tokens.issue(user=user, now=now, address=address, user_agent=user_agent)
    except IntegrityError:
        # The unique address is the only rule here that another request can break.
        raise EmailTaken(field="email") from None


def log_in(
    *,
    email: str,
    password: str,
    code: str | None = None,
    now: datetime,
    address: str | None,
    user_agent: str,
    is_known_device: bool | None = None,
) -> tokens.IssuedTokens:
    """Open a session.

    Django hashes the password once, even if the address is unknown. With `is_known_device` None,
    the network decides whether the device is new. Raises WrongCredentials, TwoFactorRequired,
    WrongCode.
    """
    user = _user_with(email, password, now=now)
    _check_code(user, code, now=now)
    with transaction.atomic():
        _lock_unchanged(user)
        issued = tokens.issue(user=user, now=now, address=address, user_agent=user_agent)
        _end_surplus(issued.session, now=now)
        is_known_network = login_limits.record_login(user, now=now)
        is_known = is_known_network if is_known_device is None else is_known_device
        details = {} if is_known else {"newDevice": True}
        audit.record(Action.LOGIN, issued.session, actor=audit.user(user), now=now, **details)
        _reopen(user, now=now)
        if not is_known:
            mails.notify_by_mail(user, MailKind.NEW_LOGIN, now=now, user_agent=user_agent)
    return issued


def _user_with(email: str, password: str, *, now: datetime) -> User:
    """Return the user with this address and password. Raises WrongCredentials."""
    user = auth.authenticate(email=email, password=password)
    if isinstance(user, User):
        return user
    # The record names a known user only: people type passwords where the address belongs.
    tried = User.objects.filter(email=email_addresses.normalize_address(email)).first()
    audit.record(Action.LOGIN_FAILED, tried, actor=audit.STRANGER, now=now)
    raise WrongCredentials


def _check_code(user: User, code: str | None, *, now: datetime) -> None:
    """Ask for a one-time or recovery code where the account has a second factor."""
    if not two_factor.has_two_factor(user):
        return
    if code is None:
        raise TwoFactorRequired
    if not two_factor.take_code(user, code, now=now):
        audit.record(Action.LOGIN_FAILED, user, actor=audit.STRANGER, now=now, code=True)
        raise WrongCode


def _reopen(user: User, *, now: datetime) -> None:
    """Cancel the closing of the account: a login before it is erased reopens it."""
    if User.objects.filter(pk=user.pk).exclude(erase_at=None).update(erase_at=None):
        audit.record(Action.ACCOUNT_REOPENED, user, actor=audit.user(user), now=now)


def _lock_unchanged(user: User) -> None:
    """Lock the user's row, so that concurrent logins are counted.

    Raises WrongCredentials if the password was changed or the user deactivated after the hash was
    compared: such a change ends all sessions, and this session would open after it.
    """
    row = User.objects.locked(user.pk)
    if row is None or row.password != user.password or not row.is_active:
        raise WrongCredentials


def _end_surplus(newest: LoginSession, *, now: datetime) -> None:
    other_ids = [pk for pk in LoginSession.live_ids(newest.user_id, now=now) if pk != newest.pk]
    if surplus := other_ids[MOST_SESSIONS - 1 :]:
        rows = LoginSession.objects.filter(pk__in=surplus)
        end(rows, reason=SessionEndReason.LIMIT, now=now, by=audit.SYSTEM)


def refresh(*, refresh_token: str | None, now: datetime) -> RefreshedTokens:
    """Return a new access token for the session of this refresh token.

    When several calls bring a token that is due, one of them replaces it, by one conditional
    UPDATE. All of them then read the same successor from the row. Raises RefreshRefused.
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
    _record_use(session, now=now)
    is_current = claims.token_id == session.token_id
    return RefreshedTokens(
        session=session,
        access=tokens.access_token(session, now=now),
        refresh=None if is_current else tokens.refresh_token(session),
    )


def _rotate(session: LoginSession, *, now: datetime) -> None:
    """Replace the refresh token, unless another call has just done so."""
    LoginSession.objects.live(now=now).filter(pk=session.pk, token_id=session.token_id).update(
        token_id=new_token_id(), previous_token_id=session.token_id, rotated_at=now
    )


def _refuse_reuse(session: LoginSession, claims: tokens.Claims, *, now: datetime) -> None:
    """End the session when a replaced refresh token is used after its grace period: two parties
    hold it, and either may be the thief.
    """
    if claims.token_id == session.token_id:
        return
    if (
        claims.token_id == session.previous_token_id
        and now - session.rotated_at <= REUSE_GRACE_PERIOD
    ):
        return
    log.warning("an old refresh token of session %s came back: the session is ended", session.pk)
    row = LoginSession.objects.filter(pk=session.pk)
    end(row, reason=SessionEndReason.REUSE, now=now, by=audit.SYSTEM)
    raise RefreshRefused


def log_out(
    *,
    access_token: str | None,
    refresh_token: str | None,
    browser_session: str | None,
    now: datetime,
) -> None:
    """End each session that a valid credential proves, live or not.

    `browser_session` is the id of a session that a session cookie has proved. Raises TokenRejected,
    with the reason for the access token, when no credential is valid.
    """
    proven = [browser_session] if browser_session else []
    refusals: list[tokens.TokenRejected] = []
    for text, token_type in ((refresh_token, RefreshToken), (access_token, AccessToken)):
        try:
            proven.append(tokens.read(text, token_type).session_id)
        except tokens.TokenRejected as refusal:
            refusals.append(refusal)
    if not proven:
        raise refusals[-1]
    end(LoginSession.objects.filter(pk__in=proven), reason=SessionEndReason.LOGOUT, now=now)


# Authentication.


def authenticate(*, bearer: str, path: str, now: datetime) -> Credential:
    """Return the session or key of this bearer token, with its user, by one query.

    The scopes of a key are not checked here. Raises TokenRejected, SessionEnded or KeyRejected.
    """
    if not api_keys.is_key(bearer):
        session = session_of(tokens.read(bearer, AccessToken), now=now)
        _record_use(session, now=now)
        return session
    if not api_keys.accepts_keys(path):
        raise tokens.InvalidToken
    key = ApiKey.objects.select_related("user").filter(digest=api_keys.digest_of(bearer)).first()
    if key is None:
        raise tokens.InvalidToken
    if key.is_expired(now=now):
        raise tokens.TokenExpired
    if key.revoked_at is not None or not key.user.is_active:
        raise KeyRejected
    address = requests.current_origin().address
    if key.networks and not is_in_networks(address, tuple(key.networks)):
        raise KeyRejected
    _record_use(key, now=now)
    return key


def authenticate_browser(*, session_id: str, is_used: bool, now: datetime) -> LoginSession:
    """Return the live session with this id, which a session cookie has proved, and record its use
    unless the page asked by itself.

    Raises SessionEnded.
    """
    session = _live_session(session_id, now=now)
    if is_used:
        _record_use(session, now=now)
    return session


def session_of(claims: tokens.Claims, *, now: datetime) -> LoginSession:
    """Return the live session that a valid token names, with its user, by one query."""
    session = _live_session(claims.session_id, now=now)
    if session.user_id != claims.user_id:
        raise SessionEnded
    return session


def _live_session(session_id: str, *, now: datetime) -> LoginSession:
    session = queries.session_with_user(session_id)
    if session is None or not session.is_live(now=now):
        raise SessionEnded
    return session


def end_when_idle(session: LoginSession, *, now: datetime) -> None:
    """Let the session end after IDLE_LIFETIME without a request."""
    session.ends_when_idle, session.expires_at = True, now + IDLE_LIFETIME
    session.save(update_fields=["ends_when_idle", "expires_at"])


def _record_use(credential: Credential, *, now: datetime) -> None:
    """Update `last_used_at` at most once a minute."""
    last_used_at = credential.last_used_at
    if last_used_at is not None and now - last_used_at < LAST_USED_PRECISION:
        return
    used: dict[str, object] = {"last_used_at": now}
    if isinstance(credential, ApiKey):
        used["last_address"] = requests.current_origin().address
    elif credential.ends_when_idle:
        latest = credential.created_at + tokens.REFRESH_LIFETIME
        used["expires_at"] = min(latest, now + IDLE_LIFETIME)
    rows = type(credential).objects.filter(pk=credential.pk)
    rows.exclude(last_used_at__gt=now - LAST_USED_PRECISION).update(**used)


# Profile and sessions.


@transaction.atomic
def change_profile(*, user: User, now: datetime, **changes: str) -> User:
    """Change the name, the display name, or both."""
    for field, value in changes.items():
        before = getattr(user, field)
        setattr(user, field, value)
        user.save(update_fields=[field])
        details = {field: [before, value]}
        audit.record(Action.PROFILE_CHANGED, user, actor=audit.user(user), now=now, **details)
    return user


def check_password(
    *, user: User, session: LoginSession, password: str, now: datetime, field: str
) -> None:
    """Check that the holder of a session's token also knows the password.

    A wrong password is recorded, and the tenth ends the session, because its owner would know it.
    Raises InvalidInput about `field`.
    """
    row = LoginSession.objects.filter(pk=session.pk)
    if user.check_password(password):
        row.exclude(wrong_passwords=0).update(wrong_passwords=0)
        return
    with transaction.atomic():
        audit.record(Action.PASSWORD_REJECTED, user, actor=audit.user(user), now=now)
        row.update(wrong_passwords=F("wrong_passwords") + 1)
        guessed = row.filter(wrong_passwords__gte=MOST_WRONG_PASSWORDS)
        end(guessed, reason=SessionEndReason.GUESSING, now=now, by=audit.SYSTEM)
    raise InvalidInput(Fault(field, "is not your password"))


def prove(
    *, user: User, session: LoginSession, password: str, code: str | None, now: datetime
) -> None:
    """Prove the user's identity again, by the password and, with a second factor, a code.

    Raises InvalidInput.
    """
    check_password(user=user, session=session, password=password, now=now, field="password")
    if two_factor.has_two_factor(user) and not (code and two_factor.take_code(user, code, now=now)):
        raise InvalidInput(Fault("code", "is no current one-time code and no recovery code"))
    with transaction.atomic():
        LoginSession.objects.filter(pk=session.pk).update(proved_at=now)
        audit.record(Action.IDENTITY_PROVED, user, actor=audit.user(user), now=now)


def require_recent_proof(session: LoginSession, *, now: datetime) -> None:
    """Raise RecentProofRequired unless the user has proved their identity lately."""
    if session.proved_at is None or now - session.proved_at > PROOF_LASTS:
        raise RecentProofRequired


def require_proof_after_login(session: LoginSession, *, now: datetime) -> None:
    """Raise RecentProofRequired unless the user has proved their identity after the login.

    A thief with the token of a fresh login could otherwise lock the user out.
    """
    require_recent_proof(session, now=now)
    if session.proved_at is None or session.proved_at <= session.created_at:
        raise RecentProofRequired


@transaction.atomic
def change_password(
    *, user: User, session: LoginSession, new_password: str, now: datetime
) -> tokens.IssuedTokens:
    """Change the password and end every session; a new session replaces the caller's.

    `user` is the row whose current password was checked. Keys stay. Raises InvalidInput.
    """
    passwords.require_strong(new_password, user=user, field="newPassword")
    # Of two changes at once, only one still finds the password that it has checked.
    unchanged = User.objects.filter(pk=user.pk, password=user.password)
    user.set_password(new_password)
    if not unchanged.update(
        password=user.password, password_fits_operators=user.password_fits_operators
    ):
        raise InvalidInput(Fault("currentPassword", "is not your password"))
    details = passwords.audit_details(new_password)
    end_with_old_password(user, actor=audit.user(user), now=now, **details)
    return tokens.issue(user=user, now=now, address=session.address, user_agent=session.user_agent)


@transaction.atomic
def end_with_old_password(
    user: User, *, actor: audit.Actor, now: datetime, **details: object
) -> None:
    """End all sessions and links in mails after a change of password.

    Record it with the details, and tell the user by mail. Keys stay.
    """
    audit.record(Action.PASSWORD_CHANGED, user, actor=actor, now=now, **details)
    end(user.sessions.all(), reason=SessionEndReason.PASSWORD, now=now)
    mails.expire_links(user, now=now)
    mails.notify_by_mail(user, MailKind.PASSWORD_CHANGED, now=now)


def live_sessions(user: User, *, current: LoginSession, now: datetime) -> QuerySet[LoginSession]:
    """Return the live sessions of a user, the newest first, each with a flag `current`."""
    is_current = ExpressionWrapper(Q(pk=current.pk), output_field=BooleanField())
    rows = user.sessions.live(now=now).annotate(current=is_current)
    return rows.order_by("-created_at", "-pk")


def end_session(*, user: User, session_id: str, now: datetime) -> None:
    """End a live session of the user. Raises NotFound."""
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
    """End the live ones among those sessions, and return how many: their tokens are refused from
    now on.

    `by` is the actor, by default the user. If it is another actor, the user is told by mail.
    """
    live = sessions.filter(ended_at=None).select_related("user").order_by("pk")
    ended = list(live.select_for_update(of=("self",)))
    rows = LoginSession.objects.filter(pk__in=[session.pk for session in ended])
    rows.update(ended_at=now, end_reason=reason)
    action = ACTION_OF.get(reason, Action.SESSION_ENDED)
    for session in ended:
        if by is None:
            actor = audit.Actor(audit.ActorKind.USER, session.user_id)
            audit.record(action, session, actor=actor, now=now, reason=reason)
        else:  # on record as something done to the user, whose activity shows it
            details = {"reason": reason, "session": session.pk}
            audit.record(action, session.user, actor=by, now=now, **details)
    if explanation := TOLD_REASONS.get(reason):
        for user in {session.user for session in ended}:
            mails.notify_by_mail(user, MailKind.SESSION_ENDED, now=now, reason=explanation)
    return len(ended)


# Keys.


@limits.counted_by(Resource.KEYS)
def _usable_keys(user_id: str) -> int:
    return ApiKey.objects.filter(user_id=user_id).usable(now=timezone.now()).count()


@transaction.atomic
def create_key(
    *,
    user: User,
    name: str,
    scopes: Sequence[str],
    now: datetime,
    expires_at: datetime | None = None,
    networks: Sequence[str] = (),
) -> tuple[ApiKey, str]:
    """Create a key; return its row and its text, which is not shown again.

    It never expires if `expires_at` is None, and is accepted from everywhere without `networks`.

    Raises InvalidInput, QuotaExceeded.
    """
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(Fault("expiresAt", "must lie in the future", wire_time(expires_at)))
    limits.require_room(user.pk, Resource.KEYS)
    text = api_keys.new_key()
    key = user.keys.create(
        name=name,
        scopes=list(scopes),
        digest=api_keys.digest_of(text),
        last_four=text[-api_keys.LAST_SHOWN :],
        created_at=now,
        expires_at=expires_at,
        networks=list(networks),
    )
    actor = audit.user(user)
    audit.record(Action.KEY_CREATED, key, actor=actor, now=now, name=name, scopes=key.scopes)
    mails.notify_by_mail(user, MailKind.KEY_CREATED, now=now, key_name=name)
    return key, text


def keys_of(user: User) -> QuerySet[ApiKey]:
    """Return the keys that are not revoked, expired ones included, the newest first."""
    return user.keys.filter(revoked_at=None).order_by("-created_at", "-pk")


def revoke_key(*, user: User, key_id: str, now: datetime) -> None:
    """Revoke a key of the user. Raises NotFound."""
    if not revoke(user.keys.filter(pk=key_id if is_id(key_id) else None), now=now):
        raise NotFound


@transaction.atomic
def revoke(chosen: QuerySet[ApiKey], *, now: datetime, by: audit.Actor | None = None) -> int:
    """Revoke the valid ones among those keys, and return how many; `by` defaults to their user."""
    revoked = list(chosen.filter(revoked_at=None).order_by("pk").select_for_update())
    ApiKey.objects.filter(pk__in=[key.pk for key in revoked]).update(revoked_at=now)
    for key in revoked:
        actor = by or audit.Actor(audit.ActorKind.USER, key.user_id)
        audit.record(Action.KEY_REVOKED, key, actor=actor, now=now, name=key.name)
    return len(revoked)


@transaction.atomic
def deactivate(*, user: User, by: audit.Actor, now: datetime) -> None:
    """End all sessions and keys of a user; activating the user again does not revive them.

    A job stops the user's runs and other work.
    """
    end(user.sessions.all(), reason=SessionEndReason.OPERATOR, now=now, by=by)
    revoke(user.keys.all(), now=now, by=by)
    arguments = [{"user_id": user.pk, "operator_id": by.user_id}]
    jobs.enqueue(DEACTIVATE_JOB, queue=DEACTIVATE_QUEUE, arguments=arguments)
