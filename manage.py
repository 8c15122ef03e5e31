#!/usr/bin/env python
"""The service's commands: `up` runs everything; `help` lists the rest."""

import gc
import os
import sys
from contextlib import AbstractContextManager, nullcontext

# `up` attaches by itself, after checking the port. Every other command finds the database running,
# or starts it for its own duration.
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


# Nearly all objects made by imports stay. With Python's own threshold of 700 the garbage collector
# would scan them again and again, a tenth of a start. Later few objects are in cycles.
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
        # The start of the service would have made these tables, columns or rights.
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
    """Attach the database for the duration of the command, if it needs one and DATABASE_URL names
    none.
    """
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
