"""The events of fills: what each earned, what is held after it, and the day's profit so far."""

from collections.abc import Mapping, Sequence
from datetime import date

from apps.core.times import day_in_india, wire_time
from apps.trading.booking.interpret import Execution, StepOutcome
from apps.trading.booking.profit_of_day import runs_of
from apps.trading.booking.step_result import BarStep
from apps.trading.models import Fill, Intent, Trade
from apps.trading.models.money import rupees
from apps.webhooks.events import EventPayload, EventType

# Each execution as it is stored, in the order of the steps.
Filled = list[tuple[StepOutcome, Execution, Fill]]


def fill_events(filled: Filled, trades: Sequence[Trade]) -> list[EventPayload]:
    """Return the events of the fills; `trades` are those that they closed, in the same order.

    The states after the steps are not stored yet.
    """
    if not filled:
        return []
    profits = _profits_of_day([outcome.step for outcome, _, _ in filled])
    closed = iter(trades)
    held: dict[tuple[str, str], int] = {}
    payloads = []
    for outcome, execution, fill in filled:
        run, is_exit = outcome.step.run, execution.intent is Intent.EXIT
        key = run.pk, execution.symbol
        before = held[key] if key in held else _held_before(outcome.step, execution.symbol)
        quantity = execution.quantity if execution.side == "buy" else -execution.quantity
        held[key] = before + quantity
        data = {
            "algorithmId": run.algorithm_id,
            "runId": run.pk,
            "orderId": fill.order_id,
            "time": wire_time(fill.at),
            "symbol": execution.symbol,
            "side": execution.side,
            "quantity": execution.quantity,
            "price": execution.price,
            "reason": execution.reason or execution.intent.value,
            "charges": float(execution.charges),
            "realisedProfit": float(execution.gross) if is_exit else None,
            "tradeProfit": float(next(closed).profit) if execution.closes else None,
            "positionAfter": held[key],
            "profitToday": profits[run.pk],
        }
        payloads.append(
            EventPayload(EventType.TRADE_EXECUTED, run.account_id, run.algorithm_id, data)
        )
    return payloads


def _held_before(step: BarStep, symbol: str) -> int:
    position = step.before.positions[step.symbols.index(symbol)]
    return round(float(position["side"] * position["quantity"]))


def _profits_of_day(steps: Sequence[BarStep]) -> Mapping[str, float]:
    """Return the profit of the day of each run's algorithm after its step, keyed by run.

    An algorithm may have had other runs that day.
    """
    by_run = {step.run.pk: step for step in steps}
    days = {step.run.pk: day_in_india(step.time) for step in steps}
    before: dict[str, float] = {}
    ended: dict[tuple[str, date], float] = {}
    for run in runs_of(set(days.values()), {step.run.algorithm_id for step in steps}):
        if run.run_id not in by_run:
            key = run.algorithm_id, run.day
            ended[key] = ended.get(key, 0.0) + run.equity - run.started_with
        elif run.day == days[run.run_id]:
            before[run.run_id] = run.started_with
    profits = {}
    for run_id, step in by_run.items():
        started_with = before.get(run_id, float(step.before.account["equity"][0]))
        gained = float(step.state.account["equity"][0]) - started_with
        earlier = ended.get((step.run.algorithm_id, days[run_id]), 0.0)
        profits[run_id] = float(rupees(gained + earlier))
    return profits
