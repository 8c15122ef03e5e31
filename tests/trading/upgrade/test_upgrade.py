"""Runs that an earlier release left open go on after `migrate`, as if nothing had happened.

README.md says what the databases hold and how they were made.
"""

import gzip
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from apps.algorithms.models import Algorithm
from apps.core.times import moment
from apps.engine.kernel import saved
from apps.market.store import GRACE_PERIOD
from apps.trading import services
from apps.trading.drift import checking
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
from tests.trading.live.market_day import DAY, FIRST, backtested, step, times
from tests.trading.live.test_runner import expected_of, trades_of

DUMP = Path(__file__).parent / "state_5.sql.gz"
# As `make_runs` has them.
SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")
TIMEFRAME, LENGTH = "15m", 900
STARTS = times(4, LENGTH)
CUT, RESUMED = 40, 50


@pytest.fixture
def upgraded(transactional_db: None) -> Iterator[None]:
    """The earlier release's database, migrated, in the place of the tests' own."""
    parameters = connection.get_connection_params()
    name = f"{parameters['dbname']}_upgraded"
    with closing(psycopg.connect(**parameters, autocommit=True)) as server:
        server.execute(f"CREATE DATABASE {name}")
        with patch.dict(connection.settings_dict, NAME=name):
            try:
                connection.close()
                with psycopg.connect(**parameters | {"dbname": name}) as restored:
                    restored.execute(gzip.decompress(DUMP.read_bytes()))
                call_command("migrate", verbosity=0)
                yield
            finally:
                connection.close()
                server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def run_of(name: str) -> Run:
    return Run.objects.select_related("algorithm__owner").get(algorithm__name=name)


def held(name: str) -> Decimal:
    positions = Position.objects.open().filter(run=run_of(name))
    return sum((Decimal(position.quantity) for position in positions), Decimal())


def go(runner: Runner, first: int, stop: int) -> None:
    for start in STARTS[first:stop]:
        step(runner, SYMBOLS, TIMEFRAME, start + LENGTH + GRACE_PERIOD)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_runs_of_the_release_before_go_on(upgraded: None) -> None:
    states = [bytes(state.data) for state in RunState.objects.all()]
    assert {data[: len(saved.LAYOUT_5.header)] for data in states} == {saved.LAYOUT_5.header}
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

    # What was stopped is closed. What is paused leaves by its own exit and enters nothing, until it
    # is resumed.
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

    # The night after repeats each session from the state in which it began.
    checking.check_ended(now=make.NOW, market_now=FIRST + 7 * DAY, stopping=lambda: False)
    assert DriftReport.objects.count() == SessionStart.objects.count()
    drifted = DriftReport.objects.exclude(total=0)  # both by what their owner did
    assert {report.run.algorithm.name for report in drifted} == {"paused", "stopped"}
