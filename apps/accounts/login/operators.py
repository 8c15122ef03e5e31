"""Operators' help for users: remove a lost second factor, unlock an account."""

from datetime import datetime

from django.db import transaction

from apps.accounts import mails
from apps.accounts.login import login_limits, two_factor
from apps.accounts.mails import MailKind
from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import Code, ServiceError


class NotInPower(ServiceError):
    """Only admins manage accounts of staff, and never their own."""

    code = Code.FORBIDDEN
    message = "Only another admin may do this for an operator or an admin."


@transaction.atomic
def remove_second_factor(user: User, operator: audit.Actor, reason: str, now: datetime) -> None:
    """Remove the lost second factor of a user, and tell the user by mail.

    Raises NotInPower, FactorOff.
    """
    _require_power(operator, over=user)
    two_factor.delete(user)
    audit.record(Action.SECOND_FACTOR_OFF, user, actor=operator, now=now, reason=reason)
    mails.notify_by_mail(user, MailKind.FACTOR_OFF, now=now)


@transaction.atomic
def unlock(user: User, operator: audit.Actor, reason: str, now: datetime) -> None:
    """Forget the wrong passwords for an account, so that its user may try again.

    Raises NotInPower, LimiterDown.
    """
    _require_power(operator, over=user)
    login_limits.forget_failures(user, now=now)
    audit.record(Action.FAILURES_FORGOTTEN, user, actor=operator, now=now, reason=reason)


def _require_power(operator: audit.Actor, *, over: User) -> None:
    if not over.is_staff and not over.is_superuser:
        return
    admins = User.objects.filter(is_staff=True, is_superuser=True)
    if operator.user_id == over.pk or not admins.filter(pk=operator.user_id).exists():
        raise NotInPower
