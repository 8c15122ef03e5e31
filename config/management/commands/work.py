"""A worker: takes jobs from the queue and does them until it is stopped."""

import argparse
import importlib
import os
import signal
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand

from config import limits, worker
from config.sweeping import SWEEPS, sweeping


class Command(BaseCommand):
    help = "Do the jobs of one queue until SIGTERM or Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--queue", choices=list(worker.QUEUES), required=True)

    def handle(self, *args: Any, queue: str, **options: Any) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        limits.apply(limits.WORKER)
        with suppress(KeyboardInterrupt), sweeping(*SWEEPS):
            if queue == "backtests":
                self.prepare()
            worker.work(queue)

    def prepare(self) -> None:
        """Bring in what a backtest needs, so that the first one does not wait for it."""
        from apps.engine import compilation

        os.nice(5)  # on a small machine, web answers first
        importlib.import_module("apps.backtests.execution")
        compilation.prepare(self.say)

    def say(self, line: str) -> None:
        """The terminal may be gone; the worker need not be."""
        with suppress(OSError):
            self.stdout.write(f"simulation  {line}")
            self.stdout.flush()
