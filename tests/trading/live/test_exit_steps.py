"""Orders of exits in steps: steps and stop of a position rest at the broker."""

from datetime import date
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.times import moment
from apps.market.models import CorporateAction
from apps.trading import services
from apps.trading.models import Fill, Order, Run, Trade
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.live.market_day import DAY, FIRST, started
from tests.trading.live.test_effects import LENGTH, SHARE, Market, always_in

pytestmark = pytest.mark.django_db

STEPS = [
    {"at": {"type": "points", "points": 4}, "close": 50, "moveStop": "entry"},
    {"at": {"type": "points", "points": 8}, "close": 25},
]


def in_steps(**exits: Any) -> dict[str, Any]:
    """Return steps that are long above 100: 100 shares, a stop 20 percent below."""
    return always_in() | {
        "exitConditions": {
            "stopLoss": {"type": "percentage", "percentage": 20},
            "steps": STEPS,
            **exits,
        }
    }


def resting(run: Run) -> list[tuple[str, str, float, int | None]]:
    """Return type, reason, price and quantity of the open exits, the nearest to the entry first."""
    orders = Order.objects.filter(run=run, status="open", intent="exit").order_by("-type", "price")
    return [
        (order.type, order.reason, float(order.price or 0), order.quantity) for order in orders
    ][::-1]


def ended(run: Run) -> list[tuple[str, float, str, str]]:
    """Return type, price, status and reason of exits that are no longer open."""
    orders = Order.objects.filter(run=run, intent="exit").exclude(status="open")
    return sorted(
        (order.type, float(order.price or 0), order.status, order.reason) for order in orders
    )


def test_steps_and_the_stop_rest_from_the_first_bar_on(alice: User) -> None:
    market = Market([101, 101, 102, 106, 106, 100.5, 100.5])
    run = started(alice, in_steps())
    market.go(2)
    stop, first, second = ("stop", "stop_loss", 80.8, 100), (105.0, 50), (109.0, 25)
    assert resting(run) == [
        ("limit", "step", *second),
        ("limit", "step", *first),
        stop,
    ]
    placed = set(Order.objects.filter(run=run, intent="exit").values_list("bar_time", "placed_at"))
    assert placed == {(moment(market.times[1]), moment(market.times[1] + LENGTH))}
    ids = set(Order.objects.values_list("pk", flat=True))
    market.go()
    assert set(Order.objects.values_list("pk", flat=True)) == ids  # nothing is placed again
    market.go()
    assert ended(run) == [
        ("limit", 105.0, "filled", "step"),
        ("stop", 80.8, "cancelled", "replaced"),
    ]
    assert resting(run) == [("limit", "step", *second), ("stop", "stop_loss", 101.0, 50)]
    market.go(2)
    assert resting(run) == []
    assert ended(run)[1:] == [
        ("limit", 109.0, "cancelled", "cancelled"),
        ("stop", 80.8, "cancelled", "replaced"),
        ("stop", 101.0, "filled", "stop_loss"),
    ]
    fills = Fill.objects.filter(order__intent="exit").order_by("at")
    assert [(float(fill.price), fill.quantity) for fill in fills] == [(105.0, 50), (101.0, 50)]
    assert Trade.objects.get().quantity == 100


def test_an_open_beyond_the_steps_fills_them_there(alice: User) -> None:
    market = Market([101, 101, 110, 110, 110])
    run = started(alice, in_steps(stopLoss={"type": "points", "points": 20}))
    market.go(2)
    assert len(resting(run)) == 3
    market.go()
    assert [price for _, price, status, _ in ended(run) if status == "filled"] == [105.0, 109.0]
    assert resting(run) == [("stop", "stop_loss", 101.0, 25)]


def test_a_split_changes_the_orders_that_rest(alice: User) -> None:
    market = Market([101, 101])
    CorporateAction.objects.create(
        symbol=SHARE,
        ex_date=date(2026, 6, 2),
        kind="split",
        shares_before=1,
        shares_after=2,
        source="test",
        loaded_at=make.NOW,
    )
    run = started(alice, in_steps())
    market.go(2)
    ids = set(Order.objects.filter(run=run, status="open").values_list("pk", flat=True))
    market.store([FIRST + DAY], [50.5])
    market.at(FIRST + DAY + LENGTH)
    assert resting(run) == [
        ("limit", "step", 54.5, 50),
        ("limit", "step", 52.5, 100),
        ("stop", "stop_loss", 40.4, 200),
    ]
    assert set(Order.objects.filter(run=run, status="open").values_list("pk", flat=True)) == ids


def test_a_closed_position_cancels_its_orders_and_its_owner_cannot(alice: User, api: Api) -> None:
    market = Market([101, 101, 101, 101])
    run = started(alice, in_steps())
    market.go(2)
    order = Order.objects.filter(run=run, reason="step").first()
    assert order is not None
    reply = api(alice).post(f"/api/trading/orders/{order.pk}/cancel")
    assert_error(reply, 422, "UNPROCESSABLE_ENTITY", reason="exit")
    services.stop(owner=alice, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW)
    market.go(2)
    assert resting(run) == []
    assert [row[2:] for row in ended(run) if row[0] != "market"] == [("cancelled", "cancelled")] * 3
    run.refresh_from_db()
    assert run.released_at is not None


def test_without_steps_no_exit_rests(alice: User) -> None:
    market = Market([101, 101, 101])
    run = started(alice, always_in())
    market.go(3)
    assert resting(run) == []
