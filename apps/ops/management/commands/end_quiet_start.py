"""Let a restored copy trade and send, from a shell on the machine."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core import audit, jobs
from apps.core.errors import ServiceError


class Command(BaseCommand):
    help = (
        "Let trading, webhooks and mails of a restored copy continue. First make sure that the"
        " backed-up service no longer runs: both would do the same."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", required=True, help="for the audit log")

    def handle(self, *args: Any, reason: str, **options: Any) -> None:
        operator = audit.command_line()
        try:
            jobs.end_quiet_start(operator=operator, reason=reason, now=timezone.now())
        except ServiceError as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write("Trading, webhooks and mails continue.")
