"""Reading what an algorithm's runs did; asking for a position to be closed, an order cancelled.

Whoever asks leaves a mark; the next row of the run acts on it.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Prefetch, QuerySet

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import Code, NotFound, ServiceError
from apps.core.ids import is_id
from apps.engine.symbols import InvalidSymbol, parse
from apps.trading.models import Fill, Intent, Order, OrderStatus, Position, Signal, Trade


class OrderEnded(ServiceError):
    """It was filled, cancelled or rejected before."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The order is {currentStatus}; it would have to be {requiredStatus}."


class ExitGoesOn(ServiceError):
    """Only entries may be taken back by hand."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The order closes a position; only entries can be cancelled."


def positions(
    *, owner: User, algorithm_id: str, symbol: str | None, is_open: bool | None
) -> QuerySet[Position]:
    """Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = Position.objects.filter(run__algorithm=algorithm)
    if is_open is not None:
        rows = rows.filter(closed_at__isnull=is_open)
    return rows.filter(symbol=symbol) if symbol else rows


def orders(
    *, owner: User, algorithm_id: str, symbol: str | None, status: str | None
) -> QuerySet[Order]:
    """Each with its fills. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = _with_fills(Order.objects.filter(algorithm=algorithm))
    rows = rows.filter(status=status) if status else rows
    return rows.filter(symbol=symbol) if symbol else rows


def _with_fills(rows: QuerySet[Order]) -> QuerySet[Order]:
    return rows.prefetch_related(Prefetch("fills", Fill.objects.order_by("number")))


def trades(*, owner: User, algorithm_id: str, symbol: str | None) -> QuerySet[Trade]:
    """Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = Trade.objects.filter(algorithm=algorithm)
    return rows.filter(symbol=symbol) if symbol else rows


def signals(
    *, owner: User, algorithm_id: str, symbol: str | None, followed: bool | None
) -> QuerySet[Signal]:
    """Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    rows = Signal.objects.filter(algorithm=algorithm)
    if followed is not None:
        rows = rows.filter(followed=followed)
    return rows.filter(symbol=symbol) if symbol else rows


@transaction.atomic
def close_position(*, owner: User, algorithm_id: str, symbol: str, now: datetime) -> Position:
    """At its symbol's next open. Raises AlgorithmNotFound, NotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    position = _held(algorithm, symbol)
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


def _held(algorithm: Algorithm, symbol: str) -> Position:
    """Locked; what is no symbol is not held either."""
    try:
        parse(symbol)
    except InvalidSymbol:
        raise NotFound from None
    held = Position.objects.open().filter(run__algorithm=algorithm, symbol=symbol)
    position = held.select_for_update(no_key=True, of=("self",)).first()
    if position is None:
        raise NotFound
    return position


@transaction.atomic
def cancel_order(*, owner: User, order_id: str, now: datetime) -> Order:
    """An entry that waits for its symbol's next bar. Raises NotFound, OrderEnded, ExitGoesOn."""
    order = _locked(owner, order_id)
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


def _locked(owner: User, order_id: str) -> Order:
    mine = Order.objects.filter(pk=order_id, run__account_id=owner.pk)
    found = mine.select_for_update(no_key=True, of=("self",)).first() if is_id(order_id) else None
    if found is None:
        raise NotFound
    return found
