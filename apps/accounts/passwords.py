"""How passwords are hashed, and how long they are: the one rule that always holds.

The setting PASSWORD_VALIDATORS may add validators of Django.
"""

from typing import Final

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError

MIN_PASSWORD_LENGTH: Final = 8
MAX_PASSWORD_LENGTH: Final = 128


class LengthValidator:
    """A validator for Django's list, so that the admin and its commands apply it too."""

    def validate(self, password: str, user: object = None) -> None:
        if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        return f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters."


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with the parameters of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes,
    one lane. Django's own 100 MiB and eight lanes cost five times as much at each login.

    A hash with other parameters is replaced at its user's next login.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
