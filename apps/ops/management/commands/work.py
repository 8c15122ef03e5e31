"""A worker: does jobs of a queue, or steps runs by new bars, until it is stopped."""

import argparse
import importlib
import os
import signal
from contextlib import suppress
from types import ModuleType
from typing import Any, Final

from django.core.management.base import BaseCommand

from apps.ops import database_timeouts, worker
from apps.ops.reaper import REAPERS, reaping

# Not a queue of jobs: new bars are the work (apps/ops/runners.py).
TRADING: Final = "trading"


class Command(BaseCommand):
    help = "Do the jobs of one queue, or trade, until SIGTERM or Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--queue", choices=[*worker.QUEUES, TRADING], required=True)

    def handle(self, *args: Any, queue: str, **options: Any) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        database_timeouts.apply(database_timeouts.WORKER)
        with suppress(KeyboardInterrupt), reaping(*REAPERS):
            if queue == "backtests":
                os.nice(5)  # on a small machine, web answers first
                self.prepare("apps.backtests.execution")
            if queue == TRADING:
                self.prepare("apps.ops.runners").work()
            else:
                worker.work(queue)

    def prepare(self, module: str) -> ModuleType:
        """Import the module, and compile the kernels before the first bar needs them."""
        from apps.engine import compilation

        imported = importlib.import_module(module)
        compilation.prepare(self.say)
        return imported

    def say(self, line: str) -> None:
        """Print a line; the worker goes on when the terminal is gone."""
        with suppress(OSError):
            self.stdout.write(f"simulation  {line}")
            self.stdout.flush()
