"""The end of an account: closed at once, erased a week later unless its owner logs in again.

All rows of the user are erased with the user's row. The audit record stays and keeps the user's id,
which then identifies nobody.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from apps.accounts import mails
from apps.accounts.login import services
from apps.accounts.mails import MailKind
from apps.accounts.models import SessionEndReason, User
from apps.core import audit, jobs
from apps.core.audit import Action
from apps.core.times import indian_time

log = logging.getLogger(__name__)

ERASED_AFTER: Final = timedelta(days=7)
CLOSE_JOB: Final = "accounts.close"
CLOSE_QUEUE: Final = "small"


@transaction.atomic
def close_account(*, user: User, now: datetime) -> datetime:
    """Close the account, and return when it is erased.

    All sessions and keys end, and a job stops the user's runs.
    """
    erase_at = now + ERASED_AFTER
    User.objects.filter(pk=user.pk).update(erase_at=erase_at)
    audit.record(Action.ACCOUNT_CLOSED, user, actor=audit.user(user), now=now)
    services.end(user.sessions.all(), reason=SessionEndReason.CLOSED, now=now)
    services.revoke(user.keys.all(), now=now)
    jobs.enqueue(CLOSE_JOB, queue=CLOSE_QUEUE, arguments=[{"user_id": user.pk}])
    mails.notify_by_mail(user, MailKind.ACCOUNT_CLOSED, now=now, erase_at=indian_time(erase_at))
    return erase_at


def erase_due(*, now: datetime) -> int:
    """Erase the accounts that are due, each in its own transaction; return how many."""
    erased = 0
    for user_id in User.objects.filter(erase_at__lte=now).values_list("pk", flat=True):
        with transaction.atomic():
            user = User.objects.locked(user_id)
            # Its owner may have logged in a moment ago.
            if user is None or user.erase_at is None:
                continue
            audit.record(Action.ACCOUNT_ERASED, user, actor=audit.SYSTEM, now=now)
            user.delete()
            erased += 1
    if erased:
        log.info("erased %d closed accounts", erased)
    return erased
