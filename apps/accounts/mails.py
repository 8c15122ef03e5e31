"""Mails to users about their account: links that they requested, and notices of changes.

A mail is a job, enqueued in the transaction of its cause. A worker sends it outside of any
transaction.
"""

import logging
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string
from procrastinate.types import JSONValue

from apps.accounts.models import EmailLink, LinkPurpose, User
from apps.core import jobs, limits, requests
from apps.core.errors import Code, ServiceError
from apps.core.limits import TooManyRequests
from apps.core.times import indian_time

log = logging.getLogger(__name__)

ACCOUNT_MAIL_JOB: Final = "accounts.mail"
ACCOUNT_MAIL_QUEUE: Final = "small"
LINK_LASTS: Final = timedelta(hours=24)
RESET_WITHIN: Final = timedelta(minutes=30)
LINK_SALT: Final = "accounts.email_link"


class MailKind(StrEnum):
    """The kinds of mails."""

    VERIFY = "verify"
    RESET = "reset"
    LEAVE_ADDRESS = "leave_address"
    TAKE_ADDRESS = "take_address"
    NEW_LOGIN = "new_login"
    SESSION_ENDED = "session_ended"
    KEY_CREATED = "key_created"
    PASSWORD_CHANGED = "password_changed"
    ADDRESS_CHANGED = "address_changed"
    FACTOR_ON = "factor_on"
    FACTOR_OFF = "factor_off"
    ACCOUNT_CLOSED = "account_closed"
    BACKTESTS_EXPIRE = "backtests_expire"


class MailText(NamedTuple):
    """The text of a mail.

    `text` may contain its facts; `button` is the text of its link. A mail without a link says when
    and from where somebody acted, unless it is `by_service`.
    """

    subject: str
    text: str
    button: str = ""
    by_service: bool = False


TEXTS: Final = {
    MailKind.VERIFY: MailText(
        "Verify your e-mail address",
        "Please verify that this address is yours. Notices are mailed to it from then on.",
        "Verify the address",
    ),
    MailKind.RESET: MailText(
        "Choose a new password",
        "Somebody asked for a new password for your account. If it was you, choose one here.",
        "Choose a password",
    ),
    MailKind.LEAVE_ADDRESS: MailText(
        "Your account is about to get another e-mail address",
        "A change of your account's address was requested. It takes effect once both addresses"
        " confirm it.",
        "Confirm the change",
    ),
    MailKind.TAKE_ADDRESS: MailText(
        "Confirm your new e-mail address",
        "An account wants to use this address. The change takes effect once both addresses"
        " confirm it.",
        "Confirm the change",
    ),
    MailKind.NEW_LOGIN: MailText(
        "A login from a new device",
        "Somebody has logged in to your account from a new device or network, with {user_agent}.",
    ),
    MailKind.SESSION_ENDED: MailText(
        "A session of your account was ended",
        "A session of your account was ended: {reason}. Log in to continue. If you do not know why,"
        " choose a new password and look at the activity of your account.",
        by_service=True,
    ),
    MailKind.KEY_CREATED: MailText(
        "A new API key", "An API key was made for your account: {key_name}."
    ),
    MailKind.PASSWORD_CHANGED: MailText(
        "Your password was changed", "The password of your account was changed."
    ),
    MailKind.ADDRESS_CHANGED: MailText(
        "Your e-mail address was changed", "The address of your account is {new_email} now."
    ),
    MailKind.FACTOR_ON: MailText(
        "Two-factor authentication is on", "From now on a login also needs a one-time code."
    ),
    MailKind.FACTOR_OFF: MailText(
        "Two-factor authentication is off", "From now on a login needs only the password."
    ),
    MailKind.ACCOUNT_CLOSED: MailText(
        "Your account is closed",
        "Your account is closed, and your personal data are erased on {erase_at}. Log in before"
        " that date to keep the account.",
    ),
    MailKind.BACKTESTS_EXPIRE: MailText(
        "Some of your backtests are about to be deleted",
        "This service does not keep all backtests: your {number} oldest are deleted with"
        " their results on {expires_at}. To keep a backtest, mark it as kept before then.",
        by_service=True,
    ),
}
# The page that a link leads to.
_LINK_PAGES: Final = {
    LinkPurpose.VERIFY: "/account/verify/",
    LinkPurpose.RESET: "/account/reset/",
    LinkPurpose.LEAVE_ADDRESS: "/account/address/",
    LinkPurpose.TAKE_ADDRESS: "/account/address/",
}


class MailUnavailable(ServiceError):
    """The service has no mail server. Printing a link would show it to the wrong people."""

    code = Code.SERVICE_UNAVAILABLE
    message = "This service sends no mail: its operator has set no EMAIL_URL."

    def __init__(self) -> None:
        super().__init__(reason="no_mail_server")


def can_send_mails() -> bool:
    """Return whether mails reach their readers: by a server, or on the terminal of an operator who
    runs the service only for themselves.
    """
    return bool(settings.EMAIL_HOST) or settings.DEBUG or settings.SERVES_LOOPBACK_ALONE


def require_mails() -> None:
    """Raise MailUnavailable unless mails reach their readers."""
    if not can_send_mails():
        raise MailUnavailable


@transaction.atomic
def send_link(
    user: User, purpose: LinkPurpose, *, email: str, now: datetime, new_email: str = ""
) -> None:
    """Enqueue a mail with a link to `email`: the last link while it is valid, else a new one.

    A new link expires older ones of its purpose. Raises TooManyRequests.
    """
    User.objects.locked(user.pk)  # of two calls at once, the second finds the link of the first
    limits.count_mail(purpose, to=email, user_id=user.pk)
    links = _unexpired_links(user, now=now).filter(purpose=purpose)
    link = links.filter(email=email, new_email=new_email, used_at=None).first()
    if link is None:
        links.update(expires_at=now)
        lifetime = RESET_WITHIN if purpose is LinkPurpose.RESET else LINK_LASTS
        link = user.email_links.create(
            purpose=purpose,
            email=email,
            new_email=new_email,
            created_at=now,
            expires_at=now + lifetime,
        )
    arguments = {"kind": purpose.value, "to": email, "facts": {}, "link_id": link.pk}
    jobs.enqueue(ACCOUNT_MAIL_JOB, queue=ACCOUNT_MAIL_QUEUE, arguments=[arguments])


def expire_links(user: User, *, now: datetime) -> None:
    """Expire all links of a user after a change of password or address."""
    _unexpired_links(user, now=now).update(expires_at=now)


def _unexpired_links(user: User, *, now: datetime) -> QuerySet[EmailLink]:
    return user.email_links.filter(expires_at__gt=now)


def notify_by_mail(
    user: User, kind: MailKind, *, now: datetime, to: str | None = None, **facts: str
) -> None:
    """Enqueue a mail about a change, if mails can be sent.

    It goes to the user's address if verified; an unverified one may be a stranger's. Beyond the
    limits of mails it is skipped; the user's activity shows the change.
    """
    if not can_send_mails() or not (to or user.email_verified):
        return
    try:
        limits.count_mail(kind, to=to or user.email, user_id=user.pk)
    except TooManyRequests:
        log.info("a mail of kind %s to user %s is skipped: too many of them", kind, user.pk)
        return
    known = {"at": indian_time(now), "address": requests.current_origin().address or "unknown"}
    arguments: dict[str, JSONValue] = {
        "kind": kind.value,
        "to": to or user.email,
        "facts": {"name": user.name, **known, **facts},
        "link_id": None,
    }
    jobs.enqueue(ACCOUNT_MAIL_JOB, queue=ACCOUNT_MAIL_QUEUE, arguments=[arguments])


def send_mail_now(
    *, kind: MailKind, to: str, facts: dict[str, str], link_id: str | None, now: datetime
) -> None:
    """Send a mail now, unless its link has expired meanwhile.

    Errors of the mail server are raised, so that the job is retried.
    """
    context = {**facts, "service": settings.PUBLIC_URL}
    if link_id is not None:
        usable = EmailLink.objects.filter(used_at=None, expires_at__gt=now)
        link = usable.select_related("user").filter(pk=link_id).first()
        if link is None:
            return
        context |= {
            "name": _name_for(to, link.user),
            "url": url_of(link),
            "expires": indian_time(link.expires_at),
        }
    mail_text = TEXTS[kind]
    context |= {**mail_text._asdict(), "text": mail_text.text.format_map(context)}
    plain, page = (
        render_to_string(f"accounts/mail/message.{ending}", context) for ending in ("txt", "html")
    )
    mail = EmailMultiAlternatives(mail_text.subject, plain, None, [to])
    mail.attach_alternative(page, "text/html")
    mail.send()


def _name_for(address: str, user: User) -> str:
    """Return the name for the greeting: none at an unverified address, because the user chose the
    name and a stranger may read it.
    """
    return user.name if user.email_verified and address == user.email else ""


def url_of(link: EmailLink) -> str:
    return settings.PUBLIC_URL + _LINK_PAGES[LinkPurpose(link.purpose)] + signed(link)


def signed(link: EmailLink) -> str:
    return signing.Signer(salt=LINK_SALT).sign(link.pk)
