"""Machines with the previous code continue after another one has migrated."""

from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from apps.backtests.models import Backtest
from apps.backtests.running import queue
from apps.trading.live import leases
from apps.trading.models import BarStream, GlobalSwitch, KillSwitch
from apps.trading.runs import kill_switches

# Release 1.0.0 has its schema by these.
INITIAL = "0001_release_1_0"


def _added_fields() -> Iterator[tuple[str, str, str]]:
    """Yield app, model and name of each field that a later migration has added."""
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if not type(migration).__module__.startswith("apps.") or name == INITIAL:
            continue
        for operation in migration.operations:
            if isinstance(operation, AddField):
                yield app, operation.model_name, operation.name


def test_code_that_does_not_know_a_column_can_add_rows() -> None:
    for app, model, name in _added_fields():
        field = apps.get_model(app, model)._meta.get_field(name)
        assert field.null or field.has_db_default(), f"{app}.{model}.{name}"


@pytest.mark.django_db
def test_migrate_refuses_a_database_older_than_release_1_0() -> None:
    MigrationRecorder(connection).record_unapplied("trading", "0015_notify_of_account_changes")
    with pytest.raises(
        CommandError, match=r"before 1\.0\.0 \(trading\.0015.* start release 1\.0\.0"
    ):
        call_command("migrate", verbosity=0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("model", "ask"),
    [
        (Backtest, queue.next_in_queue),
        (BarStream, lambda: leases.acquire(known=[], now=timezone.now())),
        (KillSwitch, lambda: kill_switches.share_engaged_since(["0" * 24])),
        (GlobalSwitch, lambda: kill_switches.share_engaged_since(["0" * 24])),
    ],
)
def test_a_prepared_statement_outlives_a_new_column(
    model: type[models.Model], ask: Callable[[], object]
) -> None:
    for _ in range(7):  # the sixth is prepared
        ask()
    table = model._meta.db_table
    with closing(psycopg.connect(**connection.get_connection_params(), autocommit=True)) as other:
        other.execute(f"ALTER TABLE {table} ADD COLUMN of_a_later_release text")
        try:
            ask()
        finally:
            other.execute(f"ALTER TABLE {table} DROP COLUMN of_a_later_release")
