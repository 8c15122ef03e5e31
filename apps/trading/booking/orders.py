"""The booking of orders: new, filled, rejected and cancelled, by the steps of runs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Final

from apps.core.times import moment
from apps.engine.live import drop_pending_entry
from apps.trading.booking.interpret import (
    EXTERNAL_REASONS,
    Execution,
    OrderSlot,
    RejectedSignal,
    StepOutcome,
    new_order,
)
from apps.trading.booking.step_result import BarStep
from apps.trading.brokers import paper
from apps.trading.models import Intent, Order, OrderStatus, Run, queries
from apps.trading.models.queries import execute_columns

# Reasons for cancelling an order; for other reasons it is rejected.
CANCEL_REASONS: Final = EXTERNAL_REASONS | {
    "limit_not_reached",
    "daily_loss_limit",
    "daily_profit_limit",
    "after_session",
}
# The reason of an order that its owner, or the end of its contract, cancelled.
CANCELLED: Final = "cancelled"

# The open orders of a run by (symbol, is exit): there is one of each at most.
PendingOrders = dict[tuple[str, bool], Order]


@dataclass(slots=True)
class OrderChanges:
    """The changes of orders by some steps.

    `filled` are the orders of all executions, in their order; `not_executed` are entries without an
    execution. `late` are orders of signals that seemed idle at their close but were not, because
    the position that would have ignored them ended before.
    """

    created: list[Order] = field(default_factory=list)
    ended: list[Order] = field(default_factory=list)
    filled: list[Order] = field(default_factory=list)
    not_executed: list[Order] = field(default_factory=list)
    late: list[Order] = field(default_factory=list)


def book_orders(outcomes: Sequence[StepOutcome]) -> OrderChanges:
    """Write the orders; the caller has locked the streams of their runs.

    A row changes orders at its close by the market's time, even if a runner processes it later.
    """
    pending = _open_orders(outcome.step.run for outcome in outcomes)
    changes = OrderChanges()
    for outcome in outcomes:
        _StepOrders(outcome, pending[outcome.step.run.pk], changes).book()
    _place(outcomes, changes)
    execute_columns(
        queries.END_ORDERS,
        [
            (order.pk, order.status, order.quantity, order.reason, order.intent, order.ended_at)
            for order in changes.ended
        ],
    )
    return changes


def _place(outcomes: Sequence[StepOutcome], changes: OrderChanges) -> None:
    """Place the new orders with the broker, and drop rejected entries."""
    ended = [order for order in changes.created if order.status != OrderStatus.OPEN]
    Order.objects.bulk_create(ended)
    steps = {outcome.step.run.pk: outcome.step for outcome in outcomes}
    new_orders: dict[int, list[Order]] = defaultdict(list)
    for order in changes.created:
        if order.status == OrderStatus.OPEN:
            new_orders[steps[order.run_id].closes].append(order)
    for closes, orders in new_orders.items():
        last = _last_prices(step for step in steps.values() if step.closes == closes)
        paper.place(orders, last=last)
        for order in orders:
            if order.status == OrderStatus.REJECTED:
                step = steps[order.run_id]
                drop_pending_entry(step.state, step.strategy, order.symbol)
                changes.not_executed.append(order)


def _last_prices(steps: Iterable[BarStep]) -> dict[str, float]:
    """Return the last prices of steps of one moment, keyed by symbol.

    Streams that are behind have older prices.
    """
    return {
        symbol: close
        for step in steps
        for symbol, close in zip(step.symbols, step.last.tolist(), strict=False)
        if not isnan(close)
    }


def _open_orders(runs: Iterable[Run]) -> dict[str, PendingOrders]:
    pending: dict[str, PendingOrders] = defaultdict(dict)
    for order in Order.objects.filter(run__in=list(runs), status=OrderStatus.OPEN):
        pending[order.run_id][order.symbol, order.intent == Intent.EXIT] = order
    return pending


class _StepOrders:
    """Books the orders of one step."""

    def __init__(self, outcome: StepOutcome, pending: PendingOrders, changes: OrderChanges) -> None:
        self._outcome, self._pending, self._changes = outcome, pending, changes

    def book(self) -> None:
        for execution in self._outcome.executions:
            self._fill(execution)
        for rejected in self._outcome.rejected:
            self._reject(rejected)
        self._cancel_dropped()
        for order in self._outcome.orders:
            if (order.symbol, order.intent == Intent.EXIT) not in self._pending:
                self._changes.created.append(order)

    def _fill(self, execution: Execution) -> None:
        is_exit = execution.intent is Intent.EXIT
        order = None
        if not is_exit or execution.closes:
            order = self._pending.pop((execution.symbol, is_exit), None)
        if order is None:
            order = new_order(
                self._outcome.step,
                execution.symbol,
                slot=execution.slot,
                side=execution.side,
                intent=execution.intent,
                reason=execution.reason,
                level=execution.level,
                bar_time=None if is_exit else execution.held_since,
            )
            if not is_exit:
                self._changes.late.append(order)
        self._finish(order, OrderStatus.FILLED, execution.reason)
        order.quantity, order.intent = execution.quantity, execution.intent
        self._changes.filled.append(order)

    def _reject(self, rejected: RejectedSignal) -> None:
        order = self._pending.pop((rejected.symbol, False), None)
        if order is None:
            order = new_order(
                self._outcome.step,
                rejected.symbol,
                slot=OrderSlot.ENTRY,
                side="buy" if rejected.side == "long" else "sell",
                intent=Intent.ENTRY,
                bar_time=rejected.held_since,
            )
            self._changes.late.append(order)
        is_cancelled = rejected.reason in CANCEL_REASONS
        status = OrderStatus.CANCELLED if is_cancelled else OrderStatus.REJECTED
        self._finish(order, status, rejected.reason)
        self._changes.not_executed.append(order)

    def _cancel_dropped(self) -> None:
        """Cancel orders that are no longer pending: the owner cancelled, or the contract
        expired.
        """
        dropped = {(symbol, False) for symbol in self._outcome.step.cancelled}
        for key in self._pending.keys() - (self._outcome.pending - dropped):
            order = self._pending.pop(key)
            self._finish(order, OrderStatus.CANCELLED, CANCELLED)
            if order.intent != Intent.EXIT:
                self._changes.not_executed.append(order)

    def _finish(self, order: Order, status: OrderStatus, reason: str) -> None:
        is_known = not order._state.adding
        (self._changes.ended if is_known else self._changes.created).append(order)
        order.status, order.reason = status, reason
        order.ended_at = moment(self._outcome.step.closes)
