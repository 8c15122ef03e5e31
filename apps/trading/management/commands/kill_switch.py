"""The operators' kill switch for a shell on the machine, without a login."""

from argparse import ArgumentTypeError
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.core import audit
from apps.core.errors import ServiceError
from apps.core.times import wire_time
from apps.trading.models.switches import MAX_REASON
from apps.trading.runs import kill_switches

_ON: Final = "on"
_OFF: Final = "off"


class Command(BaseCommand):
    help = (
        "Halt trading for everybody, or let it continue. While the switch is on nothing starts,"
        " resumes or enters; exits still execute. Each use is on record with the command line as"
        " its actor."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("state", choices=[_ON, _OFF])
        parser.add_argument(
            "--reason", required=True, type=_reason, help=f"at most {MAX_REASON} characters"
        )

    def handle(self, *, state: str, reason: str, **options: Any) -> None:
        operator, now = audit.command_line(), timezone.now()
        if state == _ON:
            switch = kill_switches.engage_global_switch(operator=operator, reason=reason, now=now)
            since = wire_time(switch.since or now)
            self.stdout.write(f"Trading is halted for everybody since {since}: {switch.reason}")
            return
        try:
            kill_switches.release_global_switch(operator=operator, reason=reason, now=now)
        except ServiceError as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write("Trading continues.")


def _reason(text: str) -> str:
    """Return the reason in its stored form. Raises ArgumentTypeError."""
    reason = text.strip()
    if not 0 < len(reason) <= MAX_REASON or not reason.isprintable():
        raise ArgumentTypeError(f"must be 1 to {MAX_REASON} printable characters")
    return reason
