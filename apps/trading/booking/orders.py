"""The booking of orders: new, filled, rejected and cancelled as the steps of runs say."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Final

from apps.core.times import moment
from apps.trading import queries
from apps.trading.booking.interpret import (
    EXTERNAL_REASONS,
    Execution,
    NewOrder,
    OrderSlot,
    RejectedSignal,
    StepOutcome,
    client_order_id,
)
from apps.trading.brokers.paper import PaperBroker
from apps.trading.brokers.protocol import place_surely
from apps.trading.models import Intent, Order, OrderStatus, Run
from apps.trading.money import price
from apps.trading.queries import execute_columns
from apps.trading.step_result import BarStep, drop_pending_entry

# Reasons for which an order is cancelled; for the others it is rejected.
CANCEL_REASONS: Final = EXTERNAL_REASONS | {"limit_not_reached", "daily_loss_limit"}
# The reason of an order that its owner, or the end of its contract, cancelled.
CANCELLED: Final = "cancelled"
# Order types of exits by their reasons; others are at market.
EXIT_TYPES: Final = {"stop_loss": "stop", "trailing_stop": "stop", "take_profit": "limit"}

# The open orders of a run by (symbol, is exit): there is one of each at most.
PendingOrders = dict[tuple[str, bool], Order]


@dataclass(slots=True)
class OrderChanges:
    """What became of the orders of some steps.

    `filled` are the orders of all executions, in their order; `not_executed` are entries that came
    to nothing. `late` are orders of signals that seemed idle at their close but were not, as the
    position that would have ignored them ended before.
    """

    created: list[Order] = field(default_factory=list)
    ended: list[Order] = field(default_factory=list)
    filled: list[Order] = field(default_factory=list)
    not_executed: list[Order] = field(default_factory=list)
    late: list[Order] = field(default_factory=list)


def book_orders(outcomes: Sequence[StepOutcome]) -> OrderChanges:
    """Write the orders; the caller has locked the streams of their runs.

    All that a row does to orders happens at its close by the market's time, however late a runner
    came to it.
    """
    pending = _open_orders(outcome.step.run for outcome in outcomes)
    changes = OrderChanges()
    for outcome in outcomes:
        _StepOrders(outcome, pending[outcome.step.run.pk], changes).book()
    _place(outcomes, changes)
    _end(changes.ended)
    return changes


def _place(outcomes: Sequence[StepOutcome], changes: OrderChanges) -> None:
    """Place the new orders with the broker, and drop the entries that it rejects."""
    ended = [order for order in changes.created if order.status != OrderStatus.OPEN]
    Order.objects.bulk_create(ended)
    steps = {outcome.step.run.pk: outcome.step for outcome in outcomes}
    new_orders: dict[int, list[Order]] = defaultdict(list)
    for order in changes.created:
        if order.status == OrderStatus.OPEN:
            new_orders[steps[order.run_id].closes].append(order)
    for closes, orders in new_orders.items():
        last = _last_prices(step for step in steps.values() if step.closes == closes)
        receipts = place_surely(PaperBroker(), orders, last=last)
        for order, receipt in zip(orders, receipts, strict=True):
            if receipt.status is OrderStatus.REJECTED:
                step = steps[order.run_id]
                drop_pending_entry(step.state, step.strategy, order.symbol)
                changes.not_executed.append(order)


def _last_prices(steps: Iterable[BarStep]) -> dict[str, float]:
    """Return by symbol the last prices of steps of one moment: streams that are behind have older
    ones.
    """
    return {
        symbol: close
        for step in steps
        for symbol, close in zip(step.strategy.basicInfo.symbols, step.last.tolist(), strict=False)
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
        self._outcome, self._run = outcome, outcome.step.run
        self._pending, self._changes = pending, changes
        self._now = moment(outcome.step.closes)

    def book(self) -> None:
        for execution in self._outcome.executions:
            self._fill(execution)
        for rejected in self._outcome.rejected:
            self._reject(rejected)
        self._cancel_dropped()
        for new in self._outcome.new_orders:
            if (new.symbol, new.slot is OrderSlot.EXIT) not in self._pending:
                self._place(new)

    def _fill(self, execution: Execution) -> None:
        is_exit = execution.intent is Intent.EXIT
        order = self._pending.pop((execution.symbol, is_exit), None)
        order = self._finish(order or self._order_of(execution), OrderStatus.FILLED)
        order.quantity, order.reason = execution.quantity, execution.reason
        order.intent = execution.intent
        self._changes.filled.append(order)

    def _order_of(self, execution: Execution) -> Order:
        """Return the order of an execution for which none was placed before."""
        new = NewOrder(
            execution.symbol,
            execution.side,
            execution.intent,
            execution.slot,
            execution.reason,
            execution.level,
        )
        if execution.intent is Intent.EXIT:
            return self._order(new, self._outcome.step.time)
        return self._late_order(new, execution.held_since)

    def _reject(self, rejected: RejectedSignal) -> None:
        order = self._pending.pop((rejected.symbol, False), None)
        if order is None:
            side = "buy" if rejected.side == "long" else "sell"
            new = NewOrder(rejected.symbol, side, Intent.ENTRY, OrderSlot.ENTRY)
            order = self._late_order(new, rejected.held_since)
        is_cancelled = rejected.reason in CANCEL_REASONS
        self._finish(order, OrderStatus.CANCELLED if is_cancelled else OrderStatus.REJECTED)
        order.reason = rejected.reason
        self._changes.not_executed.append(order)

    def _late_order(self, new: NewOrder, bar_time: int) -> Order:
        order = self._order(new, bar_time)
        self._changes.late.append(order)
        return order

    def _cancel_dropped(self) -> None:
        """Cancel orders no longer pending: the owner cancelled, or the contract expired."""
        dropped = {(symbol, False) for symbol in self._outcome.step.cancelled}
        for key in self._pending.keys() - (self._outcome.pending - dropped):
            order = self._finish(self._pending.pop(key), OrderStatus.CANCELLED)
            order.reason = CANCELLED
            if order.intent != Intent.EXIT:
                self._changes.not_executed.append(order)

    def _place(self, new: NewOrder) -> None:
        self._changes.created.append(self._order(new, self._outcome.step.time))

    def _order(self, new: NewOrder, bar_time: int) -> Order:
        run, settings = self._run, self._outcome.step.strategy.executionSettings
        is_exit = new.intent is Intent.EXIT
        return Order(
            id=client_order_id(run.pk, bar_time, new.symbol, new.slot),
            run=run,
            algorithm_id=run.algorithm_id,
            symbol=new.symbol,
            side=new.side,
            intent=new.intent,
            type=EXIT_TYPES.get(new.reason, "market") if is_exit else settings.orderType,
            price=None if new.price is None else price(new.price),
            reason=new.reason,
            bar_time=moment(bar_time),
            placed_at=self._now,
        )

    def _finish(self, order: Order, status: OrderStatus) -> Order:
        is_known = not order._state.adding
        (self._changes.ended if is_known else self._changes.created).append(order)
        order.status, order.ended_at = status, self._now
        return order


def _end(orders: Sequence[Order]) -> None:
    execute_columns(
        queries.END_ORDERS,
        [
            (order.pk, order.status, order.quantity, order.reason, order.intent, order.ended_at)
            for order in orders
        ],
    )
