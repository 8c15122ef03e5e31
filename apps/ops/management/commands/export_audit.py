"""Print the audit log as JSON lines, for an archive or a search elsewhere."""

import json
from argparse import ArgumentTypeError
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from apps.core.models import AuditRecord
from apps.market.dates import INDIA


def month(text: str) -> datetime:
    """Return the beginning of a month in India, 2026-11 for example."""
    try:
        return datetime.strptime(text, "%Y-%m").replace(tzinfo=INDIA)
    except ValueError as error:
        raise ArgumentTypeError("must be a month, such as 2026-11") from error


class Command(BaseCommand):
    help = (
        "Print the audit log as JSON lines, oldest record first. The records of a month that has"
        " ended do not change any more."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--month", type=month, help="only this month of India, such as 2026-11")
        parser.add_argument(
            "--after", type=int, default=0, metavar="ID", help="only records with a higher id"
        )

    def handle(self, *args: Any, month: datetime | None, after: int, **options: Any) -> None:
        records = AuditRecord.objects.filter(pk__gt=after).order_by("pk")
        if month is not None:
            next_month = (month + timedelta(days=31)).replace(day=1)
            records = records.filter(at__gte=month, at__lt=next_month)
        for record in records.values().iterator():
            self.stdout.write(json.dumps(record, cls=DjangoJSONEncoder, ensure_ascii=False))
