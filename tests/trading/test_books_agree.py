"""The books and the engine's state agree after every row, in any market."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.db.models import Sum

from apps.accounts.models import User
from apps.engine.kernel.codes import CLOSE_LONG, CLOSE_SHORT, ENTER, ENTER_LONG, ENTER_SHORT
from apps.engine.kernel.reasons import REJECTIONS
from apps.engine.kernel.records import State
from apps.engine.simulation.plan import Contract
from apps.trading.booking.interpret import pending_exit_reason
from apps.trading.models import (
    Account,
    Fill,
    Order,
    Position,
    Posting,
    Signal,
    Trade,
)
from apps.trading.models.money import rupees
from tests.trading.stepped_run import Bar, Stepper, make_stepper, play

SYMBOLS = ("NSE:ONE", "NSE:TWO", "NSE:SIX")
HEARD = (
    0,
    0,
    0,
    ENTER_LONG,
    ENTER_SHORT,
    ENTER,
    CLOSE_LONG | CLOSE_SHORT,
    CLOSE_LONG | ENTER_SHORT,
)


def drawn(owner: User, rng: np.random.Generator) -> Stepper:
    sizing = {
        "method": "fixed_quantity",
        "quantity": int(rng.integers(1, 400)),
        "pyramiding": {"enabled": True, "maxEntries": int(rng.integers(2, 4))},
    }
    execution = {
        "mode": "paper",
        "exchange": "NSE",
        "productType": "carryforward",
        "orderType": str(rng.choice(["market", "limit", "stop"])),
        "limitOffset": 0.2,
        "slippage": 0.03,
        "initialCapital": 60_000,
    }
    exits = {
        "stopLoss": {"type": "percentage", "percentage": 1},
        "takeProfit": {"type": "percentage", "percentage": 1.5},
        "trailingStop": {"enabled": True, "type": "percentage", "percentage": 0.7},
    }
    risk = {"maxPositionSize": 40_000, "maxDailyLoss": 900, "maxOpenPositions": 2}
    return make_stepper(
        owner,
        *SYMBOLS,
        contract=Contract(multiplier=2, margin=0.37),
        positionSizing=sizing,
        executionSettings=execution,
        exitConditions=exits,
        riskParameters=risk,
    )


def rows(rng: np.random.Generator, count: int) -> Iterator[tuple[dict[str, Bar], dict[str, int]]]:
    close = np.array([100.0, 33.35, 250.0])
    for _ in range(count):
        opened = close * np.exp(rng.normal(0, 0.004, 3))
        close = opened * np.exp(rng.normal(0, 0.006, 3))
        high, low = np.maximum(opened, close) * 1.003, np.minimum(opened, close) * 0.997
        present = [s for s in range(3) if rng.random() > 0.15]
        yield (
            {SYMBOLS[s]: tuple(float(x[s]) for x in (opened, high, low, close)) for s in present},  # type: ignore[misc]  # of four
            {SYMBOLS[s]: int(rng.choice(HEARD)) for s in present},
        )


def assert_agrees(stepper: Stepper, opened: Decimal) -> None:
    positions, account = stepper.state.positions, stepper.state.account[0]
    held = {
        s: round(float(p["side"] * p["quantity"])) for s, p in zip(SYMBOLS, positions, strict=True)
    }
    kept = dict(Position.objects.open().values_list("symbol", "quantity"))
    assert kept == {symbol: quantity for symbol, quantity in held.items() if quantity}
    assert_orders_wait(stepper.state)
    books = dict(Posting.objects.values_list("book").annotate(total=Sum("amount")))
    stored = Account.objects.get()
    locked = sum((rupees(float(p["locked"])) for p in positions if p["side"]), Decimal(0))
    assert books.get("locked", 0) == locked
    assert books["cash"] + locked == stored.balance == opened + stepper.run.capital - 60_000
    assert sum(books.values()) == 0
    assert Trade.objects.count() == account["trades"]
    assert float(stored.balance - opened) == pytest.approx(
        float(account["cash"] + sum(p["locked"] for p in positions if p["side"])) - 60_000,
        abs=0.006 * (account["trades"] + 1),
    )
    assert_refusals_are_told(account)


def assert_orders_wait(state: State) -> None:
    slots = list(zip(SYMBOLS, state.positions, state.orders[:, 0], strict=True))
    waiting = set(Order.objects.filter(status="open").values_list("symbol", "intent"))
    exits = {symbol for symbol, intent in waiting if intent == "exit"}
    entries = {symbol for symbol, intent in waiting if intent != "exit"}
    assert exits == {
        symbol
        for symbol, position, order in slots
        if pending_exit_reason(position, order, reverse=True)
    }
    assert entries <= {symbol for symbol, _, order in slots if order["pending"] & ENTER}


def assert_refusals_are_told(account: Any) -> None:
    refused = Counter(Signal.objects.filter(followed=False).values_list("reason", flat=True))
    refused["both_sides"] //= 2
    counted = dict(zip(REJECTIONS, account["rejected"].tolist(), strict=True))
    assert {**dict.fromkeys(REJECTIONS, 0), **refused} == counted


def agree(owner: User, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    stepper = drawn(owner, rng)
    opened = Account.objects.get().balance
    for row in rows(rng, count):
        play(stepper, row)
        assert_agrees(stepper, opened)
    assert Fill.objects.count() == Order.objects.filter(status="filled").count()
    assert Trade.objects.exists()


def test_books_agree_with_the_engine_after_every_row(alice: User) -> None:
    agree(alice, seed=1, count=25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 14))
def test_books_agree_with_the_engine_on_many_walks(alice: User, seed: int) -> None:
    agree(alice, seed, count=120)
