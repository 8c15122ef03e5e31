"""Machines that still run the code of before go on while another one has migrated."""

from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from django.apps import apps
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField
from django.utils import timezone

from apps.backtests.models import Backtest
from apps.trading import kill_switches
from apps.trading.live import leases
from apps.trading.models import BarStream, GlobalSwitch, KillSwitch

# The last migration of each app from before the rule.
EXEMPT = {
    "accounts": "0004", "algorithms": "0004", "backtests": "0013", "core": "0005",
    "market": "0010", "symbols": "0006", "trading": "0014", "webhooks": "0005",
}  # fmt: skip


def _added_fields() -> Iterator[tuple[str, str, str]]:
    """Yield app, model and name of each field that a migration under the rule has added."""
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if not type(migration).__module__.startswith("apps.") or name[:4] <= EXEMPT.get(app, ""):
            continue
        for operation in migration.operations:
            if isinstance(operation, AddField):
                yield app, operation.model_name, operation.name


def test_code_that_does_not_know_a_column_can_add_rows() -> None:
    added = list(_added_fields())
    assert ("accounts", "user", "password_fits_operators") in added
    for app, model, name in added:
        field = apps.get_model(app, model)._meta.get_field(name)
        assert field.null or field.has_db_default(), f"{app}.{model}.{name}"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("model", "ask"),
    [
        (Backtest, Backtest.objects.next_in_queue),
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
