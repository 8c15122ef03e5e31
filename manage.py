#!/usr/bin/env python
"""The service's commands: `up` runs everything; `help` lists the rest."""

import gc
import os
import sys
from contextlib import AbstractContextManager, nullcontext

# `up` attaches by itself, after it has looked at the port. Every other command finds the database
# running, or has it started for its own time.
WITHOUT_DATABASE = {
    "up",
    "backtest",
    "check",
    "collectstatic",
    "compilemessages",
    "demo",
    "diffsettings",
    "help",
    "makemessages",
    "startapp",
    "startproject",
    "version",
}


# Nearly all that imports make stays: by Python's own 700 the collector of garbage would look at it
# over and over, a tenth of a start. Later on little is in cycles.
OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.version_info < (3, 11):  # noqa: UP036 (whatever python3 is, it may be asked)
        sys.exit(f"error: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import ProgrammingError
        from psycopg import errors

        from apps.ops.database.local_postgres import NoDatabase
    except ImportError as error:
        sys.exit(f"error: {error}: run this with .venv/bin/python, which `make install` fills")
    try:
        with database(sys.argv):
            execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, NoDatabase) as error:
        sys.exit(f"error: {error}")
    except ProgrammingError as error:
        # Tables, columns or rights that the service's start would have made.
        if not isinstance(
            error.__cause__,
            errors.UndefinedTable | errors.UndefinedColumn | errors.InsufficientPrivilege,
        ):
            raise
        reason = str(error).splitlines()[0]
        sys.exit(
            f"error: the database is not set up for this version ({reason}): start the service once"
            " (make run), or run .venv/bin/python manage.py migrate; then try again"
        )
    except KeyboardInterrupt:
        sys.exit(130)


def database(arguments: list[str]) -> AbstractContextManager[object]:
    """Attached for the command's time, when it needs a database and DATABASE_URL names none."""
    from django.conf import settings

    from apps.ops.database import local_postgres

    asks = {"-h", "--help", "--version"}.intersection(arguments)
    if len(arguments) < 2 or arguments[1] in WITHOUT_DATABASE or asks:
        return nullcontext()
    if not settings.EMBEDDED_DATABASE:
        return nullcontext()
    return local_postgres.running(settings.DATA_DIR)


if __name__ == "__main__":
    main()
