"""The booking of steps: orders and fills, money, positions, trades, signals, performance, daily
losses, and their events. It takes a few statements for any number of steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db import transaction

from apps.algorithms.models import Algorithm
from apps.core.times import moment
from apps.engine.results import CHARGE_KINDS
from apps.trading.booking.daily_loss import daily_profit_events, update_daily_losses
from apps.trading.booking.fill_events import Filled, fill_events
from apps.trading.booking.interpret import Execution, StepOutcome, interpret_step, new_signal
from apps.trading.booking.orders import OrderChanges, book_orders
from apps.trading.booking.performance import update_performance
from apps.trading.booking.positions import ByPosition, book_positions, settle_fractions
from apps.trading.booking.step_result import BarStep
from apps.trading.models import (
    Account,
    Book,
    EntryKind,
    Fill,
    Intent,
    Order,
    Run,
    Signal,
    Trade,
    queries,
)
from apps.trading.models.money import ZERO, price, rupees
from apps.trading.models.queries import execute_columns
from apps.trading.runs import capital, ledger
from apps.trading.runs.ledger import NewLedgerEntry
from apps.webhooks.events import EventPayload, write_events

ENTRY_KINDS: Final = {
    Intent.ENTRY: EntryKind.ENTRY,
    Intent.ADD: EntryKind.ENTRY,
    Intent.EXIT: EntryKind.EXIT,
}
POSITION_SIDES: Final = {"buy": "long", "sell": "short"}

# A run, and a ledger entry with its profit or loss.
RunEntry = tuple[Run, NewLedgerEntry]


@transaction.atomic(savepoint=False)
def book_steps(steps: Sequence[BarStep], *, now: datetime) -> None:
    """Write the results of the steps; at most one step of a run.

    The caller has locked their streams, and not yet stored the states after them. This function
    locks accounts, then algorithms, by their ids; the events come last. Afterwards the `capital` of
    the steps' runs is current; accounts and algorithms must be read again.
    """
    outcomes = [interpret_step(step) for step in steps]
    accounts = _lock_accounts(outcomes)
    fractions = _book_fractions(outcomes)
    changes = book_orders(outcomes)
    filled = _book_fills(outcomes, changes.filled)
    _book_money([*fractions, *_ledger_entries(filled)], accounts, now)
    settled = book_positions(outcomes)
    trades = Trade.objects.bulk_create(_trades(outcomes, settled))
    _book_signals(outcomes, changes)
    payloads = fill_events(filled, trades)
    payloads += update_performance(outcomes, trades, now=now)
    payloads += update_daily_losses(steps, now=now)
    payloads += daily_profit_events(steps)
    if payloads:
        payloads.sort(key=lambda payload: payload.algorithm_id)
        write_events(_with_names(payloads), now=now)


def _book_fills(outcomes: Sequence[StepOutcome], orders: Sequence[Order]) -> Filled:
    """Write the fills; `orders` are the orders of all executions, in the same order."""
    executions = [(outcome, execution) for outcome in outcomes for execution in outcome.executions]
    fills = Fill.objects.bulk_create(
        Fill(
            order=order,
            quantity=execution.quantity,
            price=price(execution.price),
            charges=execution.charges,
            charges_by_kind=_by_kind(execution),
            at=moment(execution.time),
        )
        for (_, execution), order in zip(executions, orders, strict=True)
    )
    return [(*pair, fill) for pair, fill in zip(executions, fills, strict=True)]


def _by_kind(execution: Execution) -> dict[str, str]:
    return {
        kind: str(Decimal(paise).scaleb(-2))
        for kind, paise in zip(CHARGE_KINDS, execution.paid, strict=True)
    }


def _with_names(payloads: Sequence[EventPayload]) -> list[EventPayload]:
    """Add the present names of the algorithms to the payloads."""
    algorithms = Algorithm.objects.filter(pk__in={payload.algorithm_id for payload in payloads})
    names = dict(algorithms.values_list("pk", "name"))
    return [
        replace(payload, data={"algorithmName": names[payload.algorithm_id], **payload.data})
        for payload in payloads
    ]


def _lock_accounts(outcomes: Sequence[StepOutcome]) -> dict[str, Account]:
    """Lock the accounts with changes of money."""
    moving = (outcome for outcome in outcomes if outcome.executions or outcome.step.fractions)
    owners = {outcome.step.run.account_id for outcome in moving}
    locked = Account.objects.filter(pk__in=owners).order_by("pk").locked()
    return {account.pk: account for account in locked}


def _book_fractions(outcomes: Sequence[StepOutcome]) -> list[RunEntry]:
    """Book the fractions of shares left over by splits, settled in cash before the row."""
    positions = settle_fractions(outcomes)
    entries = []
    for outcome in outcomes:
        run = outcome.step.run
        for fraction in outcome.step.fractions:
            amounts = {
                Book.CASH: fraction.gross - fraction.locked,
                Book.LOCKED: fraction.locked,
                Book.RESULT: -fraction.gross,
            }
            position = positions[run.pk, fraction.symbol]
            entry = NewLedgerEntry(run.account_id, EntryKind.FRACTION, amounts, position=position)
            entries.append((run, entry))
    return entries


def _ledger_entries(filled: Filled) -> Iterator[RunEntry]:
    for outcome, execution, fill in filled:
        run = outcome.step.run
        amounts = {
            Book.CASH: execution.gross - execution.locked - execution.charges,
            Book.LOCKED: execution.locked,
            Book.RESULT: -execution.gross,
            Book.CHARGES: execution.charges,
        }
        yield run, NewLedgerEntry(run.account_id, ENTRY_KINDS[execution.intent], amounts, fill)


def _book_money(
    entries: Sequence[RunEntry], accounts: Mapping[str, Account], now: datetime
) -> None:
    """Write the entries, and change the capital of their runs and the balances of the accounts."""
    if not entries:
        return
    runs = {run.pk: run for run, _ in entries}
    results = dict.fromkeys(runs, ZERO)
    for run, entry in entries:
        results[run.pk] += entry.amounts[Book.CASH] + entry.amounts[Book.LOCKED]
    for key, run in runs.items():
        capital.add_result(accounts[run.account_id], run, results[key])
    loans = [capital.lend_shortfall(account) for account in accounts.values()]
    new_entries = [entry for _, entry in entries] + [loan for loan in loans if loan is not None]
    ledger.enter_all(new_entries, now=now)
    execute_columns(queries.UPDATE_CAPITALS, [(run.pk, run.capital) for run in runs.values()])
    execute_columns(
        queries.UPDATE_BALANCES,
        [(account.pk, account.balance, account.reserved) for account in accounts.values()],
    )


def _trades(outcomes: Sequence[StepOutcome], fractions: ByPosition) -> Iterator[Trade]:
    """Yield the trades, including the results of fractions that were settled before."""
    for outcome in outcomes:
        step = outcome.step
        exits = (execution for execution in outcome.executions if execution.closes)
        for trade, execution in zip(step.trades, exits, strict=True):
            settled = ZERO
            if execution.was_held:
                settled = fractions.get((step.run.pk, execution.symbol), ZERO)
            net = float(trade["gross"] - trade["charges"]) + float(settled)
            gross, charges = (rupees(float(trade[name])) for name in ("gross", "charges"))
            yield Trade(
                run=step.run,
                algorithm_id=step.run.algorithm_id,
                symbol=execution.symbol,
                side="long" if trade["side"] > 0 else "short",
                quantity=round(float(trade["quantity"])),
                entry_time=moment(int(trade["entry_time"])),
                entry_price=price(float(trade["entry_price"])),
                exit_time=moment(int(trade["exit_time"])),
                exit_price=price(float(trade["exit_price"])),
                exit_reason=execution.reason,
                gross_profit=gross + settled,
                charges=charges,
                profit=gross + settled - charges,
                return_percentage=net / float(trade["value"]) * 100,
                bars=int(trade["bars"]),
            )


def _book_signals(outcomes: Sequence[StepOutcome], changes: OrderChanges) -> None:
    late = [
        new_signal(
            order.run, order.symbol, order.bar_time, side=POSITION_SIDES[order.side], action="entry"
        )
        for order in changes.late
    ]
    signals = [signal for outcome in outcomes for signal in outcome.signals]
    Signal.objects.bulk_create([*late, *signals])
    execute_columns(
        queries.MARK_NOT_EXECUTED,
        [
            (order.run_id, order.bar_time, order.symbol, POSITION_SIDES[order.side], order.reason)
            for order in changes.not_executed
        ],
    )
