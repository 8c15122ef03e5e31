"""Compile what simulations need, as a step of its own before a start."""

from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand

from apps.engine import compilation


class Command(BaseCommand):
    help = "Compile the engine's kernels into DATA_DIR, unless they are; needs no database."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        compilation.prepare(self.say)
        self.say("the kernels are compiled")

    def say(self, line: str) -> None:
        """Print a line at once; compilation goes on when the terminal is gone."""
        with suppress(OSError):
            self.stdout.write(f"kernels   {line}")
            self.stdout.flush()
