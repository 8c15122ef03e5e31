"""Stranded runs: when stopped, they are closed at the last price and release their capital."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum

from apps.accounts.models import User
from apps.trading import services
from apps.trading.live import liquidation
from apps.trading.models import Book, Order, Posting, Run, RunState, Trade
from tests import make
from tests.trading.live.market_day import DAY, FIRST, started
from tests.trading.live.test_effects import LENGTH, Market, always_in, split, status_of

pytestmark = pytest.mark.django_db


def save_as_unknown_version(run: Run) -> None:
    data = bytes(RunState.objects.get(run=run).data)
    RunState.objects.filter(run=run).update(data=b"state\0\x00\x63" + data[8:])


def cut_state_short(run: Run) -> None:
    data = bytes(RunState.objects.get(run=run).data)
    RunState.objects.filter(run=run).update(data=data[:-9])


def make_steps_invalid(run: Run) -> None:
    configuration: dict[str, Any] = {**run.configuration, "positionSizing": {"method": "by_moon"}}
    Run.objects.filter(pk=run.pk).update(configuration=configuration)


BREAK = pytest.mark.parametrize(
    "break_run", [save_as_unknown_version, cut_state_short, make_steps_invalid]
)


def holding_100(owner: User) -> tuple[Market, Run]:
    """Return a run that has bought 100 shares at 101, with a last price of 104."""
    market = Market([101, 102, 104, 105, 106])
    run = started(owner, always_in())
    market.go(3)
    assert run.positions.open().get().quantity == 100
    return market, run


def stop(run: Run, *, close_positions: bool = True) -> None:
    services.stop(
        owner=run.algorithm.owner,
        algorithm_id=run.algorithm_id,
        close_positions=close_positions,
        now=make.NOW,
    )


@BREAK
def test_a_stopped_run_that_cannot_continue_is_closed_at_the_last_price_and_released(
    alice: User, break_run: Callable[[Run], None]
) -> None:
    market, run = holding_100(alice)
    break_run(run)
    market.runner = type(market.runner)()
    market.go()
    assert status_of(run) == "error"
    assert services.read_account(owner=alice, now=make.NOW).reserved == run.capital
    assert liquidation.close_stranded_runs(now=make.NOW) == 0  # nobody has stopped it

    stop(run)
    assert liquidation.close_stranded_runs(now=make.NOW) == 1
    assert liquidation.close_stranded_runs(now=make.NOW) == 0

    trade = Trade.objects.get()
    assert trade.quantity == 100
    assert (trade.entry_price, trade.exit_price) == (Decimal(101), Decimal(104))
    assert (trade.exit_reason, trade.gross_profit) == ("stopped", Decimal("300.00"))
    order = Order.objects.get(intent="exit")
    assert (order.status, order.side, order.quantity) == ("filled", "sell", 100)
    run.refresh_from_db()
    assert (run.positions.open().count(), run.released_at) == (0, make.NOW)
    assert not RunState.objects.exists()
    account = services.read_account(owner=alice, now=make.NOW)
    assert (account.reserved, account.balance) == (Decimal(0), 10_000_000 + trade.profit)
    locked = Posting.objects.filter(book=Book.LOCKED).aggregate(Sum("amount"))["amount__sum"]
    cash = Posting.objects.filter(book=Book.CASH).aggregate(Sum("amount"))["amount__sum"]
    assert (locked, cash) == (0, account.balance)
    services.start(owner=alice, algorithm_id=run.algorithm_id, now=make.NOW)


@BREAK
def test_the_trade_of_a_stranded_run_has_the_parts_that_steps_have_closed(
    alice: User, break_run: Callable[[Run], None]
) -> None:
    """Bought at 101; 40 of 100 have left at 103, the last price is 104."""
    market = Market([101, 101, 104, 104])
    steps = [{"at": {"type": "points", "points": 2}, "close": 40}]
    exits = {**always_in()["exitConditions"], "steps": steps}
    run = started(alice, always_in() | {"exitConditions": exits})
    market.go(3)
    assert run.positions.open().get().quantity == 60
    break_run(run)
    market.runner = type(market.runner)()
    market.go()
    stop(run)
    assert liquidation.close_stranded_runs(now=make.NOW) == 1
    trade = Trade.objects.get()
    assert (trade.quantity, trade.exit_price) == (100, Decimal("103.6"))
    assert (trade.exit_reason, trade.gross_profit) == ("stopped", Decimal("260.00"))
    account = services.read_account(owner=alice, now=make.NOW)
    assert (account.reserved, account.balance) == (Decimal(0), 10_000_000 + trade.profit)


def test_parts_from_before_a_split_are_in_the_shares_of_the_trade(alice: User) -> None:
    """Bought at 101; 40 of 100 have left at 103, 80 of the later 200; the last price is 52."""
    market = Market([101, 101, 104])
    steps = [{"at": {"type": "points", "points": 2}, "close": 40}]
    exits = {**always_in()["exitConditions"], "steps": steps}
    run = started(alice, always_in() | {"exitConditions": exits})
    market.go(3)
    split(1, 2)
    market.times += [FIRST + DAY, FIRST + DAY + LENGTH]
    market.store(market.times[3:], [52, 52])
    market.go()
    assert run.positions.open().get().quantity == 120
    save_as_unknown_version(run)
    market.runner = type(market.runner)()
    market.go()
    stop(run)
    assert liquidation.close_stranded_runs(now=make.NOW) == 1
    trade = Trade.objects.get()
    assert (trade.quantity, trade.exit_price) == (200, Decimal("51.8"))
    assert trade.gross_profit == Decimal("260.00")


def test_a_stranded_run_is_closed_even_if_its_stop_left_positions_open(alice: User) -> None:
    _, run = holding_100(alice)
    save_as_unknown_version(run)
    stop(run, close_positions=False)
    assert liquidation.close_stranded_runs(now=make.NOW) == 1
    assert not run.positions.open().exists()


def test_a_kill_switch_closes_its_positions(alice: User) -> None:
    market, run = holding_100(alice)
    save_as_unknown_version(run)
    services.engage_kill_switch(owner=alice, reason="", close_positions=True, now=make.NOW)
    assert liquidation.close_stranded_runs(now=make.NOW) == 1
    assert not run.positions.open().exists()
    market.runner = type(market.runner)()
    market.go()
    assert status_of(run) == "error"
    run.refresh_from_db()
    assert run.released_at == make.NOW


def test_a_run_that_continues_is_left_to_its_next_open(alice: User) -> None:
    market, run = holding_100(alice)
    stop(run)
    assert liquidation.close_stranded_runs(now=make.NOW) == 0
    assert run.positions.open().exists()
    market.go(2)
    run.refresh_from_db()
    assert run.released_at is not None
