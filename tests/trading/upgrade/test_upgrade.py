"""A database of release 1.0.0 is migrated; its runs and jobs continue.

README.md describes its content and its making.
"""

import gzip
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest
from apps.core import audit
from apps.core.models import AuditRecord
from apps.core.times import moment
from apps.engine.kernel import saved
from apps.market.candles.reading import GRACE_PERIOD
from apps.ops.database import local_postgres
from apps.trading import services
from apps.trading.activity.drift import checking
from apps.trading.live.runner import Runner
from apps.trading.models import (
    DriftReport,
    Order,
    Position,
    Posting,
    Run,
    RunState,
    SessionStart,
    Trade,
)
from tests import make
from tests.backtests.workers import run_queued
from tests.trading.live.market_day import DAY, FIRST, backtested, session_starts, step
from tests.trading.live.test_runner import expected_of, trades_of

RELEASE = gzip.decompress((Path(__file__).parent / "release_1_0.sql.gz").read_bytes()).decode()
# As `make_runs` has them.
SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")
TIMEFRAME, LENGTH = "15m", 900
STARTS = session_starts(4, LENGTH)
CUT, RESUMED = 40, 50


@contextmanager
def database_of(dump: str) -> Iterator[None]:
    """Put a database made from a dump in place of the tests' own."""
    parameters = connection.get_connection_params()
    name = f"{parameters['dbname']}_restored"
    with closing(psycopg.connect(**parameters, autocommit=True)) as server:
        server.execute(f"CREATE DATABASE {name}")
        with patch.dict(connection.settings_dict, NAME=name):
            try:
                connection.close()
                with psycopg.connect(**parameters | {"dbname": name}) as restored:
                    restored.execute(dump)
                yield
            finally:
                connection.close()
                server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def upgraded(transactional_db: None) -> Iterator[None]:
    with database_of(RELEASE):
        call_command("migrate", verbosity=0)
        yield


def run_of(name: str) -> Run:
    return Run.objects.select_related("algorithm__owner").get(algorithm__name=name)


def held(name: str) -> Decimal:
    positions = Position.objects.open().filter(run=run_of(name))
    return sum((Decimal(position.quantity) for position in positions), Decimal())


def go(runner: Runner, first: int, stop: int) -> None:
    for start in STARTS[first:stop]:
        step(runner, SYMBOLS, TIMEFRAME, start + LENGTH + GRACE_PERIOD)


def dump_schema() -> str:
    """Dump the schema as text."""
    server = connection.get_connection_params()
    options = ("--schema-only", "--no-owner", "--no-privileges")
    command = [
        str(next(local_postgres.program_folders()) / "pg_dump"),
        *options,
        f"--dbname={server['dbname']}",
        f"--host={server['host']}",
        f"--username={server['user']}",
    ]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"(?m)^(\\(un)?restrict|SET transaction_timeout).*\n", "", dump)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_migrated_schema_equals_a_fresh_one(transactional_db: None) -> None:
    """PostgreSQL words a restored constraint differently, so both schemas are restored."""
    dumps = [dump_schema()]
    with database_of(RELEASE):
        call_command("migrate", verbosity=0)
        dumps.append(dump_schema())
    restored = []
    for dump in dumps:
        with database_of(dump):
            restored.append(dump_schema())
    fresh, taken_over = restored
    assert taken_over == fresh
    assert fresh.count("CREATE TABLE") > 50


@pytest.mark.slow
def test_audit_records_of_release_1_0_are_kept_and_their_ids_continue(
    transactional_db: None,
) -> None:
    with database_of(RELEASE):
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM core_auditrecord ORDER BY id")
            before = cursor.fetchall()
            call_command("migrate", verbosity=0)
            cursor.execute("SELECT * FROM core_auditrecord ORDER BY id")
            assert cursor.fetchall() == before
        audit.record(audit.Action.LOGOUT, None, actor=audit.SYSTEM, now=make.NOW)
        assert AuditRecord.objects.latest("id").pk > max(row[0] for row in before)


@pytest.mark.slow
def test_initial_migrations_replace_those_of_release_1_0(transactional_db: None) -> None:
    migrations = MigrationLoader(None).disk_migrations.values()
    replaced = {name for migration in migrations for name in migration.replaces}
    with database_of(RELEASE):
        applied = set(MigrationRecorder(connection).applied_migrations())
    of_project = {(app, name) for app, name in applied if app in {app for app, _ in replaced}}
    assert of_project == replaced
    assert len(of_project) > 80


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_queued_backtest_of_release_1_0_completes(upgraded: None) -> None:
    [queued] = Backtest.objects.values_list("status", flat=True)
    assert queued == "queued"
    assert run_queued() == 1
    backtest = Backtest.objects.get()
    assert (backtest.status, backtest.error) == ("completed", None)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_open_runs_of_release_1_0_continue(upgraded: None) -> None:
    waiting = {f"{kind} order": kind for kind in ("limit", "stop")} | {"order at market": "market"}
    orders = Order.objects.filter(status="open", intent="entry").values_list(
        "run__algorithm__name", "type", "pk"
    )
    waits = {name: (kind, pk) for name, kind, pk in orders}
    assert {name: waits[name][0] for name in waiting} == waiting
    added = held("pyramiding")
    paused = held("paused")
    assert all((added, paused, held("stopped"), held("in positions")))

    # Waiting orders fill in the first row after the upgrade.
    runner = Runner()
    go(runner, CUT, CUT + 1)
    for name in waiting:
        assert Order.objects.get(pk=waits[name][1]).status == "filled", name
    assert held("paused") == paused

    # Stopped runs are closed. Paused ones exit by their own rules and enter nothing, until they are
    # resumed.
    go(runner, CUT + 1, RESUMED)
    assert Trade.objects.get(run=run_of("stopped")).exit_reason == "stopped"
    assert run_of("stopped").released_at is not None
    assert held("paused") == 0
    assert (
        Trade.objects.filter(run=run_of("paused")).latest("exit_time").exit_reason == "max_holding"
    )
    entries = Order.objects.filter(run=run_of("paused"), intent="entry", status="filled")
    before = entries.count()
    services.resume(
        owner=run_of("paused").algorithm.owner,
        algorithm_id=run_of("paused").algorithm_id,
        now=make.NOW,
    )
    go(runner, RESUMED, len(STARTS))
    assert entries.count() > before

    assert held("pyramiding") > added

    # Nobody who was not paused or stopped could tell that there was another release.
    for name in ("in positions", "pyramiding", *waiting):
        run = run_of(name)
        first = STARTS[CUT - 1] if name == "order at market" else FIRST
        result = backtested(run, start=first, end=STARTS[-1] + 1)
        assert trades_of(run) == expected_of(result), name
        assert Trade.objects.filter(run=run, exit_time__gte=moment(STARTS[CUT])).exists(), name
    assert not Algorithm.objects.filter(status="error").exists()
    assert sum(Posting.objects.values_list("amount", flat=True)) == Decimal(0)
    headers = {bytes(state.data)[: len(saved.LAYOUT.header)] for state in RunState.objects.all()}
    assert headers == {saved.LAYOUT.header}

    # The following night repeats each session from the state at its start.
    checking.check_ended(now=make.NOW, market_now=FIRST + 7 * DAY, stopping=lambda: False)
    assert DriftReport.objects.count() == SessionStart.objects.count()
    drifted = DriftReport.objects.exclude(total=0)  # both by their owner's actions
    assert {report.run.algorithm.name for report in drifted} == {"paused", "stopped"}
