"""What happens in a row: exits, entries, what positions live through, and signals of the close.

Compiled into the kernels of `kernel.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.engine.kernel.ahead import ALL, Row, Rows, inlined
from apps.engine.kernel.codes import (
    AT_MARKET,
    BY_AMOUNT,
    BY_DAILY_LOSS,
    BY_SQUARE_OFF,
    DAILY_LOSS_LIMIT,
    ENTER,
    FLATTEN,
    LAST_OF_SESSION,
    LIMIT_NOT_REACHED,
    OPEN,
    TRADED,
)  # fmt: skip
from apps.engine.kernel.entries import admit, drop, enter, is_ignored, refusal, reject
from apps.engine.kernel.fills import (
    Record,
    charges_on,
    exit_at_open,
    exit_inside,
    exit_of_fill_bar,
    filled_at,
    order_price,
    pay,
    slipped,
    step,
    tell,
    trail,
    worth,
)  # fmt: skip
from apps.engine.kernel.marks import Marks, note, note_cash, note_without_bar
from apps.engine.kernel.records import Bar, Plan
from apps.engine.kernel.rest import ACTS_ON_NOTHING_HELD, Rests, bar_of

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Out

NOT_READ: Row = np.int64(0)


@step
def leave(
    account: Record, p: Record, symbol: int, price: float, reason: int, time: int, day: int,
    contract: Record, rates: Array, trade: Record, fills: Array, n_fills: int,
) -> int:  # fmt: skip
    """Close the whole position, write its trade and tell the fill; returns the fills told."""
    value = p.quantity * price * contract.multiplier
    from_demat = p.side > 0 and p.entry_day < day
    items = charges_on(value, p.side < 0, from_demat, contract.segment, day, rates)
    fee = pay(account, items)
    n_fills = tell(fills, n_fills, time, symbol, -p.side, reason, p.quantity, price, items)
    gross = p.exposure * (price - p.average)
    account.cash += p.locked + gross - fee
    account.trades += 1
    trade.entry_time, trade.exit_time, trade.symbol, trade.bars = p.entry_time, time, symbol, p.bars
    trade.side, trade.reason, trade.quantity = p.side, reason, p.quantity
    trade.entry_price, trade.exit_price = p.average, price
    trade.value = p.average * p.quantity * contract.multiplier
    trade.gross, trade.charges = gross, p.charges + fee
    p.side, p.quantity, p.exposure, p.locked = 0.0, 0.0, 0.0, 0.0
    p.close, p.time, p.day = 0.0, 0, 0
    return n_fills


@step
def insert(symbols: Array, n: int, symbol: int) -> None:
    """Into a sorted list: its order, and so every sum over it, is free of history."""
    while n > 0 and symbols[n - 1] > symbol:
        symbols[n] = symbols[n - 1]
        n -= 1
    symbols[n] = symbol


@step
def recall(positions: Array, opened: Array, waiting: Array) -> tuple[int, int]:
    """List the symbols with a position and those with something pending; how many there are.

    The lists are never saved: they follow from the positions.
    """
    n_open = n_wait = 0
    for s in range(positions.size):
        if positions[s].side != 0:
            opened[n_open] = s
            n_open += 1
        if positions[s].pending != 0:
            waiting[n_wait] = s
            n_wait += 1
    return n_open, n_wait


@step
def drop_waiting(
    account: Record, positions: Array, waiting: Array, time: int, plan: Plan, refusals: Array
) -> int:
    """Drop the entries that wait, as they are barred; how many refusals are written (rule 20)."""
    n_refused = 0
    for s in waiting:
        p = positions[s]
        if p.pending & ENTER:
            p.pending, n_refused = drop(account, p, s, p.pending, time, plan, refusals, n_refused)
    return n_refused


@step
def halt(
    account: Record, positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int,
    time: int, plan: Plan, refusals: Array, n_refused: int,
) -> tuple[int, int]:  # fmt: skip
    """A breach of the daily loss: close what is open, drop the entries that wait (rule 8).

    Returns how many symbols wait, and how many refusals are written.
    """
    account.halted = 1
    for k in range(n_open):
        p = positions[opened[k]]
        if p.pending == 0:
            insert(waiting, n_wait, opened[k])
            n_wait += 1
        p.pending |= FLATTEN
        p.asked = BY_DAILY_LOSS
    for k in range(n_wait):
        s = waiting[k]
        p = positions[s]
        if p.pending & ENTER:
            if not is_ignored(p, p.pending, plan):
                n_refused = reject(
                    account, refusals, n_refused, time, s, DAILY_LOSS_LIMIT, p.pending
                )
            p.pending &= ~ENTER
    return n_wait, n_refused


@inlined
def exits_at_open(
    account: Record, positions: Array, opened: Array, n_open: int, t: int, rows: Rows, rests: Rests,
    marks: Marks, plan: Plan, contracts: Array, rates: Array, out: Out, n_trades: int, n_fills: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Of positions that do not rest; how many are open now, trades are written, fills are told."""
    still, squaring = 0, rows.flags.size > 0
    for k in range(n_open):
        s = opened[k]
        if rests.loud[s] > t:
            opened[still] = s
            still += 1
            continue
        at, p, reason = bar_of(s, t, rows, rests), positions[s], OPEN
        stale = squaring and p.day != rows.day[t]  # its last session had no last bar
        if at >= 0 and stale:
            reason, fill = BY_SQUARE_OFF, slipped(p, p.close, plan)
        elif at >= 0:
            reason, fill = exit_at_open(p, rows.open[at], rows.flags[at] if squaring else 0, plan)
        if reason == OPEN:
            opened[still] = s
            still += 1
            continue
        time, day = (p.time, p.day) if stale else (rows.time[t], rows.day[t])
        note(account, p, s, t, rows, rests, marks)
        note_cash(account, t, marks)
        n_fills = leave(
            account, p, s, fill, reason, time, day, contracts[s], rates, out.trades[n_trades],
            out.fills, n_fills,
        )  # fmt: skip
        n_trades += 1
        rests.acts[s] = ACTS_ON_NOTHING_HELD
    return still, n_trades, n_fills


@inlined
def equity_at_open(
    account: Record, positions: Array, opened: Array, n_open: int, t: int, rows: Rows, rests: Rests
) -> float:
    """Marked at this row's opens, or at the last close of what has no bar."""
    funds: float = account.cash
    for k in range(n_open):
        at, p = bar_of(opened[k], t, rows, rests), positions[opened[k]]
        funds += worth(p, rows.open[at] if at >= 0 else p.close)
    return funds


@inlined
def fill_entry(
    account: Record, positions: Array, opened: Array, n_open: int, s: int, at: int, t: int,
    rows: Rows, rests: Rests, marks: Marks, plan: Plan, contracts: Array, rates: Array,
    fills: Array, n_fills: int,
) -> tuple[int, bool, int]:  # fmt: skip
    """(reason, inside the bar, fills told) of the entry that waits on symbol `s` and may trade.

    Times are not read where nobody asks: they are far from all else.
    """
    p, funds = positions[s], 0.0
    bar = Bar(rows.open[at], rows.high[at], rows.low[at], rows.close[at])
    price, within = filled_at(p, bar, plan)
    if np.isnan(price):
        return LIMIT_NOT_REACHED, False, n_fills
    if plan.size_by > BY_AMOUNT:  # a share of equity, in one way or another
        funds = equity_at_open(account, positions, opened, n_open, t, rows, rests)
    flat = p.side == 0
    if not flat:
        note(account, p, s, t, rows, rests, marks)
    note_cash(account, t, marks)
    time = rows.time[t] if flat or fills.size > 0 else NOT_READ
    reason, n_fills = enter(
        account, p, s, price, funds, time, rows.day[t], plan, contracts[s], rates, fills, n_fills
    )
    if reason == TRADED and flat:
        insert(opened, n_open, s)
        rests.loud[s] = rests.since[s] = rests.marked[s] = t
        rests.acts[s] = ALL
    return reason, within, n_fills


@inlined
def entries_at_open(
    account: Record, positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int,
    inside: Array, t: int, rows: Rows, rests: Rests, marks: Marks, plan: Plan, contracts: Array,
    rates: Array, out: Out, n_fills: int, n_refused: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Of what waits; how many are open and wait now, fills and refusals are told."""
    still, refusals = 0, out.refusals
    for k in range(n_wait):
        s = waiting[k]
        at, p = bar_of(s, t, rows, rests), positions[s]
        if at < 0:
            waiting[still] = s
            still += 1
            continue
        if p.pending & ENTER:
            flat, within = p.side == 0, False
            reason = refusal(p, rows.flags[at] if rows.flags.size > 0 else 0, n_open, plan)
            if reason == TRADED:
                reason, within, n_fills = fill_entry(
                    account, positions, opened, n_open, s, at, t, rows, rests, marks, plan,
                    contracts, rates, out.fills, n_fills,
                )  # fmt: skip
                n_open += reason == TRADED and flat
            inside[s] = within and reason == TRADED
            if reason >= 0:
                time = rows.time[t] if refusals.size > 0 else NOT_READ
                n_refused = reject(account, refusals, n_refused, time, s, reason, p.pending)
        p.pending = 0
    return n_open, still, n_fills, n_refused


@inlined
def inside_and_close(
    account: Record, positions: Array, opened: Array, n_open: int, inside: Array, t: int,
    rows: Rows, rests: Rests, marks: Marks, plan: Plan, trailing: bool, contracts: Array,
    rates: Array, out: Out, n_trades: int, n_fills: int,
) -> tuple[int, int, int]:  # fmt: skip
    """What positions that do not rest live through; how many are open now, trades are written and
    fills are told.
    """
    still, squaring = 0, rows.flags.size > 0
    for k in range(n_open):
        s = opened[k]
        if rests.loud[s] <= t:
            at, p = bar_of(s, t, rows, rests), positions[s]
            rests.since[s] = t + 1
            if at < 0:
                note_without_bar(account, p, s, t, rows, rests, marks)
            else:
                if not rests.whole[s]:
                    rests.ahead[s] = at - t
                bar = Bar(rows.open[at], rows.high[at], rows.low[at], rows.close[at])
                within, inside[s] = inside[s], False
                p.bars += 1
                if within:
                    reason, fill = exit_of_fill_bar(p, bar, plan)
                else:
                    reason, fill = exit_inside(p, bar, plan)
                if reason == OPEN and squaring and rows.flags[at] & LAST_OF_SESSION:
                    reason, fill = BY_SQUARE_OFF, slipped(p, bar.close, plan)
                if reason != OPEN:
                    note(account, p, s, t, rows, rests, marks)
                    note_cash(account, t, marks)
                    n_fills = leave(
                        account, p, s, fill, reason, rows.time[t], rows.day[t], contracts[s],
                        rates, out.trades[n_trades], out.fills, n_fills,
                    )  # fmt: skip
                    n_trades += 1
                    rests.acts[s] = ACTS_ON_NOTHING_HELD
                    continue
                rests.seen[s] = t
                if within and p.bars == 1:  # the trail starts at the fill
                    bar = Bar(p.extreme, p.extreme, p.extreme, p.extreme)
                if trailing:
                    trail(p, bar, plan, contracts[s])
        opened[still] = s
        still += 1
    return still, n_trades, n_fills


@inlined
def hear(
    account: Record, positions: Array, waiting: Array, n_wait: int, t: int, rows: Rows,
    rests: Rests, plan: Plan, contracts: Array, refusals: Array, n_refused: int, loudest: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Signals of the close that act; how many symbols wait now and refusals are told, and the row
    until which all positions rest, as they did until `loudest`.
    """
    first = np.uint64(t) * np.uint64(positions.size)
    for s in range(np.uint64(positions.size)):
        if rows.heard[first + s] & rests.acts[s] == 0:
            continue
        p, time = positions[s], rows.time[t] if refusals.size > 0 else NOT_READ
        signal, n_refused = admit(
            account, p, s, rows.heard[first + s], time, plan, refusals, n_refused
        )
        if p.pending == 0 and signal != 0:
            insert(waiting, n_wait, s)
            n_wait += 1
            if p.side != 0:
                rests.loud[s] = loudest = t + 1
        p.pending |= signal
        if signal & ENTER and rows.atr.size > 0:
            for i in range(p.order_atr.size):
                p.order_atr[i] = rows.atr[bar_of(s, t, rows, rests), i]
        if signal & ENTER and plan.order_by != AT_MARKET:
            close = rows.close[bar_of(s, t, rows, rests)]
            p.order_price = order_price(close, signal, plan, contracts[s])
    return n_wait, n_refused, loudest
