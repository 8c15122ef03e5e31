"""A lost answer: the order is looked up before it is sent again.

The broker is in memory, and passes the same conformance tests as the paper broker.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

import pytest

from apps.trading.brokers.paper import is_outside_band, spread_by_second
from apps.trading.brokers.protocol import (
    ATTEMPTS,
    FillReport,
    Health,
    OutcomeUnknown,
    Receipt,
    place_surely,
)
from apps.trading.models import BrokerState, Order, OrderStatus
from tests.trading.brokers.conformance import LAST, Conformance
from tests.trading.brokers.test_paper import PaperBench


@dataclass
class Exchange:
    """A remote broker: its book survives lost answers.

    `losses` are the numbers of orders in the next calls that arrive before the connection breaks.
    """

    name: str = "elsewhere"
    losses: list[int] = field(default_factory=list)
    book: dict[str, Receipt] = field(default_factory=dict)
    reports: list[FillReport] = field(default_factory=list)
    arrivals: list[str] = field(default_factory=list)
    taken: dict[str, Counter[datetime]] = field(default_factory=lambda: defaultdict(Counter))

    def place(self, orders: Sequence[Order], *, last: Mapping[str, float]) -> Sequence[Receipt]:
        arrived = self.losses.pop(0) if self.losses else len(orders)
        for order in orders[:arrived]:
            self.arrivals.append(order.pk)
            self._take(order, last)
        if arrived < len(orders) or self.losses:
            raise OutcomeUnknown
        return [self.book[order.pk] for order in orders]

    def _take(self, order: Order, last: Mapping[str, float]) -> None:
        if order.pk in self.book:
            return
        now = order.placed_at
        if order.price and is_outside_band(
            order.symbol, float(order.price), last=last[order.symbol], day=now.date()
        ):
            self.book[order.pk] = Receipt(order.pk, OrderStatus.REJECTED, now, "price_band")
            return
        (placed_at,) = spread_by_second([now], self.taken[order.run.account_id])
        self.book[order.pk] = Receipt(order.pk, OrderStatus.OPEN, placed_at)

    def cancel(self, order_id: str, *, now: datetime) -> bool:
        known = self.book.get(order_id)
        if known is None or known.status is not OrderStatus.OPEN:
            return False
        self.book[order_id] = replace(known, status=OrderStatus.CANCELLED)
        return True

    def look_up(self, order_ids: Collection[str]) -> Mapping[str, Receipt]:
        return {key: self.book[key] for key in order_ids if key in self.book}

    def fills_after(self, number: int) -> Sequence[FillReport]:
        return [report for report in self.reports if report.number > number]

    def health(self) -> Health:
        return Health(BrokerState.OK)


class ExchangeBench(PaperBench):
    def __init__(self) -> None:
        super().__init__()
        self.exchange = self.broker = Exchange()  # type: ignore[assignment]  # another broker

    def fill(self, order: Order, quantity: int, price: float) -> None:
        reports = self.exchange.reports
        reports.append(FillReport(len(reports) + 1, order.pk, quantity, Decimal(str(price))))

    def held(self) -> int:
        return len(self.exchange.book)


@pytest.fixture
def bench(db: None) -> ExchangeBench:
    return ExchangeBench()


class TestElsewhere(Conformance):
    pass


def test_what_arrived_before_the_answer_was_lost_is_not_sent_again(bench: ExchangeBench) -> None:
    orders = bench.orders(5)
    bench.exchange.losses = [3, 1]
    receipts = place_surely(bench.exchange, orders, last=LAST)
    assert [receipt.order_id for receipt in receipts] == [order.pk for order in orders]
    assert bench.exchange.arrivals == [order.pk for order in orders]


def test_it_gives_up_without_having_sent_anything_twice(bench: ExchangeBench) -> None:
    orders = bench.orders(5)
    bench.exchange.losses = [1] + [0] * ATTEMPTS
    with pytest.raises(OutcomeUnknown):
        place_surely(bench.exchange, orders, last=LAST)
    assert bench.exchange.arrivals == [orders[0].pk]
