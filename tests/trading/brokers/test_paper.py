"""The paper broker."""

from datetime import date, datetime, timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.trading.brokers import paper
from apps.trading.brokers.paper import PaperBroker
from apps.trading.models import Fill, Intent, Order, OrderStatus, Run, Signal
from tests import make
from tests.trading.algorithm_states import start
from tests.trading.brokers.conformance import LAST, Conformance
from tests.trading.stepped_run import make_stepper, play, steps_of


class PaperBench:
    def __init__(self) -> None:
        self.broker = PaperBroker()
        self._runs: dict[int, Run] = {}
        self._made = 0

    def orders(
        self,
        count: int,
        *,
        account: int = 0,
        price: float | None = None,
        placed_at: datetime = make.NOW,
    ) -> list[Order]:
        if account not in self._runs:
            owner = make.user(f"trader{account}")
            self._runs[account] = start(make.algorithm(owner, **steps_of("NSE:SBIN")))
        run = self._runs[account]
        self._made += count
        return [
            Order(
                id=f"{number:024x}",
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
            for number in range(self._made - count, self._made)
        ]

    def fill(self, order: Order, quantity: int, price: float) -> None:
        Fill.objects.create(
            order=order,
            number=1 + order.fills.count(),
            quantity=quantity,
            price=price,
            charges=0,
            charges_by_kind={},
            at=make.NOW,
        )

    def held(self) -> int:
        return Order.objects.count()


@pytest.fixture
def bench(db: None) -> PaperBench:
    return PaperBench()


class TestPaperBroker(Conformance):
    pass


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


def test_an_entry_that_is_refused_is_not_traded_later(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_the_pace_holds_for_those_who_place_at_the_same_time() -> None:
    bench = PaperBench()
    orders = bench.orders(24)
    begin = Barrier(4)

    def place(part: list[Order]) -> None:
        begin.wait()
        bench.broker.place(part, last=LAST)
        connection.close()

    threads = [Thread(target=place, args=[orders[at::4]]) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = sorted(Order.objects.values_list("placed_at", flat=True))
    second = timedelta(seconds=1)
    assert times == [make.NOW] * 10 + [make.NOW + second] * 10 + [make.NOW + 2 * second] * 4
    assert not Order.objects.exclude(status=OrderStatus.OPEN).exists()
