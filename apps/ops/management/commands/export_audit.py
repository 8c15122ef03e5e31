"""Print the audit log as JSON lines, for an archive or a search elsewhere."""

from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.core.models import AuditRecord
from apps.ops import audit_files


def month(text: str) -> datetime:
    """Return the month that an option names."""
    try:
        return audit_files.parse_month(text)
    except ValueError as error:
        raise ArgumentTypeError("must be a month, such as 2026-11") from error


class Command(BaseCommand):
    help = (
        "Print the audit log as JSON lines, oldest record first. The records of a month that has"
        " ended do not change any more."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--month", type=month, help="only this month of India, such as 2026-11")
        parser.add_argument(
            "--after", type=int, default=0, metavar="ID", help="only records with a higher id"
        )

    def handle(self, *args: Any, month: datetime | None, after: int, **options: Any) -> None:
        records = AuditRecord.objects.filter(pk__gt=after)
        if month is not None:
            records = records.filter(at__gte=month, at__lt=audit_files.end_of_month(month))
        for line in audit_files.json_lines(records):
            self.stdout.write(line)
