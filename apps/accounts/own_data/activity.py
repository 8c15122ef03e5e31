"""A user's security log: the audit records about logins, passwords, keys and addresses."""

from typing import Annotated, Final, Literal, TypeAlias

from django.db.models import Q, QuerySet
from pydantic import Field
from typing_extensions import TypedDict

from apps.accounts.models import User
from apps.core.audit import Action
from apps.core.models import AuditRecord

_Change: TypeAlias = Annotated[
    list[str | bool], Field(min_length=2, max_length=2, description="Before and after.")
]

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


class ActivityDetails(TypedDict, total=False):
    """Details of an event, by its action; a change by an operator has fields of the account, each
    with its value before and after.
    """

    newDevice: Annotated[bool, Field(description="True for a login on a device not seen before.")]
    commonPassword: Annotated[bool, Field(description="True for a password that many use.")]
    code: Annotated[bool, Field(description="True if the one-time code was wrong.")]
    keys_revoked: Annotated[bool, Field(description="Whether the API keys were revoked too.")]
    reason: Annotated[str, Field(description="Why the session or the second factor ended.")]
    session: Annotated[str, Field(description="The id of the session that was ended.")]
    name: Annotated[
        str | _Change, Field(description="The name of the API key; or a change of the user's.")
    ]
    scopes: Annotated[list[str], Field(description="The scopes of the API key.")]
    password: Annotated[Literal["changed"], Field(description="Its value is never shown.")]
    email_verified: _Change
    is_active: _Change
    is_staff: _Change
    is_superuser: _Change


def activity_of(user: User) -> QuerySet[AuditRecord]:
    """Return the actions of the user, and of others on the account, the newest first."""
    concerns = Q(actor=user.pk) | Q(object_type="user", object_id=user.pk)
    return AuditRecord.objects.filter(concerns, action__in=SECURITY_ACTIONS).order_by("-id")
