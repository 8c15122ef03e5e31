"""The booking of orders: new, filled, rejected and cancelled, by the steps of runs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Final

from apps.core.times import moment
from apps.trading.booking.interpret import (
    EXTERNAL_REASONS,
    STOP_LOSS,
    Execution,
    OrderSlot,
    RejectedSignal,
    StepOutcome,
    client_order_id,
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
# The reason of a stop order in place of which another one rests.
REPLACED: Final = "replaced"


@dataclass(slots=True)
class OpenOrders:
    """The open orders of a run: those that wait for the next bar by (symbol, is exit), one of each
    at most, and the exits that rest at the broker. Only the latter have a quantity.
    """

    pending: dict[tuple[str, bool], Order] = field(default_factory=dict)
    resting: dict[str, Order] = field(default_factory=dict)


@dataclass(slots=True)
class OrderChanges:
    """The changes of orders by some steps.

    `filled` are the orders of all executions, in their order; `not_executed` are entries without an
    execution. `changed` have another price or quantity. `late` are orders of signals that seemed
    idle at their close but were not, because the position that would have ignored them ended
    before.
    """

    created: list[Order] = field(default_factory=list)
    ended: list[Order] = field(default_factory=list)
    filled: list[Order] = field(default_factory=list)
    not_executed: list[Order] = field(default_factory=list)
    late: list[Order] = field(default_factory=list)
    changed: list[Order] = field(default_factory=list)


def book_orders(outcomes: Sequence[StepOutcome]) -> OrderChanges:
    """Write the orders; the caller has locked the streams of their runs.

    A row changes orders at its close by the market's time, even if a runner processes it later.
    """
    open_orders = _open_orders(outcome.step.run for outcome in outcomes)
    changes = OrderChanges()
    for outcome in outcomes:
        _StepOrders(outcome, open_orders[outcome.step.run.pk], changes).book()
    _place(outcomes, changes)
    Order.objects.bulk_update(changes.changed, ["price", "quantity"])
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
                step.state.drop_entry(
                    step.symbols.index(order.symbol),
                    closes_on_opposite=step.strategy.exits_on_opposite_signal,
                )
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


def _open_orders(runs: Iterable[Run]) -> dict[str, OpenOrders]:
    orders: dict[str, OpenOrders] = defaultdict(OpenOrders)
    for order in Order.objects.filter(run__in=list(runs), status=OrderStatus.OPEN):
        of_run = orders[order.run_id]
        if order.quantity is None:
            of_run.pending[order.symbol, order.intent == Intent.EXIT] = order
        else:
            of_run.resting[order.pk] = order
    return orders


class _StepOrders:
    """Books the orders of one step."""

    def __init__(self, outcome: StepOutcome, orders: OpenOrders, changes: OrderChanges) -> None:
        self._outcome, self._changes = outcome, changes
        self._pending, self._resting = orders.pending, orders.resting

    def book(self) -> None:
        for execution in self._outcome.executions:
            self._fill(execution)
        for rejected in self._outcome.rejected:
            self._reject(rejected)
        self._cancel_dropped()
        self._book_resting()
        for order in self._outcome.orders:
            if (order.symbol, order.intent == Intent.EXIT) not in self._pending:
                self._changes.created.append(order)

    def _fill(self, execution: Execution) -> None:
        is_exit = execution.intent is Intent.EXIT
        order = None
        if not is_exit or execution.closes:
            order = self._pending.pop((execution.symbol, is_exit), None)
        if order is None and is_exit and execution.was_held:
            order = self._take_resting(execution)
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

    def _take_resting(self, execution: Execution) -> Order | None:
        """Return the resting order that is filled, if there is one."""
        slots = [execution.slot]
        if execution.closes:
            slots = [OrderSlot.STOP, OrderSlot.MOVED_STOP] if execution.is_stop else []
        for order in list(self._resting.values()):
            opened, run_id = int(order.bar_time.timestamp()), order.run_id
            ids = [client_order_id(run_id, opened, execution.symbol, slot) for slot in slots]
            if order.pk in ids:
                return self._resting.pop(order.pk)
        return None

    def _book_resting(self) -> None:
        """Place, change and cancel the orders that rest at the broker."""
        stops = set()
        for order in self._outcome.resting:
            if order.reason == STOP_LOSS:
                stops.add((order.symbol, order.bar_time))
            known = self._resting.pop(order.pk, None)
            if known is None:
                self._changes.created.append(order)
            elif (known.price, known.quantity) != (order.price, order.quantity):
                known.price, known.quantity = order.price, order.quantity
                self._changes.changed.append(known)
        for order in self._resting.values():
            is_replaced = order.reason == STOP_LOSS and (order.symbol, order.bar_time) in stops
            self._finish(order, OrderStatus.CANCELLED, REPLACED if is_replaced else CANCELLED)

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
