"""The protocol of brokers; `tests/trading/brokers` checks every adapter against it.

An order's id is our own (`client_order_id`), the same at every attempt, and a broker accepts it
once. So after a lost answer we can look an order up, and send it again only if it is missing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Protocol

from apps.trading.models import BrokerState, Order, OrderStatus

ATTEMPTS: Final = 3


class OutcomeUnknown(Exception):
    """The order was sent without an answer: it may have arrived or not."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The broker's answer to an order, with the `reason` of a rejection.

    The order counts from `placed_at`, which is later than the order's own time if too many came at
    once.
    """

    order_id: str
    status: OrderStatus
    placed_at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FillReport:
    """A fill; `number` counts up over all fills of a broker, so that each is processed once."""

    number: int
    order_id: str
    quantity: int
    price: Decimal


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the broker accepts orders now, and the reason if not."""

    state: BrokerState
    detail: str = ""


class Broker(Protocol):
    """Accepts orders of any number of accounts."""

    @property
    def name(self) -> str:
        """Its name in `executionSettings.broker` and BrokerHealth."""

    def place(self, orders: Sequence[Order], *, last: Mapping[str, float]) -> Sequence[Receipt]:
        """Return a receipt for each order, in their order; an order that is already there is not
        placed again. `last` are the last prices by symbol. Raises OutcomeUnknown.
        """

    def cancel(self, order_id: str, *, now: datetime) -> bool:
        """Cancel the order; return whether it was open until now."""

    def look_up(self, order_ids: Collection[str]) -> Mapping[str, Receipt]:
        """Return the receipts of the known orders among these, keyed by id."""

    def fills_after(self, number: int) -> Sequence[FillReport]:
        """Return the fills with higher numbers, in order."""

    def health(self) -> Health:
        """Return the present health."""


def place_surely(
    broker: Broker, orders: Sequence[Order], *, last: Mapping[str, float]
) -> Sequence[Receipt]:
    """Place orders, and after a lost answer send again only the missing ones.

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
