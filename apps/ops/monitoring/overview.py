"""The state of the service on the admin's first page."""

from collections import Counter
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from apps.core import database, machine
from apps.market.services import read_feed, read_feed_status
from apps.ops.models import SILENCE, ServiceProcess
from apps.ops.monitoring.backlog import read_backlog
from apps.ops.monitoring.health import find_concerns
from apps.trading import services as trading
from apps.trading.models import KillSwitch

_MOST_FAILURES: Final = 10


def overview(*, now: datetime) -> dict[str, Any]:
    """Return the context of the page."""
    database.compare_clocks()
    processes = list(ServiceProcess.objects.known())
    working = [process for process in processes if process.silent_for <= SILENCE]
    backlog = read_backlog()
    return {
        "version": settings.VERSION,
        "free_megabytes": machine.free_disk_bytes() // 1024**2,
        "concerns": list(find_concerns()),
        "roles": sorted(Counter(process.role for process in working).items()),
        "queues": sorted(backlog.queues.items()),
        "backlog": backlog,
        "failures": trading.find_failures(most=_MOST_FAILURES),
        "feed": read_feed(now),
        "feed_status": read_feed_status(now=now),
        "global_switch": trading.read_global_switch(),
        "switches_on": KillSwitch.objects.filter(active=True).count(),
    }
