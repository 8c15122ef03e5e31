"""The paper broker."""

from datetime import date, datetime, timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.trading.brokers import paper
from apps.trading.models import Fill, Intent, Order, OrderStatus, Run, Signal
from tests import make
from tests.trading.algorithm_states import start
from tests.trading.stepped_run import make_stepper, play, steps_of

LAST = {"NSE:SBIN": 100.0}
SECOND = timedelta(seconds=1)


@pytest.fixture
def run(alice: User) -> Run:
    return start(make.algorithm(alice, **steps_of("NSE:SBIN")))


def orders_of(
    run: Run, count: int, *, price: float | None = None, placed_at: datetime = make.NOW
) -> list[Order]:
    """New orders to buy."""
    return [
        Order(
            run=run,
            algorithm_id=run.algorithm_id,
            symbol="NSE:SBIN",
            side="buy",
            intent=Intent.ENTRY,
            type="limit" if price else "market",
            price=price,
            bar_time=make.NOW,
            placed_at=placed_at,
        )
        for _ in range(count)
    ]


def test_an_account_places_ten_orders_a_second_and_later_ones_wait(run: Run, bob: User) -> None:
    now = make.NOW + timedelta(milliseconds=300)
    orders = orders_of(run, 23, placed_at=now)
    paper.place(orders[:4], last=LAST)
    paper.place(orders[4:], last=LAST)
    assert [order.placed_at for order in orders] == (
        [now] * 10 + [make.NOW + SECOND] * 10 + [make.NOW + 2 * SECOND] * 3
    )
    other = orders_of(start(make.algorithm(bob, **steps_of("NSE:SBIN"))), 1, placed_at=now)
    paper.place(other, last=LAST)
    assert other[0].placed_at == now


def test_a_price_far_off_is_refused_and_the_others_are_accepted(run: Run) -> None:
    prices = (80.0, 79.95, 120.0, 120.05, None)
    orders = [orders_of(run, 1, price=price)[0] for price in prices]
    paper.place(orders, last=LAST)
    assert [order.reason for order in orders] == ["", "price_band", "", "price_band", ""]
    rejected = Order.objects.filter(status=OrderStatus.REJECTED)
    assert {order.pk for order in rejected} == {orders[1].pk, orders[3].pk}


@pytest.mark.parametrize(
    ("symbol", "day", "edge"),
    [
        ("NSE:SBIN", date(2026, 1, 1), 20.0),
        ("NSE:NIFTY26JANFUT", date(2026, 1, 1), 200.0),
        ("NSE:NIFTY26JANFUT", date(2025, 11, 30), 20.0),
        ("NSE:NIFTY26JAN24000CE", date(2026, 1, 1), 40.0),
        ("NSE:SBIN26JAN900CE", date(2026, 1, 1), 20.0),
    ],
)
def test_bands_are_dated(symbol: str, day: date, edge: float) -> None:
    assert not paper.is_outside_band(symbol, 100 + edge, last=100, day=day)
    assert paper.is_outside_band(symbol, 100 + edge + 0.05, last=100, day=day)


def test_a_band_is_never_narrower_than_its_rupees() -> None:
    day = date(2026, 1, 1)
    assert not paper.is_outside_band("NSE:NIFTY26JAN24000CE", 25.0, last=5.0, day=day)
    assert paper.is_outside_band("NSE:NIFTY26JAN24000CE", 25.05, last=5.0, day=day)


def test_a_refused_entry_is_not_traded_later(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "is_outside_band", lambda *_, **__: True)
    settings = steps_of("NSE:SBIN")["executionSettings"] | {"orderType": "limit"}
    stepper = make_stepper(alice, executionSettings=settings)
    flat = (100.0, 101.0, 99.0, 100.0)
    play(stepper, ({"NSE:SBIN": flat}, {"NSE:SBIN": 1}), {"NSE:SBIN": flat})
    order, signal = Order.objects.get(), Signal.objects.get()
    assert (order.status, order.reason) == ("rejected", "price_band")
    assert (signal.followed, signal.reason) == (False, "price_band")
    assert not Fill.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_pace_holds_for_concurrent_orders() -> None:
    run = start(make.algorithm(make.user("trader"), **steps_of("NSE:SBIN")))
    orders = orders_of(run, 24)
    begin = Barrier(4)

    def place(part: list[Order]) -> None:
        begin.wait()
        paper.place(part, last=LAST)
        connection.close()

    threads = [Thread(target=place, args=[orders[at::4]]) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = sorted(Order.objects.values_list("placed_at", flat=True))
    assert times == [make.NOW] * 10 + [make.NOW + SECOND] * 10 + [make.NOW + 2 * SECOND] * 4
    assert not Order.objects.exclude(status=OrderStatus.OPEN).exists()
