"""A worker: takes jobs from the queue and does them until it is stopped."""

import argparse
import os
from typing import Any, cast

from django.core.management.base import BaseCommand
from procrastinate.contrib.django import app
from procrastinate.contrib.django.django_connector import DjangoConnector

from config import limits

# A backtest is all computation and gets a process to itself; the small jobs mostly wait.
QUEUES = {"small": ["small", "default", "builtin"], "backtests": ["backtests"]}
CONCURRENCY = {"small": 4, "backtests": 1}
SECONDS_TO_FINISH = 5.0  # then a backtest that still runs gives itself back to the queue


class Command(BaseCommand):
    help = "Do the jobs of one queue until SIGTERM or Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--queue", choices=list(QUEUES), required=True)

    def handle(self, *args: Any, queue: str, **options: Any) -> None:
        limits.apply(limits.WORKER)
        if queue == "backtests":
            from apps.engine import simulate

            os.nice(5)  # on a small machine, web answers first
            simulate.warm_up()
        connector = cast(DjangoConnector, app.connector).get_worker_connector()
        with app.replace_connector(connector) as worker:
            worker.run_worker(
                name=queue,
                queues=QUEUES[queue],
                concurrency=CONCURRENCY[queue],
                shutdown_graceful_timeout=SECONDS_TO_FINISH,
                delete_jobs="successful",
            )
