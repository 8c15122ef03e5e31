"""Encrypt the secrets of the database with a new SECRET_KEY."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.ops.database import secret_key


class Command(BaseCommand):
    help = (
        "Encrypt webhook secrets, second factors and stored responses with the present SECRET_KEY."
        " The key before it has to be among SECRET_KEY_FALLBACKS, here and on every machine that"
        " runs; afterwards it may be removed."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for column, rotated, unreadable in secret_key.rotate(now=timezone.now()):
                problem = f", {unreadable} unreadable by any key" if unreadable else ""
                self.stdout.write(f"{column!s:34} {rotated} encrypted anew{problem}")
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            "Recovery codes of second factors, shared reports and links in mails were made with the"
            " old key: they work until it is removed from SECRET_KEY_FALLBACKS."
        )
