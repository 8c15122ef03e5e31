"""Whether the process is up, and whether it can do its work."""

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from apps.core.api.views import public_page
from apps.core.database_errors import Meaning, meaning_of


@public_page
def healthz(request: HttpRequest) -> JsonResponse:
    """Respond that the process is up, whatever it depends on."""
    return JsonResponse({"status": "ok"})


@public_page
def readyz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 when the database answers, all migrations are applied and the queue's tables
    exist, else with 503 and what is missing.
    """
    checks = {"database": "ok", "migrations": "ok", "queue": "ok"}
    try:
        executor = MigrationExecutor(connection)
        unapplied = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        if unapplied:
            checks["migrations"] = f"{unapplied} not applied"
        if "procrastinate_jobs" not in connection.introspection.table_names():
            checks["queue"] = "not set up"
    except Error as error:
        state = "busy" if meaning_of(error) is Meaning.BUSY else "unreachable"
        checks = {"database": state, "migrations": "unknown", "queue": "unknown"}
    ready = set(checks.values()) == {"ok"}
    status = "ok" if ready else "unavailable"
    return JsonResponse({"status": status, "checks": checks}, status=200 if ready else 503)
