"""One page for a person: the processes, the backlog and the problems of the service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection

from apps.core import database, jobs, machine
from apps.core.models import InstalledKey
from apps.core.times import duration_text, indian_time
from apps.ops.models import SILENCE, ServiceProcess
from apps.ops.monitoring.backlog import read_backlog
from apps.ops.monitoring.health import find_concerns
from apps.trading import services as trading

# Algorithms in error that are listed, the latest.
_MOST_FAILURES: Final = 10


class Command(BaseCommand):
    help = (
        "List running processes, waiting jobs and problems; the exit code is 1 if there is a"
        " problem."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            database.compare_clocks()
            lines = [*_places(), "", *_processes(), "", *_backlog(), ""]
            problems = list(_problems())
        except Error as error:
            reason = (str(error).strip().splitlines() or ["no reason given"])[0]
            raise CommandError(f"the database cannot be asked: {reason}") from error
        self.stdout.write("\n".join(lines))
        if problems:
            raise CommandError("wrong:\n" + "\n".join(f"  {problem}" for problem in problems))
        self.stdout.write("nothing is wrong")


def _places() -> Iterator[str]:
    """Yield the folder of the data, and every link out of DATA_DIR."""
    yield f"algotrade {settings.VERSION}, key {database.key_fingerprint(settings.SECRET_KEY)}"
    yield f"DATA_DIR  {settings.DATA_DIR}"
    for link, target in _links_out_of(settings.DATA_DIR):
        yield f"          {link.name} is a link to {target}"
    if settings.EMBEDDED_DATABASE:
        yield f"database  embedded; {machine.free_disk_bytes() // 1024**2} MB of its disk are free"
    else:
        parameters = connection.settings_dict
        yield f"database  {parameters['NAME']} on {parameters['HOST']}:{parameters['PORT']}"


def _links_out_of(folder: Path) -> Iterator[tuple[Path, Path]]:
    for path in sorted(folder.iterdir()) if folder.exists() else ():
        if path.is_symlink() and not path.resolve().is_relative_to(folder):
            yield path, path.resolve()


def _processes() -> Iterator[str]:
    known = list(ServiceProcess.objects.known())
    yield f"{len(known)} processes" if known else "no process runs"
    for process in known:
        state = "silent" if process.silent_for > SILENCE else process.idle_reason or "works"
        yield f"  {process.machine:20} {process.role:18} {process.pid:8} {process.version} {state}"


def _backlog() -> Iterator[str]:
    backlog = read_backlog()
    for queue, counts in sorted(backlog.queues.items()):
        yield (
            f"{queue:10}{counts.waiting} jobs wait, the oldest for"
            f" {duration_text(counts.oldest_seconds)}; {counts.stalled} are stalled"
        )
    yield f"webhooks  {backlog.deliveries_due} deliveries are due"
    yield f"trading   the bars that wait longest are due for {duration_text(backlog.bar_lag)}"
    if backlog.feed_age is not None:
        yield f"feed      the last bar came in {duration_text(backlog.feed_age)} ago"


def _problems() -> Iterator[str]:
    for subject, problem in find_concerns():
        yield f"{subject}: {problem}"
    for failure in trading.find_failures(most=_MOST_FAILURES):
        yield (
            f"algorithm: {failure.algorithm_name} of {failure.owner_email} is in error since"
            f" {indian_time(failure.at)}: {failure.reason}. {failure.advice}"
        )
    installed = InstalledKey.objects.first()
    if installed and installed.fingerprint != database.key_fingerprint(settings.SECRET_KEY):
        yield f"key: the database's is {installed.fingerprint}: run rotate_secret_key"
    if jobs.is_quiet():
        yield "restored: nothing trades and nothing is sent until end_quiet_start"
    known = ServiceProcess.objects.known()
    versions = sorted(set(known.values_list("version", flat=True)))
    if len(versions) > 1:
        yield f"versions: {', '.join(versions)} run beside each other"
