"""What a broker does for us, whoever it is; `tests/trading/brokers` holds every adapter to it.

An order's id is our own (`client_order_id`), the same however often it is made, and a
broker takes it once. So what was lost on the way can be asked for, and sent again only if it is not
there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Protocol

from apps.trading.models import BrokerState, Order, OrderStatus

ATTEMPTS: Final = 3


class OutcomeUnknown(Exception):
    """The order went out, and no answer came: it may be there, or not."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a broker says of an order; `reason` of one that is rejected. It counts from `placed_at`,
    which is later than the order's own when too many came at once.
    """

    order_id: str
    status: OrderStatus
    placed_at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FillReport:
    """One fill; `number` counts up over all of a broker's, so that each is told once."""

    number: int
    order_id: str
    quantity: int
    price: Decimal


@dataclass(frozen=True, slots=True)
class Health:
    """Whether orders would be taken now, and if not, why."""

    state: BrokerState
    detail: str = ""


class Broker(Protocol):
    """Takes orders of any number of accounts."""

    @property
    def name(self) -> str:
        """By which `executionSettings.broker` and BrokerHealth know it."""

    def place(self, orders: Sequence[Order], *, last: Mapping[str, float]) -> Sequence[Receipt]:
        """One receipt an order, in their order; what is there already is not taken again. `last`
        are the last prices by symbol. Raises OutcomeUnknown.
        """

    def cancel(self, order_id: str, *, now: datetime) -> bool:
        """Whether it was open, and is so no more."""

    def look_up(self, order_ids: Collection[str]) -> Mapping[str, Receipt]:
        """What is known of these; of an order that never came, nothing."""

    def fills_after(self, number: int) -> Sequence[FillReport]:
        """Those told later than this one, in order."""

    def health(self) -> Health:
        """As it is now."""


def place_surely(
    broker: Broker, orders: Sequence[Order], *, last: Mapping[str, float]
) -> Sequence[Receipt]:
    """`place`, where an answer may be lost: what is found to be there is not sent again.

    Raises OutcomeUnknown after ATTEMPTS.
    """
    known: dict[str, Receipt] = {}
    for attempt in range(ATTEMPTS):
        missing = [order for order in orders if order.pk not in known]
        try:
            known |= {receipt.order_id: receipt for receipt in broker.place(missing, last=last)}
        except OutcomeUnknown:
            if attempt == ATTEMPTS - 1:
                raise
            known |= broker.look_up([order.pk for order in missing])
        if len(known) == len(orders):
            break
    return [known[order.pk] for order in orders]
