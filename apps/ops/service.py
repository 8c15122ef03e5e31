"""The processes of the service: web, workers of the queues, and runners that trade.

All are forks of one process that has loaded everything (apps/ops/processes/supervisor.py), so they
share its memory.
"""

import importlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.conf import settings
from django.urls import get_resolver
from django.utils.module_loading import import_string

from apps.ops.processes import worker
from apps.ops.processes.supervisor import Child
from apps.ops.web import server
from apps.ops.web.handler import Handler

# Modules that jobs, routes and runners import only on use.
_IMPORTED_LATE: Final = (
    "apps.backtests.running.execution",
    "apps.ops.processes.runners",
    "apps.trading.activity.drift.checking",
)


def import_service() -> Handler:
    """Import the modules of all processes of the service, and return the application.

    It opens no connection and starts no thread.
    """
    application: Handler = import_string(settings.ASGI_APPLICATION)
    get_resolver().url_patterns  # noqa: B018 (this imports all routes)
    for module in _IMPORTED_LATE:
        importlib.import_module(module)
    return application


@dataclass(frozen=True, slots=True)
class Roles:
    """The number of processes of each role on this machine.

    Beside `workers`, which take backtests, one more takes small jobs and webhooks.
    """

    web: int
    workers: int
    runners: int

    def describe_workers(self) -> str:
        if not self.workers:
            return "no workers"
        return f"1 worker for small jobs and webhooks, {self.workers} for backtests"


def children_of(
    application: Handler, listener: socket.socket | None, roles: Roles
) -> Sequence[Child]:
    """Return all processes of the roles; without a listener there is no web."""
    web = server.web_children(application, listener, count=roles.web) if listener else []
    runners = [Child("runner", _trade) for _ in range(roles.runners)]
    return [*web, *_workers(roles), *runners]


def _workers(roles: Roles) -> Iterator[Child]:
    if roles.workers:
        yield _worker("small-worker", "small", "webhooks")
    for _ in range(roles.workers):
        yield _worker("backtest-worker", "backtests")


def _worker(name: str, *queues: str) -> Child:
    work = partial(worker.work, queues, is_replaced=True)
    return Child(name, work, on_kill=worker.give_up_work)


def _trade() -> None:
    from apps.ops.processes import runners

    runners.work()
