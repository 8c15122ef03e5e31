"""Links in mails: verify an address, choose a new password, change the address.

A link works once and until it expires, by one conditional UPDATE. Opening it changes nothing,
because mail scanners open links: its page asks for a click.
"""

from contextlib import suppress
from datetime import datetime
from typing import Final

from django.core import signing
from django.db import IntegrityError, transaction

from apps.accounts import mails
from apps.accounts.credentials import email_addresses, passwords
from apps.accounts.login import login_limits, services
from apps.accounts.login.services import EmailTaken
from apps.accounts.mails import MailKind
from apps.accounts.models import EmailLink, LinkPurpose, SessionEndReason, User
from apps.core import audit, jobs
from apps.core.audit import Action
from apps.core.errors import Code, ServiceError
from apps.core.limits import TooManyRequests

RESET_JOB: Final = "accounts.reset"


class LinkRejected(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "This link has been used or has expired; ask for a new one."


class AlreadyVerified(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "This e-mail address is verified already."


# Verification.


@transaction.atomic
def send_verification(*, user: User, now: datetime) -> None:
    """Send the user a link that verifies the address.

    Raises MailUnavailable, AlreadyVerified, TooManyRequests.
    """
    mails.require_mails()
    if user.email_verified:
        raise AlreadyVerified
    audit.record(Action.VERIFICATION_REQUESTED, user, actor=audit.user(user), now=now)
    mails.send_link(user, LinkPurpose.VERIFY, email=user.email, now=now)


@transaction.atomic
def verify_address(*, token: str, now: datetime) -> User:
    """Verify the address that the link was sent to. Raises LinkRejected."""
    link = _use(token, LinkPurpose.VERIFY, now=now)
    # The address may have changed since the mail was sent.
    if not User.objects.filter(pk=link.user_id, email=link.email).update(email_verified=True):
        raise LinkRejected
    audit.record(Action.EMAIL_VERIFIED, link.user, actor=audit.user(link.user), now=now)
    return link.user


# Reset.


def request_reset(*, email: str) -> None:
    """Enqueue the search for the account and its mail, so that the answer does not reveal whether
    an account exists.

    Raises MailUnavailable.
    """
    mails.require_mails()
    arguments = [{"email": email_addresses.normalize_address(email)}]
    jobs.enqueue(RESET_JOB, queue=mails.ACCOUNT_MAIL_QUEUE, arguments=arguments)


@transaction.atomic
def send_reset(*, email: str, now: datetime) -> None:
    """Send a link to the account with this address, if there is one."""
    user = User.objects.filter(email=email, is_active=True).first()
    if user is not None:
        audit.record(Action.RESET_REQUESTED, user, actor=audit.STRANGER, now=now)
        with suppress(TooManyRequests):  # the answer must not reveal whether an account exists
            mails.send_link(user, LinkPurpose.RESET, email=email, now=now)


@transaction.atomic
def reset_password(*, token: str, new_password: str, end_keys: bool, now: datetime) -> User:
    """Set a new password, and end all sessions, all links in mails and, on request, all keys.

    The address counts as verified, because the mail was read. Raises LinkRejected, InvalidInput;
    the link stays valid after InvalidInput.
    """
    link = _use(token, LinkPurpose.RESET, now=now)
    user = User.objects.locked(link.user_id)
    if user is None or not user.is_active or user.email != link.email:
        raise LinkRejected
    passwords.require_strong(new_password, user=user, field="newPassword")
    user.set_password(new_password)
    user.email_verified = True
    user.save(update_fields=["password", "password_fits_operators", "email_verified"])
    # The reader of the account's mails may log in from here, even while others guess passwords.
    login_limits.record_login(user, now=now)
    actor = audit.user(user)
    details = {"keys_revoked": end_keys, **passwords.audit_details(new_password)}
    audit.record(Action.PASSWORD_RESET, user, actor=actor, now=now, **details)
    services.end(user.sessions.all(), reason=SessionEndReason.PASSWORD, now=now)
    mails.expire_links(user, now=now)
    if end_keys:
        services.revoke(user.keys.all(), now=now)
    mails.notify_by_mail(user, MailKind.PASSWORD_CHANGED, now=now)
    return user


# Change of address.


@transaction.atomic
def request_new_address(*, user: User, new_email: str, now: datetime) -> None:
    """Send a link to the old address and one to the new address; the change needs both.

    An address with an account gets the same mail, so nothing reveals that the account exists.
    Raises MailUnavailable, TooManyRequests.
    """
    mails.require_mails()
    new_email = email_addresses.normalize_address(new_email)
    audit.record(Action.ADDRESS_CHANGE_REQUESTED, user, actor=audit.user(user), now=now)
    for purpose, email in (
        (LinkPurpose.LEAVE_ADDRESS, user.email),
        (LinkPurpose.TAKE_ADDRESS, new_email),
    ):
        mails.send_link(user, purpose, email=email, new_email=new_email, now=now)


@transaction.atomic
def confirm_new_address(*, token: str, now: datetime) -> bool:
    """Confirm one side of a change of address; return whether the change is complete.

    Raises LinkRejected, EmailTaken.
    """
    link = _use(token, LinkPurpose.LEAVE_ADDRESS, LinkPurpose.TAKE_ADDRESS, now=now)
    user = User.objects.locked(link.user_id)  # of two confirmations at once one sees the other
    if user is None:
        raise LinkRejected
    used = user.email_links.filter(new_email=link.new_email, expires_at__gt=now)
    if used.exclude(used_at=None).values("purpose").distinct().count() < 2:
        return False
    old_email, user.email, user.email_verified = user.email, link.new_email, True
    try:
        with transaction.atomic():
            user.save(update_fields=["email", "email_verified"])
    except IntegrityError:
        raise EmailTaken(field="email") from None
    mails.expire_links(user, now=now)
    audit.record(Action.ADDRESS_CHANGED, user, actor=audit.user(user), now=now)
    mails.notify_by_mail(
        user, MailKind.ADDRESS_CHANGED, to=old_email, now=now, new_email=user.email
    )
    return True


# Links.


def find_link(token: str, *purposes: LinkPurpose, now: datetime) -> EmailLink:
    """Return the link of this token without using it up. Raises LinkRejected."""
    try:
        link_id = signing.Signer(salt=mails.LINK_SALT).unsign(token)
    except signing.BadSignature:
        raise LinkRejected from None
    usable = EmailLink.objects.filter(used_at=None, expires_at__gt=now, purpose__in=purposes)
    link = usable.select_related("user").filter(pk=link_id).first()
    if link is None:
        raise LinkRejected
    return link


def _use(token: str, *purposes: LinkPurpose, now: datetime) -> EmailLink:
    link = find_link(token, *purposes, now=now)
    if not EmailLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now):
        raise LinkRejected
    return link
