"""The records of a row: orders, fills, money, positions, trades, signals."""

from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.core.times import moment
from apps.engine.kernel import records
from apps.engine.kernel.codes import (
    CLOSE_LONG,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    KILL_SWITCH,
)
from apps.engine.kernel.kernel import ordered_exit
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Plan, block_entries
from apps.engine.simulation.plan import Contract
from apps.trading.booking.interpret import OrderSlot, client_order_id, pending_exit_reason
from apps.trading.booking.record import book_steps
from apps.trading.models import (
    Account,
    Fill,
    LedgerEntry,
    Order,
    Position,
    Posting,
    Signal,
    Trade,
)
from apps.webhooks.models import Event
from tests.trading.stepped_run import OPENING, make_stepper, play, record

FLAT = (100.0, 101.0, 99.0, 100.0)
SBIN, INFY = "NSE:SBIN", "NSE:INFY"
LONG = {SBIN: ENTER_LONG}


def row(*bars: tuple[float, float, float, float]) -> dict[str, Any]:
    return dict(zip((SBIN, INFY), bars, strict=False))


def balances() -> dict[str, Decimal]:
    """Return the sum of all postings, keyed by book."""
    sums = Posting.objects.values_list("book").annotate(total=Sum("amount"))
    return dict(sums.values_list("book", "total"))


def test_a_sale_of_the_next_day_pays_the_depository_with_gst(alice: User) -> None:
    """13 rupees: the fill itemises them, and the ledger and the trade include them."""
    run = make_stepper(alice)
    play(run, (row(FLAT), LONG), row(FLAT))
    run.time += 24 * 3600
    play(run, (row(FLAT), {SBIN: CLOSE_LONG}), row(FLAT))
    bought, sold = Fill.objects.order_by("at")
    assert bought.charges_by_kind["depositoryCharge"] == "0.00"
    assert sold.charges_by_kind == {
        "brokerage": "1.00",
        "transactionTax": "1.00",
        "exchangeFee": "0.30",
        "ipft": "0.00",
        "sebiFee": "0.00",
        "stampDuty": "0.00",
        "gst": "2.57",
        "depositoryCharge": "13.00",
    }
    assert sold.charges == Decimal("17.87")
    assert balances()["charges"] == bought.charges + sold.charges == Trade.objects.get().charges


def test_a_signal_waits_as_an_order_until_the_next_bar(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG))
    order, signal = Order.objects.get(), Signal.objects.get()
    assert (order.status, order.side, order.intent, order.type) == (
        "open",
        "buy",
        "entry",
        "market",
    )
    assert (order.quantity, order.ended_at, order.price) == (None, None, None)
    assert order.pk == client_order_id(stepper.run.pk, OPENING, SBIN, OrderSlot.ENTRY)
    assert (signal.side, signal.action, signal.followed, signal.reason) == (
        "long",
        "entry",
        True,
        "",
    )
    assert not Fill.objects.exists()


def test_a_fill_is_booked_with_its_charges(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), row(FLAT))
    order, fill = Order.objects.get(), Fill.objects.get()
    assert (order.status, order.quantity, order.ended_at) == ("filled", 10, moment(stepper.time))
    assert (fill.quantity, fill.price, fill.charges) == (10, Decimal(100), Decimal("1.53"))
    assert fill.charges_by_kind["gst"] == "0.23"
    assert sum(map(Decimal, fill.charges_by_kind.values())) == fill.charges
    assert balances() == {
        "cash": 10_000_000 - 1000 - Decimal("1.53"),
        "locked": 1000,
        "capital": -10_000_000,
        "charges": Decimal("1.53"),
    }
    account = Account.objects.get()
    assert account.balance == 10_000_000 - Decimal("1.53")
    assert account.reserved == 1_000_000 - Decimal("1.53") == stepper.run.capital
    stepper.run.refresh_from_db()
    assert stepper.run.capital == account.reserved


def test_a_position_is_marked_until_it_is_closed(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), row(FLAT), row((100, 103, 100, 103)))
    position = Position.objects.get()
    assert (position.quantity, position.entry_price, position.mark) == (
        10,
        Decimal(100),
        Decimal(103),
    )
    assert (position.stop, position.target, position.unrealised) == (
        Decimal(98),
        Decimal(104),
        Decimal(30),
    )
    play(stepper, row((103, 105, 103, 105)))
    position.refresh_from_db()
    assert (position.mark, position.unrealised) == (Decimal(104), Decimal(0))
    assert position.closed_at is not None
    trade = Trade.objects.get()
    assert (trade.side, trade.exit_reason, trade.quantity, trade.bars) == (
        "long",
        "take_profit",
        10,
        3,
    )
    assert (trade.gross_profit, trade.profit) == (Decimal(40), 40 - trade.charges)
    assert trade.return_percentage == pytest.approx(float(trade.profit) / 10)
    exit = Order.objects.get(intent="exit")
    assert (exit.type, exit.price, exit.reason, exit.side) == (
        "limit",
        Decimal(104),
        "take_profit",
        "sell",
    )


def test_an_exit_frees_the_locked_cash_with_ledger_entries(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), row(FLAT), row((103, 105, 103, 105)))
    trade = Trade.objects.get()
    sums = balances()
    assert sums["locked"] == 0
    assert sums["result"] == -trade.gross_profit
    assert sums["charges"] == trade.charges
    assert sum(sums.values()) == 0
    account = Account.objects.get()
    assert account.balance == sums["cash"] == 10_000_000 + trade.profit
    assert account.reserved == 1_000_000 + trade.profit
    kinds = LedgerEntry.objects.exclude(fill=None).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["entry", "exit"]


def test_a_pending_exit_is_an_order_of_its_own(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), (row(FLAT), {SBIN: CLOSE_LONG}))
    exit = Order.objects.get(intent="exit")
    assert (exit.status, exit.reason, exit.side) == ("open", "signal", "sell")
    heard = Signal.objects.get(action="exit")
    assert (heard.side, heard.followed) == ("long", True)
    play(stepper, row(FLAT))
    exit.refresh_from_db()
    assert (exit.status, exit.quantity) == ("filled", 10)
    assert Order.objects.count() == 2


def test_a_reversal_is_an_exit_and_an_entry(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), (row(FLAT), {SBIN: ENTER_SHORT}), row(FLAT))
    orders = Order.objects.order_by("placed_at", "-intent")
    assert [(o.intent, o.side, o.status, o.reason) for o in orders] == [
        ("entry", "buy", "filled", ""),
        ("exit", "sell", "filled", "opposite_signal"),
        ("entry", "sell", "filled", ""),
    ]
    assert Position.objects.open().get().quantity == -10
    assert not Signal.objects.filter(action="exit").exists()


def test_a_reversal_whose_entry_is_dropped_still_closes(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), (row(FLAT), {SBIN: ENTER_SHORT}))
    stepper.state.drop_entry(0, closes_on_opposite=True)
    play(stepper, row(FLAT))
    ended = Order.objects.exclude(side="buy").values_list("intent", "status", "reason")
    assert set(ended) == {
        ("exit", "filled", "opposite_signal"),
        ("entry", "cancelled", "cancelled"),
    }


def test_a_trade_within_one_bar_writes_all_its_orders(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), row((100, 100, 97, 99)))
    position = Position.objects.get()
    assert (position.quantity, position.entry_price, position.mark) == (
        10,
        Decimal(100),
        Decimal(98),
    )
    assert position.closed_at is not None
    exit = Order.objects.get(intent="exit")
    assert (exit.type, exit.price, exit.reason) == ("stop", Decimal(98), "stop_loss")
    assert balances()["locked"] == 0


def test_a_gap_and_a_new_entry_in_the_same_bar_have_orders_of_their_own(alice: User) -> None:
    """Out at the open, in again at the open, and stopped inside the bar."""
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), (row(FLAT), LONG), row((90, 90, 80, 85)))
    assert Order.objects.filter(intent="exit", status="filled").count() == 2
    assert Order.objects.filter(intent="entry", status="filled").count() == 2
    assert Position.objects.filter(closed_at=None).count() == 0
    assert Position.objects.count() == Trade.objects.count() == 2
    assert balances()["locked"] == 0


def test_a_signal_in_the_direction_of_the_position_is_not_recorded(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), (row(FLAT), LONG), row(FLAT))
    assert Order.objects.count() == Signal.objects.count() == 1


def test_an_add_is_locked_by_the_paisa(alice: User) -> None:
    adds = {
        "method": "fixed_quantity",
        "quantity": 3,
        "pyramiding": {"enabled": True, "maxEntries": 2},
    }
    odd = (33.335, 34.0, 33.0, 33.335)
    stepper = make_stepper(alice, positionSizing=adds)
    play(stepper, (row(odd), LONG), (row(odd), LONG), row(odd))
    assert Order.objects.filter(intent="add", status="filled").count() == 1
    assert balances()["locked"] == Decimal("200.01")
    play(stepper, row((30, 30, 30, 30)))
    assert balances()["locked"] == 0
    assert Trade.objects.get().quantity == 6


def at_limit(offset: float) -> dict[str, Any]:
    return {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": "limit",
        "limitOffset": offset,
        "productType": "carryforward",
    }


def test_an_add_and_an_exit_in_one_bar_trade_the_whole_quantity(alice: User) -> None:
    adds = {
        "method": "fixed_quantity",
        "quantity": 3,
        "pyramiding": {"enabled": True, "maxEntries": 2},
    }
    stepper = make_stepper(alice, positionSizing=adds)
    play(stepper, (row(FLAT), LONG), (row(FLAT), LONG), row((100, 100, 90, 95)))
    assert Position.objects.get().closed_at is not None
    assert Trade.objects.get().quantity == 6
    assert balances()["locked"] == 0


@pytest.mark.parametrize(
    ("steps", "reason", "status"),
    [
        (
            {"positionSizing": {"method": "fixed_amount", "amount": 50}},
            "below_one_lot",
            "rejected",
        ),
        ({"executionSettings": at_limit(5)}, "limit_not_reached", "cancelled"),
    ],
)
def test_an_unfilled_order_gives_the_reason(
    alice: User, steps: dict[str, Any], reason: str, status: str
) -> None:
    stepper = make_stepper(alice, **steps)
    play(stepper, (row(FLAT), LONG), row(FLAT))
    order, signal = Order.objects.get(), Signal.objects.get()
    assert (order.status, order.reason, order.quantity) == (status, reason, None)
    assert (signal.followed, signal.reason) == (False, reason)


def test_a_priced_order_shows_its_price(alice: User) -> None:
    play(make_stepper(alice, executionSettings=at_limit(1)), (row(FLAT), LONG))
    order = Order.objects.get()
    assert (order.type, order.price) == ("limit", Decimal(99))


def test_a_signal_refused_at_its_close_makes_no_order(alice: User) -> None:
    stepper = make_stepper(alice)
    block_entries(stepper.state, KILL_SWITCH)
    play(stepper, (row(FLAT), LONG), (row(FLAT), {SBIN: ENTER}))
    assert not Order.objects.exists()
    signals = Signal.objects.order_by("bar_time", "side").values_list("side", "followed", "reason")
    assert list(signals) == [
        ("long", False, "kill_switch"),
        ("long", False, "both_sides"),
        ("short", False, "both_sides"),
    ]


def test_waiting_entries_are_cancelled_when_entries_are_blocked(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG))
    block_entries(stepper.state, KILL_SWITCH)
    play(stepper, (row(FLAT), LONG))
    order = Order.objects.get()
    assert (order.status, order.reason) == ("cancelled", "kill_switch")
    signals = Signal.objects.order_by("bar_time").values_list("followed", "reason")
    assert list(signals) == [(False, "kill_switch"), (False, "kill_switch")]


def test_an_order_waits_while_its_symbol_has_no_bar(alice: User) -> None:
    stepper = make_stepper(alice, SBIN, INFY)
    play(stepper, (row(FLAT, FLAT), LONG), {INFY: FLAT})
    assert Order.objects.get().status == "open"
    play(stepper, row(FLAT, FLAT))
    assert Order.objects.get().status == "filled"


def test_an_order_that_waits_no_more_was_cancelled(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG))
    stepper.state.orders["pending"] = 0
    play(stepper, row(FLAT))
    order, signal = Order.objects.get(), Signal.objects.get()
    assert (order.status, order.reason) == ("cancelled", "cancelled")
    assert (signal.followed, signal.reason) == (False, "cancelled")


def test_a_contract_is_settled_when_it_expires(alice: User) -> None:
    stepper = make_stepper(alice, contract=Contract(multiplier=5, margin=0.2))
    play(stepper, (row(FLAT), LONG), row((100, 103, 99, 102)))
    assert balances()["locked"] == 10 * 100 * 5 * Decimal("0.2")
    book_steps([stepper.expire(SBIN)], now=stepper.now)
    trade = Trade.objects.get()
    assert (trade.exit_reason, trade.exit_price, trade.gross_profit) == (
        "expiry",
        Decimal(102),
        Decimal(100),
    )
    assert balances()["locked"] == 0
    assert not Position.objects.open().exists()


def test_the_account_pays_losses_beyond_the_capital_of_a_run(alice: User) -> None:
    """A short with all its money, and a market that doubles twice overnight."""
    short = {"method": "percentage_of_equity", "percentage": 100}
    risk = {"maxPositionSize": 10**9, "maxDailyLoss": 10**9, "maxOpenPositions": 1}
    stepper = make_stepper(alice, positionSizing=short, riskParameters=risk)
    play(stepper, (row(FLAT), {SBIN: ENTER_SHORT}), row(FLAT), row((400, 400, 400, 400)))
    trade, account = Trade.objects.get(), Account.objects.get()
    assert trade.profit < -2_900_000
    assert (stepper.run.capital, account.reserved) == (Decimal(0), Decimal(0))
    assert account.balance == 10_000_000 + trade.profit
    assert sum(balances().values()) == 0


def test_the_shortfall_of_an_account_is_lent(alice: User) -> None:
    short = {"method": "percentage_of_equity", "percentage": 100}
    risk = {"maxPositionSize": 10**9, "maxDailyLoss": 10**9, "maxOpenPositions": 1}
    stepper, other = (
        make_stepper(alice, positionSizing=short, riskParameters=risk),
        make_stepper(alice),
    )
    play(stepper, (row(FLAT), {SBIN: ENTER_SHORT}), row(FLAT), row((1300, 1300, 1300, 1300)))
    account = Account.objects.get()
    assert account.balance == account.reserved == other.run.capital
    lent = LedgerEntry.objects.get(kind="adjustment")
    assert lent.postings.get(book="cash").amount > 1_000_000
    assert balances()["cash"] + balances()["locked"] == account.balance


def test_each_fill_writes_an_event(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (row(FLAT), LONG), row(FLAT), row((103, 105, 103, 105)))
    events = Event.objects.filter(type="trade.executed").order_by("sequence")
    assert [event.sequence for event in events] == [2, 3]
    assert events[0].data == {
        "algorithmId": stepper.run.algorithm_id,
        "algorithmName": stepper.run.algorithm.name,
        "runId": stepper.run.pk,
        "orderId": Order.objects.get(intent="entry").pk,
        "time": "2026-11-02T04:00:00.000Z",
        "symbol": SBIN,
        "side": "buy",
        "quantity": 10,
        "price": 100,
        "reason": "entry",
        "charges": float(Fill.objects.get(order__intent="entry").charges),
        "realisedProfit": None,
        "tradeProfit": None,
        "positionAfter": 10,
        "profitToday": events[0].data["profitToday"],
    }
    left, trade = events[1].data, Trade.objects.get()
    assert (left["reason"], left["positionAfter"]) == ("take_profit", 0)
    assert left["realisedProfit"] == float(trade.gross_profit)
    assert left["tradeProfit"] == float(trade.profit)
    assert left["charges"] == float(Fill.objects.get(order__intent="exit").charges) > 0


def test_many_runs_take_as_many_statements_as_one(alice: User, bob: User) -> None:
    def statements(steppers: list[Any]) -> int:
        record(steppers, [(row(FLAT), LONG)] * len(steppers))
        record(steppers, [(row(FLAT), {})] * len(steppers))
        steps = [stepper.step(row((103, 105, 103, 105)), LONG) for stepper in steppers]
        with CaptureQueriesContext(connection) as captured:
            book_steps(steps, now=steppers[0].now)
        return len(captured)

    few = statements([make_stepper(alice)])
    assert statements([make_stepper(owner) for owner in (alice, bob, bob, alice)]) == few


def test_waiting_closes_are_read_as_the_engine_does() -> None:
    position, order = np.zeros(1, records.POSITION)[0], np.zeros(1, records.ORDER)[0]
    for side in (1.0, -1.0):
        for reverse in (True, False):
            for pending in range(128):
                if pending & ENTER == ENTER:
                    continue
                position["side"], order["pending"], order["close_reason"] = side, pending, 7
                plan = Plan(reverse=reverse)
                of_kernel = cast(Any, ordered_exit).py_func
                expected = EXIT_REASONS[of_kernel(view(position), view(order), plan)]
                assert pending_exit_reason(position, order, reverse=reverse) == expected


def view(record: Any) -> Any:
    return np.rec.array(record.reshape(1), copy=False)[0]


def test_an_opposite_exit_of_one_side_is_a_signal(alice: User) -> None:
    entries = {
        "positionType": "long",
        "conditions": [
            {
                "type": "indicator_value",
                "indicator": {"type": "RSI", "period": 14},
                "operator": "above",
                "value": 50,
            }
        ],
    }
    stepper = make_stepper(alice, entryConditions=entries)
    play(stepper, (row(FLAT), LONG), (row(FLAT), {SBIN: EXIT_LONG | EXIT_SHORT}))
    assert Order.objects.get(intent="exit").reason == "opposite_signal"
    assert Signal.objects.get(action="exit").side == "long"
