"""The audit record: who made which change, as a person or as the service itself.

A record is written on the connection of the change and commits with it. It holds the change, and
never a password, token or key.
"""

import os
import pwd
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.db import connection
from django.db.models import Model

from apps.core.models import AuditRecord
from apps.core.requests import request_id, request_origin

# Characters of a user's id, and of the name of an account of the operating system.
LONGEST_ACTOR: Final = 24


class Action(StrEnum):
    """The audited actions."""

    SIGNUP = "signup"
    LOGIN = "login"
    LOGIN_FAILED = "login_failed"
    LOGOUT = "logout"
    SESSION_ENDED = "session_ended"
    SESSION_REUSED = "session_reused"
    PASSWORD_CHANGED = "password_changed"
    PASSWORD_REJECTED = "password_rejected"
    PASSWORD_RESET = "password_reset"
    RESET_REQUESTED = "reset_requested"
    IDENTITY_PROVED = "identity_proved"
    VERIFICATION_REQUESTED = "verification_requested"
    EMAIL_VERIFIED = "email_verified"
    ADDRESS_CHANGE_REQUESTED = "address_change_requested"
    ADDRESS_CHANGED = "address_changed"
    SECOND_FACTOR_BEGUN = "second_factor_begun"
    SECOND_FACTOR_ON = "second_factor_on"
    SECOND_FACTOR_OFF = "second_factor_off"
    FAILURES_FORGOTTEN = "failures_forgotten"
    RECOVERY_CODES_RENEWED = "recovery_codes_renewed"
    DATA_EXPORTED = "data_exported"
    ACCOUNT_CLOSED = "account_closed"
    ACCOUNT_REOPENED = "account_reopened"
    ACCOUNT_ERASED = "account_erased"
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    PROFILE_CHANGED = "profile_changed"
    ALGORITHM_CREATED = "algorithm_created"
    ALGORITHM_UPDATED = "algorithm_updated"
    ALGORITHM_ARCHIVED = "algorithm_archived"
    ALGORITHM_CLONED = "algorithm_cloned"
    ALGORITHM_STARTED = "algorithm_started"
    ALGORITHM_STOPPED = "algorithm_stopped"
    ALGORITHM_PAUSED = "algorithm_paused"
    ALGORITHM_RESUMED = "algorithm_resumed"
    ALGORITHM_FAILED = "algorithm_failed"
    BACKTEST_SUBMITTED = "backtest_submitted"
    BACKTEST_CANCELLED = "backtest_cancelled"
    BACKTEST_RENAMED = "backtest_renamed"
    BACKTEST_KEPT = "backtest_kept"
    BACKTEST_RETRIED = "backtest_retried"
    BACKTEST_DELETED = "backtest_deleted"
    REPORT_SHARED = "report_shared"
    REPORT_LINK_RECALLED = "report_link_recalled"
    CANDLES_RECEIVED = "candles_received"
    CANDLE_FILE_LOADED = "candle_file_loaded"
    CANDLE_LOAD_UNDONE = "candle_load_undone"
    MASTER_LOADED = "master_loaded"
    REPLAY_STARTED = "replay_started"
    REPLAY_ENDED = "replay_ended"
    INSTRUMENT_ENABLED = "instrument_enabled"
    INSTRUMENT_DISABLED = "instrument_disabled"
    LIMIT_HIT = "limit_hit"
    ACCOUNT_RESET = "account_reset"
    BROKER_DECLARED = "broker_declared"
    POSITION_CLOSE_ASKED = "position_close_asked"
    ORDER_CANCEL_ASKED = "order_cancel_asked"
    KILL_SWITCH_ON = "kill_switch_on"
    KILL_SWITCH_OFF = "kill_switch_off"
    WEBHOOK_CREATED = "webhook_created"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_DELETED = "webhook_deleted"
    WEBHOOK_DISABLED = "webhook_disabled"
    WEBHOOK_ENABLED = "webhook_enabled"
    WEBHOOK_SECRET_ROTATED = "webhook_secret_rotated"
    WEBHOOK_TESTED = "webhook_tested"
    WEBHOOK_REDELIVERED = "webhook_redelivered"
    WEBHOOK_RECOVERED = "webhook_recovered"
    WEBHOOK_LINKED = "webhook_linked"
    ALERT_HOOK_CREATED = "alert_hook_created"
    ALERT_HOOK_CHANGED = "alert_hook_changed"
    ALERT_HOOK_SECRET_ROTATED = "alert_hook_secret_rotated"
    ALERT_HOOK_ENDED = "alert_hook_ended"
    SECRET_KEY_ROTATED = "secret_key_rotated"
    NOTICES_CHANGED = "notices_changed"
    QUIET_START_ENDED = "quiet_start_ended"
    ADMIN_LOGIN = "admin_login"
    ADMIN_LOGIN_FAILED = "admin_login_failed"
    ADMIN_LOGOUT = "admin_logout"
    ADMIN_ADDED = "admin_added"
    ADMIN_CHANGED = "admin_changed"
    ADMIN_DELETED = "admin_deleted"


class ActorKind(StrEnum):
    """The role of an actor; an operator who uses the API acts as a user."""

    USER = "user"
    OPERATOR = "operator"
    SYSTEM = "system"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Actor:
    """The person or program that makes a change.

    `user_id` is empty for the service itself and for a stranger. For a command it is the operating
    system's account.
    """

    kind: ActorKind
    user_id: str = ""


SYSTEM: Final = Actor(ActorKind.SYSTEM)
STRANGER: Final = Actor(ActorKind.USER)  # somebody who has not proved who they are


def user(user: Model) -> Actor:
    """Return a user as the actor of a change."""
    return Actor(ActorKind.USER, str(user.pk))


def operator(user: Model) -> Actor:
    """Return a user as an operator who makes a change for somebody else."""
    return Actor(ActorKind.OPERATOR, str(user.pk))


def command_line() -> Actor:
    """Return the account that runs this process, for commands that need no login."""
    uid = os.getuid()
    try:
        account = pwd.getpwuid(uid).pw_name
    except KeyError:  # containers run under ids that have no name
        account = f"uid {uid}"
    return Actor(ActorKind.COMMAND, account[:LONGEST_ACTOR])


def record(
    action: Action, subject: Model | None, /, *, actor: Actor, now: datetime, **details: object
) -> None:
    """Record an action of `actor` on `subject`, which still has its key; `details` are JSON."""
    origin = request_origin.current_origin()
    object_type = ""
    if subject is not None:
        # A model that was renamed keeps the type of its older records.
        object_type = str(getattr(subject, "audited_as", subject._meta.model_name))
    AuditRecord.objects.create(
        at=now,
        action=action,
        actor=actor.user_id,
        actor_kind=actor.kind,
        session_id=origin.session_id,
        address=origin.address or "",
        request_id=request_id.current_request_id(),
        object_type=object_type,
        object_id=subject.pk if subject is not None else "",
        details=details,
    )


def purge() -> int:
    """Delete records older than 400 days with the rights of the table's owner; return their number.

    The database fixes the age and the clock, not the caller.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT core_auditrecord_purge()")
        return int(cursor.fetchone()[0])
