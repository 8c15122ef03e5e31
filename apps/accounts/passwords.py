"""How long a password is: the one rule that always holds. The settings may add Django's own."""

from typing import Final

from django.core.exceptions import ValidationError

LEAST: Final = 8
MOST: Final = 128


class LengthValidator:
    """For Django's list of password validators, so that the admin and its commands ask it too."""

    def validate(self, password: str, user: object = None) -> None:
        if not LEAST <= len(password) <= MOST:
            raise ValidationError(self.get_help_text())

    def get_help_text(self) -> str:
        return f"A password has {LEAST} to {MOST} characters."
