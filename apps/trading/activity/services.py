"""Read the activity of an algorithm's runs; request the close of a position or the cancellation of
an order.

A request is stored on its position or order; the next bar row of the run acts on it.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Prefetch, QuerySet

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.core import audit
from apps.core.audit import Action
from apps.core.database import is_id
from apps.core.errors import Code, NotFound, ServiceError
from apps.engine.candles import InvalidSymbol, Symbol
from apps.trading.models import Fill, Intent, Order, OrderStatus, Position, Signal, Trade


class OrderEnded(ServiceError):
    """The order was already filled, cancelled or rejected."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The order is {currentStatus}; it would have to be {requiredStatus}."


class ExitGoesOn(ServiceError):
    """The order is an exit; only entries may be cancelled by hand."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The order closes a position; only entries can be cancelled."


def positions(
    *, owner: User, algorithm_id: str, symbol: str | None, is_open: bool | None
) -> QuerySet[Position]:
    """Return the positions of an algorithm's runs. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = Position.objects.filter(run__algorithm=algorithm)
    if is_open is not None:
        rows = rows.filter(closed_at__isnull=is_open)
    return rows.filter(symbol=symbol) if symbol else rows


def orders(
    *, owner: User, algorithm_id: str, symbol: str | None, status: str | None
) -> QuerySet[Order]:
    """Return the orders of an algorithm, with their fills. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    fills = Prefetch("fills", Fill.objects.order_by("number"))
    rows = Order.objects.filter(algorithm=algorithm).prefetch_related(fills)
    rows = rows.filter(status=status) if status else rows
    return rows.filter(symbol=symbol) if symbol else rows


def trades(*, owner: User, algorithm_id: str, symbol: str | None) -> QuerySet[Trade]:
    """Return the trades of an algorithm. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = Trade.objects.filter(algorithm=algorithm)
    return rows.filter(symbol=symbol) if symbol else rows


def signals(
    *, owner: User, algorithm_id: str, symbol: str | None, followed: bool | None
) -> QuerySet[Signal]:
    """Return the signals of an algorithm. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = Signal.objects.filter(algorithm=algorithm)
    if followed is not None:
        rows = rows.filter(followed=followed)
    return rows.filter(symbol=symbol) if symbol else rows


@transaction.atomic
def request_position_close(
    *, owner: User, algorithm_id: str, symbol: str, now: datetime
) -> Position:
    """Request the close of a position at its symbol's next open.

    Raises AlgorithmNotFound, NotFound.
    """
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    position = _lock_open_position(algorithm, symbol)
    if position.close_requested_at is None:
        position.close_requested_at = now
        position.save(update_fields=["close_requested_at"])
        audit.record(
            Action.POSITION_CLOSE_ASKED,
            algorithm,
            actor=audit.user(owner),
            now=now,
            symbol=symbol,
            quantity=position.quantity,
        )
    return position


def _lock_open_position(algorithm: Algorithm, symbol: str) -> Position:
    """Return the open position, locked. Raises NotFound, also for a malformed symbol."""
    try:
        Symbol.parse(symbol)
    except InvalidSymbol:
        raise NotFound from None
    positions = Position.objects.open().filter(run__algorithm=algorithm, symbol=symbol)
    position = positions.select_for_update(no_key=True, of=("self",)).first()
    if position is None:
        raise NotFound
    return position


@transaction.atomic
def cancel_order(*, owner: User, order_id: str, now: datetime) -> Order:
    """Request the cancellation of an entry that waits for its symbol's next bar.

    Raises NotFound, OrderEnded, ExitGoesOn.
    """
    order = _lock_order(owner, order_id)
    if order.status != OrderStatus.OPEN:
        raise OrderEnded(
            orderId=order.pk, currentStatus=order.status, requiredStatus=OrderStatus.OPEN
        )
    if order.intent == Intent.EXIT:
        raise ExitGoesOn(orderId=order.pk, reason="exit")
    if order.cancel_requested_at is None:
        order.cancel_requested_at = now
        order.save(update_fields=["cancel_requested_at"])
        audit.record(Action.ORDER_CANCEL_ASKED, order, actor=audit.user(owner), now=now)
    return order


def _lock_order(owner: User, order_id: str) -> Order:
    """Return the order, locked. Raises NotFound."""
    orders = Order.objects.filter(pk=order_id, run__account_id=owner.pk)
    order = orders.select_for_update(no_key=True, of=("self",)).first() if is_id(order_id) else None
    if order is None:
        raise NotFound
    return order
