"""The cost of notifications of event streams in the booking of a bar: triggers, and their
commit.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection, transaction

from apps.engine.kernel.codes import ENTER_LONG
from apps.trading.activity.event_stream.services import CHANNELS
from apps.trading.booking.record import book_steps
from apps.trading.booking.step_result import BarStep
from tests import make
from tests.benchmarks.side_by_side import report
from tests.trading.stepped_run import BAR, Bar, Stepper, make_stepper

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
]

OWNERS, RUNS, ROUNDS = 20, 200, 9
SBIN = "NSE:SBIN"
FLAT, UP = (100.0, 101.0, 99.0, 100.0), (103.0, 105.0, 103.0, 105.0)
# A signal, its fill, and the target that is reached.
ROWS: list[tuple[Bar, dict[str, int]]] = [(FLAT, {SBIN: ENTER_LONG}), (FLAT, {}), (UP, {})]
TRIGGERS = [
    *(
        (f"trading_{table}", f"notify_of_{change}")
        for table in ("order", "position", "signal")
        for change in ("new", "change")
    ),
    ("trading_account", "notify_of_change"),
    ("webhooks_event", "notify_of_event"),
]


def test_a_bar_in_which_many_runs_trade() -> None:
    owners = [make.user(f"trader{n}") for n in range(OWNERS)]
    execution = {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": "market",
        "productType": "carryforward",
        "initialCapital": 10_000,
    }
    steppers = [make_stepper(owners[n % OWNERS], executionSettings=execution) for n in range(RUNS)]
    silent, loud = [], []
    with listening():
        for _ in range(ROUNDS + 1):
            switch_triggers("DISABLE")
            silent.append(trade(steppers))
            switch_triggers("ENABLE")
            loud.append(trade(steppers))
    name = f"a trade of each of {RUNS} runs of {OWNERS} users, without notifications against with"
    report(name, silent[1:], loud[1:])


def trade(steppers: list[Stepper]) -> float:
    """Let each run trade once; return the seconds of booking the three bars."""
    seconds = 0.0
    for bar, signals in ROWS:
        steps = [stepper.step({SBIN: bar}, signals) for stepper in steppers]
        seconds += book(steps, steppers[0])
        for stepper in steppers:
            stepper.time += BAR
    return seconds


def book(steps: list[BarStep], stepper: Stepper) -> float:
    began = time.perf_counter()
    with transaction.atomic():
        book_steps(steps, now=stepper.now)
    return time.perf_counter() - began


def switch_triggers(verb: str) -> None:
    with connection.cursor() as cursor:
        for table, trigger in TRIGGERS:
            cursor.execute(f"ALTER TABLE {table} {verb} TRIGGER {trigger}")


@contextmanager
def listening() -> Iterator[None]:
    """Listen as each web process does."""
    settings = connection.settings_dict
    with psycopg.connect(
        host=settings["HOST"],
        port=settings["PORT"],
        user=settings["USER"],
        password=settings["PASSWORD"],
        dbname=settings["NAME"],
        autocommit=True,
    ) as listener:
        for channel in CHANNELS:
            listener.execute(f"LISTEN {channel}")
        yield
        assert list(listener.notifies(timeout=1)), "no trigger notifies"
