"""Password hashing, and the rules for length, stricter for operators.

The setting PASSWORD_VALIDATORS may add Django validators for everybody.
"""

import gzip
from functools import cache
from itertools import islice
from typing import Final

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.auth.password_validation import (
    CommonPasswordValidator,
    MinimumLengthValidator,
    UserAttributeSimilarityValidator,
    validate_password,
)
from django.core.exceptions import ValidationError

from apps.core.errors import Fault, InvalidInput

MIN_PASSWORD_LENGTH: Final = 8
MAX_PASSWORD_LENGTH: Final = 128
MIN_OPERATOR_PASSWORD_LENGTH: Final = 12
MOST_COMMON: Final = 1_000
IS_COMMON_PASSWORD: Final = (
    f"Your password is one of the {MOST_COMMON:,} most common: choose another."
)


def is_common_password(password: str) -> bool:
    """Return whether the password is one of the most common of sufficient length."""
    return password.lower() in _most_common()


@cache
def _most_common() -> frozenset[str]:
    # Django's list, the most common first.
    with gzip.open(CommonPasswordValidator().DEFAULT_PASSWORD_LIST_PATH, "rt") as lines:
        words = (line.strip() for line in lines)
        fitting = (word for word in words if len(word) >= MIN_PASSWORD_LENGTH)
        return frozenset(islice(fitting, MOST_COMMON))


def with_password_warning(message: str, password: str) -> str:
    """Return the message of a success, with a last sentence about a common password."""
    return f"{message} {IS_COMMON_PASSWORD}" if is_common_password(password) else message


def audit_details(password: str) -> dict[str, object]:
    """Return the details of a new password for the audit record."""
    return {"commonPassword": True} if is_common_password(password) else {}


def require_strong(password: str, *, user: object, field: str) -> None:
    """Raise InvalidInput unless the validators of the settings accept the password."""
    try:
        validate_password(password, user)  # type: ignore[arg-type]  # any model of users
    except ValidationError as error:
        raise InvalidInput(Fault(field, " ".join(error.messages))) from error


_OPERATOR_VALIDATORS: Final = (
    MinimumLengthValidator(MIN_OPERATOR_PASSWORD_LENGTH),
    CommonPasswordValidator(),
    UserAttributeSimilarityValidator(user_attributes=("email", "name")),
)


def is_fit_for_operators(password: str, user: object) -> bool:
    """Return whether the password meets the rules for staff; its user may become staff later."""
    try:
        _require_fit_for_operators(password, user)
    except ValidationError:
        return False
    return True


def _require_fit_for_operators(password: str, user: object) -> None:
    for validator in _OPERATOR_VALIDATORS:
        validator.validate(password, user)  # type: ignore[arg-type]  # any model of users


class LengthValidator:
    """Check the length, as a validator in Django's list, so that the admin and its commands apply
    it too.
    """

    def validate(self, password: str, user: object = None) -> None:
        if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        return f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters."


class OperatorPasswordValidator:
    """Ask more of staff, who can act on every account."""

    def validate(self, password: str, user: object = None) -> None:
        if getattr(user, "is_staff", False):
            _require_fit_for_operators(password, user)

    def get_help_text(self) -> str:
        return (
            f"An operator's has {MIN_OPERATOR_PASSWORD_LENGTH} or more, is not common, and is"
            " unlike the address and the name."
        )


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with the parameters of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one
    lane. Django's default, 100 MiB and eight lanes, costs five times as much at each login. A hash
    with other parameters is replaced at its user's next login.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
