"""A worker: does jobs of some queues, or steps runs by new bars, until it is stopped."""

import argparse
import logging
import signal
import time
from contextlib import suppress
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError
from django.utils import timezone

from apps.ops.processes import worker

# Not a queue of jobs: new bars are the work (apps/ops/processes/runners.py).
TRADING: Final = "trading"

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Do the jobs of some queues, or trade, until SIGTERM or Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        choices = [*worker.QUEUES, TRADING]
        parser.add_argument("--queue", choices=choices, nargs="+", required=True)

    def handle(self, *args: Any, queue: list[str], **options: Any) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            require_known_key()
            if TRADING in queue and queue != [TRADING]:
                raise CommandError("trading is not a queue of jobs: give it a separate process")
            if TRADING in queue or "backtests" in queue:
                self.prepare()
            if TRADING in queue:
                from apps.ops.processes import runners

                runners.work()
            else:
                worker.work(queue)

    def prepare(self) -> None:
        """Compile the kernels before the first bar needs them."""
        from apps.engine import Compilation

        Compilation.run(self.say)

    def say(self, line: str) -> None:
        """Print a line; the worker continues if the terminal is closed."""
        with suppress(OSError):
            self.stdout.write(f"kernels   {line}")
            self.stdout.flush()


def require_known_key() -> None:
    """Wait for the database, and refuse to work with a key other than the database's.

    Raises ImproperlyConfigured.
    """
    from apps.ops.database import secret_key

    is_lost = False
    while True:
        try:
            secret_key.require_known(now=timezone.now())
            return
        except OperationalError as error:
            if not is_lost:
                reason = (str(error).strip().splitlines() or ["no reason given"])[0]
                log.warning("the database is lost and is tried again: %s", reason)
            is_lost = True
            time.sleep(1)
