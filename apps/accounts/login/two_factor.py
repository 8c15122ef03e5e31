"""The second factor: one-time codes of an authenticator (TOTP, RFC 6238) and recovery codes.

The secret is stored encrypted; recovery codes are random and stored as digests. Each code works
once, by one conditional UPDATE.
"""

import hashlib
import secrets
from datetime import datetime
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.db import transaction

from apps.accounts import mails
from apps.accounts.mails import MailKind
from apps.accounts.models import RecoveryCode, SecondFactor, User
from apps.core import audit, database
from apps.core.audit import Action
from apps.core.errors import Code, Fault, InvalidInput, ServiceError

ISSUER: Final = "algotrade"
DIGITS: Final = 6
STEP_SECONDS: Final = 30
# Codes of this many steps before and after are taken too: clocks of telephones differ.
STEPS_APART: Final = 1
_SECRET_BYTES: Final = 20  # RFC 4226 recommends 160 bits
RECOVERY_CODES: Final = 10


class FactorOn(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "Two-factor authentication is on already; turn it off first."


class FactorOff(ServiceError):
    code = Code.UNPROCESSABLE_ENTITY
    message = "Two-factor authentication is not on."


def has_two_factor(user: User) -> bool:
    return SecondFactor.objects.filter(user=user).exclude(confirmed_at=None).exists()


def two_factor_state_of(user: User) -> dict[str, object]:
    """Return whether the factor is on, since when, and the number of unused recovery codes."""
    factor = SecondFactor.objects.filter(user=user).exclude(confirmed_at=None).first()
    return {
        "enabled": factor is not None,
        "since": factor.confirmed_at if factor else None,
        "recovery_codes_left": user.recovery_codes.filter(used_at=None).count(),
    }


@transaction.atomic
def begin_two_factor(*, user: User, now: datetime) -> str:
    """Make a new secret, which takes effect once it is confirmed.

    Return its otpauth URI, shown once. Raises FactorOn.
    """
    if has_two_factor(user):
        raise FactorOn
    secret = secrets.token_bytes(_SECRET_BYTES)
    new = {"secret": database.encrypt(secret), "created_at": now}
    unconfirmed = SecondFactor.objects.filter(user=user, confirmed_at=None)
    if not unconfirmed.update(**new):
        SecondFactor.objects.create(user=user, **new)
    audit.record(Action.SECOND_FACTOR_BEGUN, user, actor=audit.user(user), now=now)
    return _uri(user, secret)


def pending_uri(user: User) -> str:
    """Return the otpauth URI of an unconfirmed secret. Raises FactorOff."""
    factor = SecondFactor.objects.filter(user=user, confirmed_at=None).first()
    if factor is None:
        raise FactorOff
    return _uri(user, database.decrypt(bytes(factor.secret)))


def _uri(user: User, secret: bytes) -> str:
    return _totp(secret).get_provisioning_uri(user.email, ISSUER)


@transaction.atomic
def confirm_two_factor(*, user: User, code: str, now: datetime) -> list[str]:
    """Turn the factor on with a first code, and return its recovery codes, shown once.

    Raises InvalidInput for a wrong code, FactorOff if `begin` was not called, FactorOn.
    """
    factor = SecondFactor.objects.select_for_update().filter(user=user).first()
    if factor is None:
        raise FactorOff
    if factor.confirmed_at is not None:
        raise FactorOn
    if not _take_one_time_code(factor, code, now=now):
        raise InvalidInput(Fault("code", "is not the current code"))
    factor.confirmed_at = now
    factor.save(update_fields=["confirmed_at"])
    _record(Action.SECOND_FACTOR_ON, user, MailKind.FACTOR_ON, now=now)
    return _new_recovery_codes(user)


@transaction.atomic
def renew_recovery_codes(*, user: User, now: datetime) -> list[str]:
    """Replace the recovery codes, used or not, and return the new ones. Raises FactorOff."""
    if not has_two_factor(user):
        raise FactorOff
    audit.record(Action.RECOVERY_CODES_RENEWED, user, actor=audit.user(user), now=now)
    return _new_recovery_codes(user)


@transaction.atomic
def turn_off_two_factor(*, user: User, now: datetime) -> None:
    """Turn the factor off on behalf of its user. Raises FactorOff."""
    delete(user)
    _record(Action.SECOND_FACTOR_OFF, user, MailKind.FACTOR_OFF, now=now)


def delete(user: User) -> None:
    """Delete the factor and its recovery codes. Raises FactorOff."""
    deleted, _ = SecondFactor.objects.filter(user=user).exclude(confirmed_at=None).delete()
    if not deleted:
        raise FactorOff
    user.recovery_codes.all().delete()


def take_code(user: User, code: str, *, now: datetime) -> bool:
    """Use up a one-time code or a recovery code; return False if it is wrong or was used."""
    factor = SecondFactor.objects.filter(user=user).exclude(confirmed_at=None).first()
    if factor is None:
        return False
    text = code.strip().replace(" ", "").replace("-", "").lower()
    if _take_one_time_code(factor, text, now=now):
        return True
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    digests = [_digest(text, key) for key in keys]
    unused = user.recovery_codes.filter(digest__in=digests, used_at=None)
    return unused.update(used_at=now) == 1


def _take_one_time_code(factor: SecondFactor, code: str, *, now: datetime) -> bool:
    totp = _totp(database.decrypt(bytes(factor.secret)))
    current = int(now.timestamp()) // STEP_SECONDS
    for step in range(current - STEPS_APART, current + STEPS_APART + 1):
        try:
            totp.verify(code.encode(), step * STEP_SECONDS)
        except InvalidToken:
            continue
        unused = SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step)
        return unused.update(last_step=step) == 1
    return False


def _totp(secret: bytes) -> TOTP:
    # Authenticators use SHA-1; as a keyed hash it is not broken.
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)


def _new_recovery_codes(user: User) -> list[str]:
    codes = [secrets.token_hex(5) for _ in range(RECOVERY_CODES)]
    user.recovery_codes.all().delete()
    RecoveryCode.objects.bulk_create(
        [RecoveryCode(user=user, digest=_digest(code, settings.SECRET_KEY)) for code in codes]
    )
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def _digest(code: str, secret_key: str) -> str:
    return hashlib.blake2b(code.encode(), key=secret_key.encode()[:64], digest_size=32).hexdigest()


def _record(action: Action, user: User, mail: MailKind, *, now: datetime) -> None:
    audit.record(action, user, actor=audit.user(user), now=now)
    mails.notify_by_mail(user, mail, now=now)
