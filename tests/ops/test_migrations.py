"""Migrations keep the names that running code needs, but for one release that stops it first."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField, RunSQL
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState
from django.utils import timezone
from procrastinate.contrib import django as procrastinate

from apps.backtests.models import Backtest
from apps.backtests.running import queue
from apps.trading.live import leases
from apps.trading.models import BarStream, GlobalSwitch, KillSwitch
from apps.trading.runs import kill_switches
from tests.trading.upgrade.test_upgrade import RELEASE, database_of

# Release 1.0.0 has its schema by these.
INITIAL = "0001_release_1_0"

# The columns that migrations after 1.0.0 remove or rename. Its processes are stopped before they
# run. Later releases migrate beside running code and add nothing here.
REMOVED = {
    ("accounts", "0003_export_in_chunks"): {"accounts_dataexport.archive"},
    ("accounts", "0004_current_names"): {"accounts_session.*"},
    ("backtests", "0004_current_names"): {
        "backtests_backtest.beat_at",
        "backtests_backtest.findings",
        "backtests_lastturn.*",
    },
    ("market", "0006_current_names"): {
        "market_candleblock.*",
        "market_edition.*",
        "market_livecandle.*",
        "market_replay.began",
    },
    ("ops", "0003_no_backup_records"): {"ops_backuprecord.*"},
    ("ops", "0004_current_names"): {"ops_serviceprocess.beat_at"},
    ("ops", "0005_idle_reason"): {"ops_serviceprocess.resting"},
    ("trading", "0003_current_names"): {
        "trading_lane.*",
        "trading_lanerow.*",
        "trading_order.cancel_asked_at",
        "trading_position.close_asked_at",
        "trading_run.close_asked_at",
        "trading_runstate.lane_id",
        "trading_tally.*",
    },
    ("webhooks", "0003_count_mails_like_requests"): {
        "webhooks_emailnotices.day",
        "webhooks_emailnotices.sent",
    },
}
RENAMED_JOBS = {
    "accounts.shut_out": "accounts.deactivate",
    "backtests.take_turn": "backtests.run_next",
    "market.fold": "market.compact",
    "webhooks.take_turn": "webhooks.dispatch",
}
# A later release adds jobs and keeps these names: its machines and older ones share the queue.
JOBS = {
    "accounts.close",
    "accounts.deactivate",
    "accounts.export",
    "accounts.mail",
    "accounts.reset",
    "backtests.make_evidence",
    "backtests.run_next",
    "config.purge",
    "market.compact",
    "trading.drift",
    "trading.drift_of_day",
    "trading.expiries",
    "webhooks.dispatch",
    "webhooks.mail",
}


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


def _columns(state: ProjectState) -> dict[str, set[str]]:
    """Return the columns keyed by table, without the seconds that Django takes to build models."""
    return {
        model.options.get("db_table") or f"{app}_{name}": {
            field.db_column or (f"{key}_id" if field.remote_field else key)
            for key, field in model.fields.items()
            if not field.many_to_many
        }
        for (app, name), model in state.models.items()
    }


@pytest.mark.django_db
def test_no_migration_after_this_release_removes_or_renames_a_column() -> None:
    executor = MigrationExecutor(connection)
    state, removed = ProjectState(real_apps=set()), {}
    before: dict[str, set[str]] = {}
    for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes(), True):
        migration.mutate_state(state, preserve=False)
        if not type(migration).__module__.startswith("apps."):
            continue
        after = _columns(state)
        lost = {f"{table}.*" for table in before if table not in after} | {
            f"{table}.{column}"
            for table in before.keys() & after.keys()
            for column in before[table] - after[table]
        }
        if lost and migration.name != INITIAL:
            removed[migration.app_label, migration.name] = lost
        before = after
    assert removed == REMOVED


def test_no_raw_sql_after_this_release_renames_or_drops() -> None:
    changes = re.compile(r"\b(RENAME|DROP (TABLE|COLUMN)|SET task_name)\b")
    changing = {
        (app, name)
        for (app, name), migration in MigrationLoader(None).disk_migrations.items()
        for operation in migration.operations
        if type(migration).__module__.startswith("apps.") and isinstance(operation, RunSQL)
        if name != INITIAL and changes.search(str(operation.sql))
    }
    renaming = {key for key in REMOVED if key[1].endswith("_current_names")}
    one_table = ("core", "0002_audit_in_one_table")  # under the same name, with the same columns
    assert changing == renaming - {("accounts", "0004_current_names")} | {one_table}


@pytest.mark.django_db
def test_no_table_key_index_or_sequence_has_a_former_name() -> None:
    """PostgreSQL and Django name keys, checks, indexes and sequences after their table."""
    gone = [name.removesuffix(".*") for names in REMOVED.values() for name in names]
    former = {name.replace(".", "_") for name in gone}
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname FROM pg_constraint UNION SELECT relname FROM pg_class")
        names = {name for (name,) in cursor.fetchall()}
    assert {name for name in names if any(old in name for old in former)} == set()
    assert "trading_barstream_pkey" in names


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_migrate_refuses_while_a_process_of_release_1_0_runs() -> None:
    report = """
        INSERT INTO ops_serviceprocess
            (machine, pid, role, version, key_fingerprint, clock_ahead, resting, beat_at)
        VALUES ('trade1', 417, 'runner', '1.0.0', '', 0, '', now())
    """
    with database_of(RELEASE):
        with connection.cursor() as cursor:
            cursor.execute(report)
        with pytest.raises(CommandError, match=r"1\.0\.0 still runs \(runner 417 on trade1\)"):
            call_command("migrate", verbosity=0)
        assert "trading_lane" in connection.introspection.table_names()

        with connection.cursor() as cursor:  # it was killed, and is silent since
            cursor.execute("UPDATE ops_serviceprocess SET beat_at = now() - interval '31 seconds'")
        call_command("migrate", verbosity=0)
        assert "trading_barstream" in connection.introspection.table_names()
        call_command("migrate", verbosity=0)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_migrate_renames_waiting_interrupted_and_scheduled_jobs() -> None:
    enqueue = """
        INSERT INTO procrastinate_jobs (queue_name, task_name, status, queueing_lock, args)
        VALUES ('small', %s, %s::procrastinate_job_status, %s, '{"user_id": "a"}') RETURNING id
    """
    schedule = """
        INSERT INTO procrastinate_periodic_defers (task_name, defer_timestamp, job_id)
        VALUES ('market.fold', 1795800000, %s)
    """
    expected = {}
    with database_of(RELEASE):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")
            for old, new in {**RENAMED_JOBS, "webhooks.mail": "webhooks.mail"}.items():
                for status in ("todo", "doing", "failed"):
                    lock = old if old == "market.fold" else None
                    cursor.execute(enqueue, [old, status, lock])
                    expected[cursor.fetchone()[0]] = (new, status, lock and new)
            cursor.execute(schedule, [min(expected)])
        call_command("migrate", verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id, task_name, status::text, queueing_lock FROM procrastinate_jobs"
            )
            assert {key: job for key, *job in cursor.fetchall()} == {
                key: list(job) for key, job in expected.items()
            }
            cursor.execute("SELECT task_name FROM procrastinate_periodic_defers")
            assert cursor.fetchall() == [("market.compact",)]


def test_workers_know_each_job_by_its_name() -> None:
    assert procrastinate.app.tasks.keys() >= JOBS
    assert set(RENAMED_JOBS.values()) <= JOBS


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
