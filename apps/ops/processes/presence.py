"""Presence of processes: each reports that it is alive, and learns whether its machine may work."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import Error, connection
from django.db.models.functions import Now

from apps.core import database, machine
from apps.core.machine import MACHINE
from apps.ops.models import FORGOTTEN, ServiceProcess

PROC: Final = Path("/proc")


def idle_reason() -> str:
    """Return the reason why this machine takes no work, or ""."""
    if database.is_far_off():
        return "clock"
    return "disk_full" if machine.is_disk_nearly_full() else ""


def report(role: str, *, now: datetime) -> int:
    """Report that this process is alive, compare the clocks, and remove ended processes of this
    machine.

    It is called as a sweep and ignores `now`, because the database's clock counts. Return the
    number of removed rows.
    """
    database.compare_clocks()
    ServiceProcess.objects.bulk_create(
        [
            ServiceProcess(
                machine=MACHINE,
                pid=os.getpid(),
                role=role,
                version=settings.VERSION,
                key_fingerprint=database.key_fingerprint(settings.SECRET_KEY),
                clock_ahead=database.machine_clock.seconds_ahead,
                idle_reason=idle_reason(),
            )
        ],
        update_conflicts=True,
        unique_fields=["machine", "pid"],
        update_fields=[
            "role",
            "version",
            "key_fingerprint",
            "clock_ahead",
            "idle_reason",
            "heartbeat_at",
        ],
    )
    return _remove_ended()


def _remove_ended() -> int:
    of_machine = ServiceProcess.objects.filter(machine=MACHINE)
    ended = [pid for pid in of_machine.values_list("pid", flat=True) if not _is_running(pid)]
    forgotten = ServiceProcess.objects.filter(heartbeat_at__lt=Now() - FORGOTTEN)
    return of_machine.filter(pid__in=ended).delete()[0] + forgotten.delete()[0]


def _is_running(pid: int) -> bool:
    """Return whether the process runs; True also if the system does not tell."""
    return (PROC / str(pid)).exists() if PROC.exists() else True


@contextmanager
def present(role: str) -> Iterator[partial[int]]:
    """Yield the function that reports this process; at the end remove its row, if the database
    answers.
    """
    try:
        yield partial(report, role)
    finally:
        try:
            ServiceProcess.objects.filter(machine=MACHINE, pid=os.getpid()).delete()
        except Error:
            connection.close()  # the next process of this machine removes the row
