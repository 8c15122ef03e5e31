"""The orders of runs: placed, filled, refused and withdrawn as their steps say."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Final

from django.db import connection

from apps.core.times import moment
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
from apps.trading.step_result import BarStep, drop_pending_entry

WITHDRAWN: Final = EXTERNAL_REASONS | {"limit_not_reached", "daily_loss_limit"}
"""Reasons for which an order is taken back; of the others it is rejected."""
CANCELLED: Final = "cancelled"
"""Why an order was not filled that its owner, or the end of its contract, took back."""
TYPES: Final = {"stop_loss": "stop", "trailing_stop": "stop", "take_profit": "limit"}
"""Of exits, unless at market."""

END: Final = """
    UPDATE trading_order AS one
    SET status = new.status, quantity = new.quantity, reason = new.reason, intent = new.intent,
        ended_at = new.ended_at
    FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::timestamptz[])
        AS new (id, status, quantity, reason, intent, ended_at)
    WHERE one.id = new.id AND one.status = 'open'
"""

Waiting = dict[tuple[str, bool], Order]
"""The open orders of a run by symbol and whether it is an exit: of each there is one at most."""


@dataclass(slots=True)
class OrderChanges:
    """What became of the orders of some steps. `filled` are the orders of all executions, in their
    order; `not_executed` are entries that came to nothing; `late` those of signals that seemed
    idle at their close, and were not, as the position that would have ignored them ended before.
    """

    made: list[Order] = field(default_factory=list)
    ended: list[Order] = field(default_factory=list)
    filled: list[Order] = field(default_factory=list)
    not_executed: list[Order] = field(default_factory=list)
    late: list[Order] = field(default_factory=list)


def book_orders(outcomes: Sequence[StepOutcome]) -> OrderChanges:
    """Write the orders; the caller holds the streams of their runs. All that a row does to them has
    happened at its close, by the market's time, however late somebody came to it.
    """
    waiting = _open_orders(outcome.step.run for outcome in outcomes)
    changes = OrderChanges()
    for outcome in outcomes:
        _OrdersOf(outcome, waiting[outcome.step.run.pk], changes).work()
    _place(outcomes, changes)
    _end(changes.ended)
    return changes


def _place(outcomes: Sequence[StepOutcome], changes: OrderChanges) -> None:
    """Hand the new orders to the broker; an entry that it refuses waits no more."""
    ended = [order for order in changes.made if order.status != OrderStatus.OPEN]
    Order.objects.bulk_create(ended)
    steps = {outcome.step.run.pk: outcome.step for outcome in outcomes}
    wanted: dict[int, list[Order]] = defaultdict(list)
    for order in changes.made:
        if order.status == OrderStatus.OPEN:
            wanted[steps[order.run_id].closes].append(order)
    for closes, orders in wanted.items():
        last = _last_prices(step for step in steps.values() if step.closes == closes)
        receipts = place_surely(PaperBroker(), orders, last=last)
        for order, receipt in zip(orders, receipts, strict=True):
            if receipt.status is OrderStatus.REJECTED:
                step = steps[order.run_id]
                drop_pending_entry(step.state, step.strategy, order.symbol)
                changes.not_executed.append(order)


def _last_prices(steps: Iterable[BarStep]) -> dict[str, float]:
    """By symbol, at one moment: a stream that is behind others has older ones."""
    return {
        symbol: close
        for step in steps
        for symbol, close in zip(step.strategy.basicInfo.symbols, step.last.tolist(), strict=False)
        if not isnan(close)
    }


def _open_orders(runs: Iterable[Run]) -> dict[str, Waiting]:
    waiting: dict[str, Waiting] = defaultdict(dict)
    for one in Order.objects.filter(run__in=list(runs), status=OrderStatus.OPEN):
        waiting[one.run_id][one.symbol, one.intent == Intent.EXIT] = one
    return waiting


class _OrdersOf:
    """The orders of one step."""

    def __init__(self, outcome: StepOutcome, waiting: Waiting, changes: OrderChanges) -> None:
        self._outcome, self._run = outcome, outcome.step.run
        self._waiting, self._booked = waiting, changes
        self._now = moment(outcome.step.closes)

    def work(self) -> None:
        for execution in self._outcome.executions:
            self._fill(execution)
        for refused in self._outcome.refused:
            self._refuse(refused)
        self._withdraw()
        for placed in self._outcome.placed:
            if (placed.symbol, placed.slot is OrderSlot.EXIT) not in self._waiting:
                self._place(placed)

    def _fill(self, execution: Execution) -> None:
        is_exit = execution.intent is Intent.EXIT
        order = self._waiting.pop((execution.symbol, is_exit), None)
        order = self._finish(order or self._of_fill(execution), OrderStatus.FILLED)
        order.quantity, order.reason = execution.quantity, execution.reason
        order.intent = execution.intent
        self._booked.filled.append(order)

    def _of_fill(self, one: Execution) -> Order:
        """One that was not placed before."""
        placed = NewOrder(one.symbol, one.side, one.intent, one.slot, one.reason, one.level)
        if one.intent is Intent.EXIT:
            return self._order(placed, self._outcome.step.time)
        return self._recall(placed, one.held_since)

    def _refuse(self, refused: RejectedSignal) -> None:
        order = self._waiting.pop((refused.symbol, False), None)
        if order is None:
            side = "buy" if refused.side == "long" else "sell"
            placed = NewOrder(refused.symbol, side, Intent.ENTRY, OrderSlot.ENTRY)
            order = self._recall(placed, refused.held_since)
        is_withdrawn = refused.reason in WITHDRAWN
        self._finish(order, OrderStatus.CANCELLED if is_withdrawn else OrderStatus.REJECTED)
        order.reason = refused.reason
        self._booked.not_executed.append(order)

    def _recall(self, placed: NewOrder, bar_time: int) -> Order:
        order = self._order(placed, bar_time)
        self._booked.late.append(order)
        return order

    def _withdraw(self) -> None:
        """What waited before and does so no more: taken back by its owner, or expired."""
        dropped = {(symbol, False) for symbol in self._outcome.step.cancelled}
        for key in self._waiting.keys() - (self._outcome.waiting - dropped):
            order = self._finish(self._waiting.pop(key), OrderStatus.CANCELLED)
            order.reason = CANCELLED
            if order.intent != Intent.EXIT:
                self._booked.not_executed.append(order)

    def _place(self, placed: NewOrder) -> None:
        self._booked.made.append(self._order(placed, self._outcome.step.time))

    def _order(self, placed: NewOrder, bar_time: int) -> Order:
        run, settings = self._run, self._outcome.step.strategy.executionSettings
        is_exit = placed.intent is Intent.EXIT
        return Order(
            id=client_order_id(run.pk, bar_time, placed.symbol, placed.slot),
            run=run,
            algorithm_id=run.algorithm_id,
            symbol=placed.symbol,
            side=placed.side,
            intent=placed.intent,
            type=TYPES.get(placed.reason, "market") if is_exit else settings.orderType,
            price=None if placed.price is None else price(placed.price),
            reason=placed.reason,
            bar_time=moment(bar_time),
            placed_at=self._now,
        )

    def _finish(self, order: Order, status: OrderStatus) -> Order:
        is_known = not order._state.adding
        (self._booked.ended if is_known else self._booked.made).append(order)
        order.status, order.ended_at = status, self._now
        return order


def _end(orders: Sequence[Order]) -> None:
    if not orders:
        return
    columns: tuple[Any, ...] = tuple(
        zip(
            *(
                (one.pk, one.status, one.quantity, one.reason, one.intent, one.ended_at)
                for one in orders
            ),
            strict=True,
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(END, [*map(list, columns)])
