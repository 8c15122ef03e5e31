"""The simulation: one step per row of the market, resumable after any row, to the last bit.

A backtest is `run` over all rows and then `finish`; trading live is `run` over each new row. There
is no second code path and no "live" flag: nothing but `State` survives a row, and State is bytes.
The rules are numbered in README.md; the names of the functions below are their subjects.

Compiled code of the simulation stands here, in `quiet.py`, `entries.py` and `fills.py`. The cache
of a kernel notices a change in its own file; `_notice` adds the others.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.engine.kernel import codes, entries, fills, quiet
from apps.engine.kernel.codes import (
    AT_MARKET,
    BY_DAILY_LOSS,
    BY_END_OF_DATA,
    BY_SQUARE_OFF,
    DAILY_LOSS_LIMIT,
    DUST,
    ENTER,
    FLATTEN,
    LAST_OF_SESSION,
    LIMIT_NOT_REACHED,
    OPEN,
    RUINED,
    RUNNING,
    TRADED,
)  # fmt: skip
from apps.engine.kernel.entries import admit, drop, enter, refusal, reject
from apps.engine.kernel.fills import (
    Record,
    charges_on,
    exit_at_open,
    exit_inside,
    exit_of_fill_bar,
    filled_at,
    kernel,
    order_price,
    pay,
    slipped,
    step,
    tell,
    trail,
    worth,
)  # fmt: skip
from apps.engine.kernel.quiet import pass_flat, pass_held
from apps.engine.kernel.records import Bar, Plan, Ran

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Market, Out, State


@step
def leave(
    account: Record, p: Record, symbol: int, price: float, reason: int, time: int, day: int,
    contract: Record, rates: Array, trade: Record, fills: Array, n_fills: int,
) -> int:  # fmt: skip
    """Close the whole position, write its trade and tell the fill; returns the fills told."""
    value = p.quantity * price * contract.multiplier
    items = charges_on(value, p.side < 0, contract.segment, day, rates)
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
def most_written(
    symbols: int, trades: Array, fills: Array, refusals: Array
) -> tuple[int, int, int]:
    """How many trades, fills and refusals may be written before a row is run; what is empty is not
    written to.
    """
    most_fills = fills.size - 3 * symbols if fills.size > 0 else 0
    most_refused = refusals.size - 2 * symbols if refusals.size > 0 else 0
    return trades.size - 2 * symbols, most_fills, most_refused


@step
def halt(
    account: Record, positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int,
    time: int, refusals: Array, n_refused: int,
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
            n_refused = reject(account, refusals, n_refused, time, s, DAILY_LOSS_LIMIT, p.pending)
            p.pending &= ~ENTER
    return n_wait, n_refused


@kernel
def run(
    state: State, market: Market, signals: Array, start: int, stop: int, plan: Plan,
    contracts: Array, rates: Array, out: Out,
) -> Ran:  # fmt: skip
    """Rows [start, stop).

    The next row is before `stop` when `out` might not hold what another row writes (drain it and
    go on from there), or when the money is gone (rule 6: then no further row is run).

    The phases of a row stand here in one loop: handed to functions in a tuple, every array's
    references are counted at every call, for ten times the work of the rules.
    """
    account, positions, flags = state.account[0], state.positions, market.flags
    opens, highs, lows, closes = market.bars
    time, day, cell = market.time[start:stop], market.day[start:stop], market.cell[start:stop]
    signals, curve = signals[start:stop], out.equity[start:stop]
    size, fills, refusals = positions.size, out.fills, out.refusals
    most_trades, most_fills, most_refused = most_written(size, out.trades, fills, refusals)
    trailing = plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0
    squaring, ranged = flags.size > 0, market.atr.size > 0
    priced = plan.order_by != AT_MARKET
    equity = account.equity
    opened, waiting = np.empty(size, np.uint32), np.empty(size, np.uint32)
    inside = np.zeros(size, np.bool_)  # filled inside the bar of this row
    n_open, n_wait = recall(positions, opened, waiting)
    n_trades = n_fills = n_refused = t = 0
    rows = day.size if account.status == RUNNING else 0
    if rows > 0 and account.barred:
        n_refused = drop_waiting(account, positions, waiting[:n_wait], time[0], plan, refusals)
        n_open, n_wait = recall(positions, opened, waiting)
    while t < rows:
        if n_wait == 0 and n_open <= 1:  # pass the rows in which nothing happens
            if n_open == 0:
                equity = account.cash
                t = pass_flat(account, t, day, signals, curve, plan)
            else:
                s = opened[0]
                t, equity = pass_held(
                    account, positions[s], s, equity, t, time, day, cell, highs, lows, closes,
                    flags, signals, curve, plan, trailing, ranged or priced,
                )  # fmt: skip
                if positions[s].pending != 0:
                    waiting[0], n_wait = s, 1
            if t == rows:
                break

        if day[t] != account.day:
            account.day, account.day_start, account.halted = day[t], equity, 0

        still = 0  # exits at the open
        for k in range(n_open):
            s = opened[k]
            at, p, reason = cell[t, s], positions[s], OPEN
            when, date = time[t], day[t]
            if at >= 0:
                if squaring and p.day != date:  # its last session had no last bar
                    reason, fill = BY_SQUARE_OFF, slipped(p, p.close, plan)
                    when, date = p.time, p.day
                else:
                    flag = flags[at] if squaring else 0
                    reason, fill = exit_at_open(p, opens[at], flag, plan)
            if reason != OPEN:
                trade = out.trades[n_trades]
                n_fills = leave(
                    account, p, s, fill, reason, when, date, contracts[s], rates, trade,
                    fills, n_fills,
                )  # fmt: skip
                n_trades += 1
            else:
                if still < k:
                    opened[still] = s
                still += 1
        n_open = still

        still = 0  # entries at the open
        for k in range(n_wait):
            s = waiting[k]
            at, p = cell[t, s], positions[s]
            if at < 0:
                waiting[still] = s
                still += 1
                continue
            if p.pending & ENTER:
                reason = refusal(p, flags[at] if squaring else 0, n_open, plan)
                bar = Bar(opens[at], highs[at], lows[at], closes[at])
                price, inside[s] = filled_at(p, bar, plan)
                if reason == TRADED and np.isnan(price):
                    reason = LIMIT_NOT_REACHED
                if reason == TRADED:
                    funds = account.cash  # equity, marked at this row's opens
                    for j in range(n_open):
                        q, b = positions[opened[j]], cell[t, opened[j]]
                        funds += worth(q, opens[b] if b >= 0 else q.close)
                    flat = p.side == 0
                    reason, n_fills = enter(
                        account, p, s, price, funds, time[t], plan, contracts[s], rates,
                        fills, n_fills,
                    )  # fmt: skip
                    if reason == TRADED and flat:
                        insert(opened, n_open, s)
                        n_open += 1
                inside[s] &= reason == TRADED
                if reason >= 0:
                    n_refused = reject(account, refusals, n_refused, time[t], s, reason, p.pending)
            p.pending = 0
        n_wait = still

        still = 0  # inside the bar, and its close
        held = 0.0
        for k in range(n_open):
            s = opened[k]
            at, p = cell[t, s], positions[s]
            if at >= 0:
                bar = Bar(opens[at], highs[at], lows[at], closes[at])
                p.bars += 1
                within, inside[s] = inside[s], False
                if within:
                    reason, fill = exit_of_fill_bar(p, bar, plan)
                else:
                    reason, fill = exit_inside(p, bar, plan)
                if reason == OPEN and squaring and flags[at] & LAST_OF_SESSION:
                    reason, fill = BY_SQUARE_OFF, slipped(p, bar.close, plan)
                if reason != OPEN:
                    trade = out.trades[n_trades]
                    n_fills = leave(
                        account, p, s, fill, reason, time[t], day[t], contracts[s], rates, trade,
                        fills, n_fills,
                    )  # fmt: skip
                    n_trades += 1
                    continue
                p.close, p.time, p.day = bar.close, time[t], day[t]
                if within and p.bars == 1:  # the trail starts at the fill
                    bar = Bar(p.extreme, p.extreme, p.extreme, p.extreme)
                if trailing:
                    trail(p, bar, plan, contracts[s])
            held += worth(p, p.close)
            if still < k:
                opened[still] = s
            still += 1
        n_open = still

        equity = account.cash + held  # the row's close
        if curve.size > 0:
            curve[t] = equity
        if account.day_start - equity >= plan.max_daily_loss - DUST and account.halted == 0:
            n_wait, n_refused = halt(
                account, positions, opened, n_open, waiting, n_wait, time[t], refusals, n_refused
            )
        for s in range(size):
            if signals[t, s] != 0:
                p = positions[s]
                signal, n_refused = admit(
                    account, p, s, signals[t, s], time[t], plan, refusals, n_refused
                )
                if p.pending == 0 and signal != 0:
                    insert(waiting, n_wait, s)
                    n_wait += 1
                p.pending |= signal
                if ranged and signal & ENTER:
                    p.order_atr[:] = market.atr[cell[t, s]]
                if priced and signal & ENTER:
                    p.order_price = order_price(closes[cell[t, s]], signal, plan, contracts[s])
        t += 1
        if equity <= 0:
            account.status = RUINED
        full = n_trades > most_trades or n_fills > most_fills or n_refused > most_refused
        if full or equity <= 0:
            break
    account.equity = equity
    account.rows += t
    return Ran(start + t, n_trades, n_fills, n_refused)


@step
def settle_at_close(
    account: Record, p: Record, symbol: int, reason: int, contract: Record, rates: Array, out: Out,
    n: int,
) -> int:  # fmt: skip
    """Close `p`, if it is held, at its last close; how many trades and fills there are now."""
    if p.side == 0:
        return n
    leave(
        account, p, symbol, p.close, reason, p.time, p.day, contract, rates, out.trades[n],
        out.fills, n,
    )  # fmt: skip
    return n + 1


@kernel
def settle(state: State, symbol: int, reason: int, contracts: Array, rates: Array, out: Out) -> int:
    """Close one symbol at its last close without slippage, as an expiry does, and forget what waits
    on it; returns how many trades, and as many fills, were written.
    """
    account, positions, p = state.account[0], state.positions, state.positions[symbol]
    n = settle_at_close(account, p, symbol, reason, contracts[symbol], rates, out, 0)
    p.pending, held = 0, 0.0
    for s in range(positions.size):
        if positions[s].side != 0:
            held += worth(positions[s], positions[s].close)
    account.equity = account.cash + held
    return n


@kernel
def finish(state: State, contracts: Array, rates: Array, out: Out) -> int:
    """Close what is open at its last close (rule 13); returns how many trades, and as many fills,
    were written.
    """
    account, n = state.account[0], 0
    for s in range(state.positions.size):
        p = state.positions[s]
        n = settle_at_close(account, p, s, BY_END_OF_DATA, contracts[s], rates, out, n)
    account.equity = account.cash
    return n


def _notice(*files: str | None) -> None:
    """Let the cache of the kernels notice a change in these files; Numba has no public way."""
    digest = sha256(b"".join(Path(file).read_bytes() for file in files if file)).hexdigest()
    for one in (run, settle, finish):
        getattr(one, "_cache")._cache_file._source_stamp = digest  # noqa: B009


_notice(__file__, quiet.__file__, entries.__file__, fills.__file__, codes.__file__)
