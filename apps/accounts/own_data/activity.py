"""A user's security log: the audit records about logins, passwords, keys and addresses."""

from typing import Final

from django.db.models import Q, QuerySet

from apps.accounts.models import User
from apps.core.audit import Action
from apps.core.models import AuditRecord

SECURITY_ACTIONS: Final = (
    Action.SIGNUP,
    Action.LOGIN,
    Action.LOGIN_FAILED,
    Action.LOGOUT,
    Action.SESSION_ENDED,
    Action.SESSION_REUSED,
    Action.PASSWORD_CHANGED,
    Action.PASSWORD_REJECTED,
    Action.PASSWORD_RESET,
    Action.RESET_REQUESTED,
    Action.IDENTITY_PROVED,
    Action.EMAIL_VERIFIED,
    Action.ADDRESS_CHANGE_REQUESTED,
    Action.ADDRESS_CHANGED,
    Action.SECOND_FACTOR_ON,
    Action.SECOND_FACTOR_OFF,
    Action.RECOVERY_CODES_RENEWED,
    Action.FAILURES_FORGOTTEN,
    Action.KEY_CREATED,
    Action.KEY_REVOKED,
    Action.DATA_EXPORTED,
    Action.ACCOUNT_CLOSED,
    Action.ACCOUNT_REOPENED,
    Action.ADMIN_LOGIN,
    Action.ADMIN_LOGIN_FAILED,
    Action.ADMIN_LOGOUT,
    Action.ADMIN_CHANGED,
)


def activity_of(user: User) -> QuerySet[AuditRecord]:
    """Return the actions of the user, and of others on the account, the newest first."""
    concerns = Q(actor=user.pk) | Q(object_type="user", object_id=user.pk)
    return AuditRecord.objects.filter(concerns, action__in=SECURITY_ACTIONS).order_by("-id")
