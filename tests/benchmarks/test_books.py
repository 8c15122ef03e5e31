"""The gain from writing the results of many runs in the same few statements."""

from typing import Any

import pytest

from apps.engine.kernel.codes import ENTER_LONG
from apps.trading.booking.record import book_steps
from tests import make
from tests.benchmarks.side_by_side import compare
from tests.trading.stepped_run import BAR, Stepper, make_stepper

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

RUNS, ROUNDS = 50, 5
SBIN = "NSE:SBIN"
FLAT, UP = {SBIN: (100.0, 101.0, 99.0, 100.0)}, {SBIN: (103.0, 105.0, 103.0, 105.0)}


def trade(steppers: list[Stepper]) -> None:
    """Trade three rows: a signal, its fill, and a reached target."""
    for row in ((FLAT, {SBIN: ENTER_LONG}), (FLAT, {}), (UP, {})):
        book_steps([stepper.step(*row) for stepper in steppers], now=steppers[0].now)
        for stepper in steppers:
            stepper.time += BAR


def test_a_trade_of_each_run() -> None:
    owners = [make.user(f"trader{n}") for n in range(10)]
    balance: dict[str, Any] = {
        "executionSettings": {
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "productType": "carryforward",
            "initialCapital": 10_000,
        }
    }
    first_account, own_accounts = (
        [make_stepper(owners[n % len(owners)], **balance) for n in range(RUNS)] for _ in range(2)
    )

    def together() -> None:
        trade(first_account)

    def one_by_one() -> None:
        for stepper in own_accounts:
            trade([stepper])

    name = f"a trade of each of {RUNS} runs, with money and events, written together against alone"
    compare(name, together, one_by_one, ROUNDS)
