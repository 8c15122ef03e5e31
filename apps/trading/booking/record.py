"""Writing down what steps have done: orders and fills, money, positions, trades, signals, what the
algorithms have achieved and lost, and the events that tell of it. However many steps there are, it
takes a few statements.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from django.db import connection, transaction

from apps.algorithms.models import Algorithm
from apps.core.times import moment, wire_time
from apps.engine.kernel.reasons import CHARGE_KINDS
from apps.trading import capital, ledger
from apps.trading.booking.daily_loss import update_daily_losses
from apps.trading.booking.interpret import Execution, SignalRecord, StepOutcome, interpret_step
from apps.trading.booking.orders import OrderChanges, book_orders
from apps.trading.booking.performance import update_performance
from apps.trading.booking.positions import ByPosition, book_positions, settle_fractions
from apps.trading.ledger import LedgerLine
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
)
from apps.trading.money import NOTHING, price, rupees
from apps.trading.step_result import BarStep
from apps.webhooks import outbox
from apps.webhooks.event_types import EventType
from apps.webhooks.outbox import EventPayload

KINDS: Final = {
    Intent.ENTRY: EntryKind.ENTRY,
    Intent.ADD: EntryKind.ENTRY,
    Intent.EXIT: EntryKind.EXIT,
}
SIDES: Final = {"buy": "long", "sell": "short"}

UNFOLLOW: Final = """
    UPDATE trading_signal AS one SET followed = false, reason = new.reason
    FROM unnest(%s::text[], %s::timestamptz[], %s::text[], %s::text[], %s::text[])
        AS new (run_id, bar_time, symbol, side, reason)
    WHERE one.run_id = new.run_id AND one.bar_time = new.bar_time AND one.symbol = new.symbol
        AND one.side = new.side AND one.action = 'entry'
"""
CAPITALS: Final = """
    UPDATE trading_run AS one SET capital = new.capital
    FROM unnest(%s::text[], %s::numeric[]) AS new (id, capital) WHERE one.id = new.id
"""
BALANCES: Final = """
    UPDATE trading_account AS one SET balance = new.balance, reserved = new.reserved
    FROM unnest(%s::text[], %s::numeric[], %s::numeric[]) AS new (id, balance, reserved)
    WHERE one.owner_id = new.id
"""

Filled = list[tuple[StepOutcome, Execution, Fill]]
"""Each execution as it is stored, in the order of the steps."""


@transaction.atomic(savepoint=False)
def book_steps(steps: Sequence[BarStep], *, now: datetime) -> None:
    """Write what the steps did; at most one step of a run, the caller holds their streams, and has
    not yet stored the states after them.

    Locks accounts, then algorithms, by their ids; the events come last. The `capital` of the steps'
    runs is afterwards as it is stored; accounts and algorithms are to be read again.
    """
    outcomes = [interpret_step(step) for step in steps]
    accounts = _accounts(outcomes)
    fractions = _fractions(outcomes)
    changes = book_orders(outcomes)
    filled = _fills(outcomes, changes.filled)
    _keep_money([*fractions, *_moves(filled)], accounts, now)
    settled = book_positions(outcomes)
    trades = Trade.objects.bulk_create(_trades(outcomes, settled))
    _keep_signals(outcomes, changes)
    told = [_told(*one) for one in filled]
    told += update_performance(outcomes, trades, now=now)
    told += update_daily_losses(steps, now=now)
    if told:
        told.sort(key=lambda payload: payload.algorithm_id)
        outbox.write_all(_with_names(told), now=now)


# ------------------------------------------------------------------------------------------- fills


def _fills(outcomes: Sequence[StepOutcome], orders: Sequence[Order]) -> Filled:
    """`orders` are those of all executions, in their order."""
    executions = [(outcome, one) for outcome in outcomes for one in outcome.executions]
    fills = Fill.objects.bulk_create(
        Fill(
            order=order,
            quantity=one.quantity,
            price=price(one.price),
            charges=one.charges,
            charges_by_kind=_by_kind(one),
            at=moment(one.time),
        )
        for (_, one), order in zip(executions, orders, strict=True)
    )
    return [(*pair, fill) for pair, fill in zip(executions, fills, strict=True)]


def _by_kind(execution: Execution) -> dict[str, str]:
    return {
        kind: str(Decimal(paise).scaleb(-2))
        for kind, paise in zip(CHARGE_KINDS, execution.paid, strict=True)
    }


def _told(outcome: StepOutcome, execution: Execution, fill: Fill) -> EventPayload:
    run = outcome.step.run
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
    }
    return EventPayload(EventType.TRADE_EXECUTED, run.account_id, run.algorithm_id, data)


def _with_names(payloads: Sequence[EventPayload]) -> list[EventPayload]:
    """With what their algorithms are called now."""
    algorithms = Algorithm.objects.filter(pk__in={payload.algorithm_id for payload in payloads})
    names = dict(algorithms.values_list("pk", "name"))
    return [
        replace(payload, data={"algorithmName": names[payload.algorithm_id], **payload.data})
        for payload in payloads
    ]


# ------------------------------------------------------------------------------------------- money


class MoneyMovement(NamedTuple):
    """What a run won or lost, after charges, and the fact that the ledger keeps of it."""

    run: Run
    net: Decimal
    fact: LedgerLine


def _accounts(outcomes: Sequence[StepOutcome]) -> dict[str, Account]:
    """Of those whose money moves, locked."""
    moving = (outcome for outcome in outcomes if outcome.executions or outcome.fractions)
    owners = {outcome.step.run.account_id for outcome in moving}
    locked = Account.objects.filter(pk__in=owners).order_by("pk").locked()
    return {account.pk: account for account in locked}


def _fractions(outcomes: Sequence[StepOutcome]) -> list[MoneyMovement]:
    """What splits left over of shares, settled in cash before the row."""
    positions = settle_fractions(outcomes)
    moves = []
    for outcome in outcomes:
        run = outcome.step.run
        for one in outcome.fractions:
            amounts = {
                Book.CASH: one.gross - one.locked,
                Book.LOCKED: one.locked,
                Book.RESULT: -one.gross,
            }
            position = positions[run.pk, one.symbol]
            fact = LedgerLine(run.account_id, EntryKind.FRACTION, amounts, position=position)
            moves.append(MoneyMovement(run, one.gross, fact))
    return moves


def _moves(filled: Filled) -> Iterator[MoneyMovement]:
    for outcome, one, fill in filled:
        run = outcome.step.run
        fact = LedgerLine(run.account_id, KINDS[one.intent], _amounts(one), fill)
        yield MoneyMovement(run, one.gross - one.charges, fact)


def _keep_money(
    moves: Sequence[MoneyMovement], accounts: dict[str, Account], now: datetime
) -> None:
    if not moves:
        return
    runs = {move.run.pk: move.run for move in moves}
    results = dict.fromkeys(runs, Decimal(0))
    for move in moves:
        results[move.run.pk] += move.net
    for key, run in runs.items():
        capital.settle(accounts[run.account_id], run, results[key])
    lent = [capital.lend_shortfall(account) for account in accounts.values()]
    facts = [move.fact for move in moves]
    ledger.enter_all([*facts, *(fact for fact in lent if fact is not None)], now=now)
    with connection.cursor() as cursor:
        cursor.execute(CAPITALS, [list(runs), [run.capital for run in runs.values()]])
        cursor.execute(BALANCES, [*map(list, zip(*map(_sums, accounts.values()), strict=True))])


def _amounts(one: Execution) -> dict[Book, Decimal]:
    return {
        Book.CASH: one.gross - one.locked - one.charges,
        Book.LOCKED: one.locked,
        Book.RESULT: -one.gross,
        Book.CHARGES: one.charges,
    }


def _sums(account: Account) -> tuple[str, Decimal, Decimal]:
    return account.pk, account.balance, account.reserved


# ------------------------------------------------------------------------------- trades and signals


def _trades(outcomes: Sequence[StepOutcome], fractions: ByPosition) -> Iterator[Trade]:
    """With what fractions of their shares had won or lost before, by run and symbol."""
    for outcome in outcomes:
        step = outcome.step
        exits = (one for one in outcome.executions if one.intent is Intent.EXIT)
        for trade, execution in zip(step.trades, exits, strict=True):
            settled = NOTHING
            if execution.was_held:
                settled = fractions.get((step.run.pk, execution.symbol), NOTHING)
            net = float(trade["gross"] - trade["charges"]) + float(settled)
            charges = rupees(float(trade["charges"]))
            yield Trade(
                run=step.run,
                algorithm_id=step.run.algorithm_id,
                symbol=execution.symbol,
                side="long" if trade["side"] > 0 else "short",
                quantity=execution.quantity,
                entry_time=moment(int(trade["entry_time"])),
                entry_price=price(float(trade["entry_price"])),
                exit_time=moment(int(trade["exit_time"])),
                exit_price=price(float(trade["exit_price"])),
                exit_reason=execution.reason,
                gross_profit=execution.gross + settled,
                charges=charges,
                profit=execution.gross + settled - charges,
                return_percentage=net / float(trade["value"]) * 100,
                bars=int(trade["bars"]),
            )


def _keep_signals(outcomes: Sequence[StepOutcome], changes: OrderChanges) -> None:
    late = [
        _signal(one.run, SignalRecord(one.symbol, SIDES[one.side], "entry"), one.bar_time)
        for one in changes.late
    ]
    heard = [
        _signal(outcome.step.run, one, moment(outcome.step.time))
        for outcome in outcomes
        for one in outcome.heard
    ]
    Signal.objects.bulk_create([*late, *heard])
    rows = [
        (one.run_id, one.bar_time, one.symbol, SIDES[one.side], one.reason)
        for one in changes.not_executed
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(UNFOLLOW, [list(column) for column in zip(*rows, strict=True)])


def _signal(run: Run, heard: SignalRecord, bar_time: datetime) -> Signal:
    return Signal(
        run=run,
        algorithm_id=run.algorithm_id,
        symbol=heard.symbol,
        bar_time=bar_time,
        side=heard.side,
        action=heard.action,
        followed=not heard.reason,
        reason=heard.reason,
    )
