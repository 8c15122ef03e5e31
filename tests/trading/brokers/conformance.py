"""The tests for any broker.

An adapter's tests subclass `Conformance` and define its setup. `bench` makes a broker with the
parts that a test needs: orders to send, and a market that fills one of them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from apps.trading.brokers.protocol import Broker
from apps.trading.models import BrokerState, Order, OrderStatus
from tests import make

LAST = {"NSE:SBIN": 100.0}


class Bench(Protocol):
    """A broker, set up for one test."""

    broker: Broker

    def orders(
        self,
        count: int,
        *,
        account: int = 0,
        price: float | None = None,
        placed_at: datetime = make.NOW,
    ) -> list[Order]:
        """Return new orders to buy NSE:SBIN, of the first account or another."""

    def fill(self, order: Order, quantity: int, price: float) -> None:
        """Let the market fill a part of an order that was placed."""

    def held(self) -> int:
        """Return the number of orders in the broker's own book."""


class Conformance:
    """Tests that pass for every adapter."""

    def place(self, bench: Bench, orders: Sequence[Order]) -> list[OrderStatus]:
        return [receipt.status for receipt in bench.broker.place(orders, last=LAST)]

    def test_an_order_is_taken_once_however_often_it_is_sent(self, bench: Bench) -> None:
        orders = bench.orders(2)
        first = bench.broker.place(orders, last=LAST)
        assert bench.broker.place(orders[:1], last=LAST) == first[:1]
        assert [receipt.order_id for receipt in first] == [order.pk for order in orders]
        assert bench.held() == 2

    def test_an_order_that_is_open_is_cancelled_once(self, bench: Bench) -> None:
        (order,) = bench.orders(1)
        self.place(bench, [order])
        assert bench.broker.cancel(order.pk, now=make.NOW)
        assert not bench.broker.cancel(order.pk, now=make.NOW)
        assert bench.broker.look_up([order.pk])[order.pk].status == OrderStatus.CANCELLED
        assert not bench.broker.cancel("0" * 24, now=make.NOW)

    def test_what_it_has_can_be_looked_up_and_nothing_else(self, bench: Bench) -> None:
        known, unknown = bench.orders(2)
        self.place(bench, [known])
        receipts = bench.broker.look_up([known.pk, unknown.pk])
        assert {key: receipt.status for key, receipt in receipts.items()} == {
            known.pk: OrderStatus.OPEN
        }

    def test_each_fill_is_reported_once_and_in_order(self, bench: Bench) -> None:
        orders = bench.orders(2)
        self.place(bench, orders)
        bench.fill(orders[1], 3, 100.5)
        first = bench.broker.fills_after(0)
        bench.fill(orders[0], 10, 100.0)
        bench.fill(orders[1], 7, 101.0)
        later = bench.broker.fills_after(first[-1].number)
        reports = [
            (report.order_id, report.quantity, float(report.price)) for report in [*first, *later]
        ]
        assert reports == [
            (orders[1].pk, 3, 100.5),
            (orders[0].pk, 10, 100.0),
            (orders[1].pk, 7, 101.0),
        ]
        assert not bench.broker.fills_after(later[-1].number)

    def test_ten_orders_a_second_of_an_account_and_the_others_after(self, bench: Bench) -> None:
        now = make.NOW + timedelta(milliseconds=300)
        receipts = [*bench.broker.place(bench.orders(4, placed_at=now), last=LAST)]
        receipts += bench.broker.place(bench.orders(19, placed_at=now), last=LAST)
        second = timedelta(seconds=1)
        assert [receipt.placed_at for receipt in receipts] == (
            [now] * 10 + [make.NOW + second] * 10 + [make.NOW + 2 * second] * 3
        )
        other = bench.broker.place(bench.orders(1, account=1, placed_at=now), last=LAST)
        assert [receipt.placed_at for receipt in other] == [now]

    def test_a_price_far_off_is_refused_and_the_others_are_taken(self, bench: Bench) -> None:
        prices = (80.0, 79.95, 120.0, 120.05, None)
        orders = [bench.orders(1, price=price)[0] for price in prices]
        receipts = bench.broker.place(orders, last=LAST)
        assert [receipt.reason for receipt in receipts] == ["", "price_band", "", "price_band", ""]
        assert [receipt.status == OrderStatus.REJECTED for receipt in receipts] == [
            False,
            True,
            False,
            True,
            False,
        ]

    def test_it_says_that_it_is_well(self, bench: Bench) -> None:
        assert bench.broker.health().state is BrokerState.OK
