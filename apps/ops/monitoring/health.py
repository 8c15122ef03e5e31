"""Health: whether the process is up and can do its work, and problems of the service."""

from collections.abc import Iterator, Mapping

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from apps.core import database, machine
from apps.core.api.resources import public_page
from apps.core.database import Meaning, meaning_of
from apps.ops.models import SILENCE, ServiceProcess
from apps.ops.monitoring import metrics

OK = "ok"
_POWERS = """
    SELECT rolsuper, EXISTS (
        SELECT FROM pg_class
        WHERE relowner = pg_roles.oid AND relkind = 'r' AND relnamespace = 'public'::regnamespace
    )
    FROM pg_roles WHERE rolname = current_user
"""


@public_page
def healthz(request: HttpRequest) -> JsonResponse:
    """Respond that the process is up, independent of its dependencies."""
    return JsonResponse({"status": OK})


@public_page
def readyz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 when the database answers, all migrations are applied and the queue's tables
    exist, else with 503 and the missing parts.

    Other problems do not stop this process from answering: `status` is then `degraded`. The checks
    give the reasons to the addresses in METRICS_ALLOW, and only the kind of problem to others.
    """
    checks = {"database": OK, "migrations": OK, "queue": OK}
    concerns: Mapping[str, str] = {}
    try:
        executor = MigrationExecutor(connection)
        unapplied = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        if unapplied:
            checks["migrations"] = f"{unapplied} not applied"
        if "procrastinate_jobs" not in connection.introspection.table_names():
            checks["queue"] = "not set up"
        if not unapplied:
            concerns = {**dict(find_concerns()), **find_powers()}
    except Error as error:
        state = "busy" if meaning_of(error) is Meaning.BUSY else "unreachable"
        checks = {"database": state, "migrations": "unknown", "queue": "unknown"}
    if set(checks.values()) != {OK}:
        return JsonResponse({"status": "unavailable", "checks": checks}, status=503)
    if not metrics.is_allowed(request):
        concerns = dict.fromkeys(concerns, "degraded")
    status = "degraded" if concerns else OK
    return JsonResponse({"status": status, "checks": {**checks, **concerns}})


def find_powers() -> dict[str, str]:
    """Return a concern if the service's role, on an external database, has more rights than the
    service needs. Raises Error.
    """
    if settings.EMBEDDED_DATABASE:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_POWERS)
        is_superuser, is_owner = cursor.fetchone()
    if is_superuser:
        return {"role": "the service's role is a superuser: see config/deploy/roles.sql"}
    if is_owner:
        return {"role": "the service's role owns its tables: see config/deploy/roles.sql"}
    return {}


def find_concerns() -> Iterator[tuple[str, str]]:
    """Yield the problems of a service that still answers, as (subject, text). Raises Error."""
    if machine.is_disk_nearly_full():
        yield (
            "disk",
            f"{machine.free_disk_bytes() // 1024**2} MB are free: calls that write are refused",
        )
    if database.machine_clock.seconds_ahead:
        yield "clock", database.machine_clock.description
    silent = [
        f"{process} for {process.silent_for.total_seconds():.0f} s"
        for process in ServiceProcess.objects.known()
        if process.silent_for > SILENCE
    ]
    if silent:
        yield "processes", f"not heard of: {'; '.join(silent)}"
