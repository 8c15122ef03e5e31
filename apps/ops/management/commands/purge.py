"""Run the nightly purge now."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.ops import retention


class Command(BaseCommand):
    help = "Delete what has expired or ended long ago, as workers do each night."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        for name, rows in retention.purge_all(now=timezone.now()).items():
            self.stdout.write(f"{name:10} {rows} rows")
