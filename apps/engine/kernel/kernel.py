"""The simulation: one step per row of the market, resumable after any row, to the last bit.

A backtest is `run` over all rows and then `finish`; trading live is `run` over each new row. There
is no second code path and no "live" flag: nothing but `State` survives a row, and State is bytes.
The rules are numbered in README.md; the names of the functions below are their subjects.

Compiled code of the simulation stands here, in `quiet.py`, `rest.py`, `entries.py` and `fills.py`.
The cache of a kernel notices a change in its own file; `_notice` adds the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.engine.kernel import codes, entries, fills, quiet, rest
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
from apps.engine.kernel.quiet import end_of_day, pass_flat, pass_held
from apps.engine.kernel.records import Bar, Plan, Ran
from apps.engine.kernel.rest import (
    ACTS_ON_NOTHING_HELD,
    ALL,
    SPAN,
    Rests,
    Row,
    Rows,
    bar_of,
    inlined,
    lie_down,
    no_rests,
    wake,
)  # fmt: skip

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Market, Out, State

NOT_READ: Row = np.int64(0)


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


@inlined
def exits_at_open(
    account: Record, positions: Array, opened: Array, n_open: int, t: int, today: int, rows: Rows,
    rests: Rests, plan: Plan, contracts: Array, rates: Array, out: Out, n_trades: int, n_fills: int,
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
        stale = squaring and p.day != today  # its last session had no last bar
        if at >= 0 and stale:
            reason, fill = BY_SQUARE_OFF, slipped(p, p.close, plan)
        elif at >= 0:
            reason, fill = exit_at_open(p, rows.open[at], rows.flags[at] if squaring else 0, plan)
        if reason == OPEN:
            opened[still] = s
            still += 1
            continue
        time, day = (p.time, p.day) if stale else (rows.time[t], today)
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
    funds = account.cash
    for k in range(n_open):
        at, p = bar_of(opened[k], t, rows, rests), positions[opened[k]]
        funds += worth(p, rows.open[at] if at >= 0 else p.close)
    return funds


@inlined
def entries_at_open(
    account: Record, positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int,
    inside: Array, t: int, rows: Rows, rests: Rests, plan: Plan, contracts: Array, rates: Array,
    out: Out, n_fills: int, n_refused: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Of what waits; how many are open and wait now, fills and refusals are told.

    Times are not read where nobody asks: they are far from all else.
    """
    still, fills, refusals = 0, out.fills, out.refusals
    for k in range(n_wait):
        s = waiting[k]
        at, p = bar_of(s, t, rows, rests), positions[s]
        if at < 0:
            waiting[still] = s
            still += 1
            continue
        if p.pending & ENTER:
            reason = refusal(p, rows.flags[at] if rows.flags.size > 0 else 0, n_open, plan)
            bar = Bar(rows.open[at], rows.high[at], rows.low[at], rows.close[at])
            price, within = filled_at(p, bar, plan)
            if reason == TRADED and np.isnan(price):
                reason = LIMIT_NOT_REACHED
            if reason == TRADED:
                flat = p.side == 0
                funds = equity_at_open(account, positions, opened, n_open, t, rows, rests)
                time = rows.time[t] if flat or fills.size > 0 else NOT_READ
                reason, n_fills = enter(
                    account, p, s, price, funds, time, plan, contracts[s], rates, fills, n_fills
                )
                if reason == TRADED and flat:
                    insert(opened, n_open, s)
                    n_open += 1
                    rests.loud[s], rests.acts[s] = t, ALL
            inside[s] = within and reason == TRADED
            if reason >= 0:
                time = rows.time[t] if refusals.size > 0 else NOT_READ
                n_refused = reject(account, refusals, n_refused, time, s, reason, p.pending)
        p.pending = 0
    return n_open, still, n_fills, n_refused


@inlined
def inside_and_close(
    account: Record, positions: Array, opened: Array, n_open: int, inside: Array, t: int,
    today: int, rows: Rows, rests: Rests, plan: Plan, trailing: bool, contracts: Array,
    rates: Array, out: Out, n_trades: int, n_fills: int,
) -> tuple[int, float, int, int]:  # fmt: skip
    """What every open position lives through, and what all are worth at the close; how many are
    open now, that worth, how many trades are written and fills are told.
    """
    still, held, squaring = 0, 0.0, rows.flags.size > 0
    for k in range(n_open):
        s = opened[k]
        at, p = bar_of(s, t, rows, rests), positions[s]
        if rests.loud[s] > t:
            close = rows.close[at]
        elif at < 0:
            close, rests.since[s] = p.close, t + 1
        else:
            rests.since[s] = t + 1
            bar = Bar(rows.open[at], rows.high[at], rows.low[at], rows.close[at])
            close, within, inside[s] = bar.close, inside[s], False
            p.bars += 1
            if within:
                reason, fill = exit_of_fill_bar(p, bar, plan)
            else:
                reason, fill = exit_inside(p, bar, plan)
            if reason == OPEN and squaring and rows.flags[at] & LAST_OF_SESSION:
                reason, fill = BY_SQUARE_OFF, slipped(p, bar.close, plan)
            if reason != OPEN:
                n_fills = leave(
                    account, p, s, fill, reason, rows.time[t], today, contracts[s], rates,
                    out.trades[n_trades], out.fills, n_fills,
                )  # fmt: skip
                n_trades += 1
                rests.acts[s] = ACTS_ON_NOTHING_HELD
                continue
            rests.seen[s] = t
            if within and p.bars == 1:  # the trail starts at the fill
                bar = Bar(p.extreme, p.extreme, p.extreme, p.extreme)
            if trailing:
                trail(p, bar, plan, contracts[s])
        held += worth(p, close)
        opened[still] = s
        still += 1
    return still, held, n_trades, n_fills


@inlined
def hear(
    account: Record, positions: Array, waiting: Array, n_wait: int, t: int, rows: Rows,
    rests: Rests, plan: Plan, contracts: Array, refusals: Array, n_refused: int,
) -> tuple[int, int]:  # fmt: skip
    """Signals of the close that act; how many symbols wait now, and refusals are told."""
    for s in range(positions.size):
        if rows.signals[t, s] & rests.acts[s] == 0:
            continue
        p, time = positions[s], rows.time[t] if refusals.size > 0 else NOT_READ
        signal, n_refused = admit(
            account, p, s, rows.signals[t, s], time, plan, refusals, n_refused
        )
        if p.pending == 0 and signal != 0:
            insert(waiting, n_wait, s)
            n_wait += 1
            rests.loud[s] = min(rests.loud[s], t + 1)
        p.pending |= signal
        at = rows.cell[t, s]
        if rows.atr.size > 0 and signal & ENTER:
            for i in range(p.order_atr.size):
                p.order_atr[i] = rows.atr[at, i]
        if plan.order_by != AT_MARKET and signal & ENTER:
            p.order_price = order_price(rows.close[at], signal, plan, contracts[s])
    return n_wait, n_refused


@inlined
def run_rows(
    state: State, market: Market, signals: Array, start: int, stop: int, plan: Plan,
    contracts: Array, rates: Array, out: Out, rests: Rests, opened: Array, waiting: Array,
    inside: Array, marks: Array,
) -> Ran:  # fmt: skip
    """As `run`, without memory of its own.

    That is for symbols that are `opened` and `waiting`, those filled `inside` the bar of a row, and
    SPAN `marks`.
    """
    account, positions = state.account[0], state.positions
    time, day, cell = market.time[start:stop], market.day[start:stop], market.cell[start:stop]
    opens, highs, lows, closes = market.bars
    heard, flags, atr = signals[start:stop], market.flags, market.atr
    rows = Rows(time, day, cell, heard, heard.reshape(-1), opens, highs, lows, closes, flags, atr)
    curve, size, refusals = out.equity[start:stop], positions.size, out.refusals
    most_trades, most_fills, most_refused = most_written(size, out.trades, out.fills, refusals)
    trailing = plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0
    noting = market.atr.size > 0 or plan.order_by != AT_MARKET or account.barred != 0
    equity, today = account.equity, account.day
    n_open, n_wait = recall(positions, opened, waiting)
    n_trades = n_fills = n_refused = t = evening = length = sample = 0
    while sample < out.sampled.size and out.sampled[sample] < start:
        sample += 1
    ending = day.size == 0 or account.status != RUNNING
    if account.barred and not ending:
        n_refused = drop_waiting(account, positions, waiting[:n_wait], time[0], plan, refusals)
        n_open, n_wait = recall(positions, opened, waiting)
    while True:
        if t >= evening and not ending:
            guess = evening + length  # most days are as long as the one before
            while length > 0 and guess <= t:
                guess += length
            morning, evening, today = evening, end_of_day(day, t, guess), day[t]
            length = evening - t if morning == t else length
        for k in range(n_open):
            s = opened[k]
            p = positions[s]
            if rests.loud[s] <= t or ending:
                if wake(p, s, t, ending, rows, rests, plan, trailing, contracts[s]):
                    insert(waiting, n_wait, s)
                    n_wait += 1
                if not ending:
                    lie_down(
                        p, s, t, evening, today, rows, rests, plan, trailing, noting, contracts[s]
                    )
        if ending:
            break
        begin, resting = t, False
        if n_wait == 0 and n_open == 0:
            equity = account.cash
            t = pass_flat(account, t, rows, rests, curve, plan)
        elif n_wait == 0:
            end = evening
            for k in range(n_open):
                end = min(end, rests.loud[opened[k]])
            if end > t:
                if today != account.day:
                    account.day, account.day_start, account.halted = today, equity, 0
                t, equity = pass_held(
                    account, positions, opened[:n_open], equity, t, end, rows, rests, marks, curve,
                    plan,
                )  # fmt: skip
                resting = t > begin
        if t == begin:
            if today != account.day:
                account.day, account.day_start, account.halted = today, equity, 0
            n_open, n_trades, n_fills = exits_at_open(
                account, positions, opened, n_open, t, today, rows, rests, plan, contracts, rates,
                out, n_trades, n_fills,
            )  # fmt: skip
            n_open, n_wait, n_fills, n_refused = entries_at_open(
                account, positions, opened, n_open, waiting, n_wait, inside, t, rows, rests, plan,
                contracts, rates, out, n_fills, n_refused,
            )  # fmt: skip
            n_open, held, n_trades, n_fills = inside_and_close(
                account, positions, opened, n_open, inside, t, today, rows, rests, plan, trailing,
                contracts, rates, out, n_trades, n_fills,
            )  # fmt: skip
            equity = account.cash + held
            if curve.size > 0:
                curve[t] = equity
            if account.day_start - equity >= plan.max_daily_loss - DUST and account.halted == 0:
                n_wait, n_refused = halt(
                    account, positions, opened, n_open, waiting, n_wait, time[t], refusals,
                    n_refused,
                )  # fmt: skip
                for k in range(n_open):
                    rests.loud[opened[k]], rests.acts[opened[k]] = t + 1, ALL
            t += 1
        n_wait, n_refused = hear(
            account, positions, waiting, n_wait, t - 1, rows, rests, plan, contracts, refusals,
            n_refused,
        )  # fmt: skip
        while sample < out.sampled.size and out.sampled[sample] < start + t:
            row = out.sampled[sample] - start
            out.samples[sample] = marks[row - begin] if resting else equity
            sample += 1
        if equity <= 0:
            account.status = RUINED
        full = n_trades > most_trades or n_fills > most_fills or n_refused > most_refused
        ending = full or equity <= 0 or t == day.size
    account.equity = equity
    account.rows += t
    return Ran(start + t, n_trades, n_fills, n_refused)


@kernel
def run(
    state: State, market: Market, signals: Array, start: int, stop: int, plan: Plan,
    contracts: Array, rates: Array, out: Out,
) -> Ran:  # fmt: skip
    """Rows [start, stop).

    The next row is before `stop` when `out` might not hold what another row writes (drain it and
    go on from there), or when the money is gone (rule 6: then no further row is run).
    """
    size = state.positions.size
    opened, waiting, inside = (
        np.empty(size, np.uint32),
        np.empty(size, np.uint32),
        np.zeros(size, np.bool_),
    )
    rests = no_rests(market.cell[start:stop], state.positions)
    return run_rows(
        state, market, signals, start, stop, plan, contracts, rates, out, rests, opened, waiting,
        inside, np.empty(SPAN),
    )  # fmt: skip


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


def notice(kernels: Iterable[Callable[..., Any]], *more: str) -> None:
    """Let the cache of these kernels notice a change in files that `run` is made of, and in `more`;
    Numba has no public way.
    """
    modules = (quiet, rest, entries, fills, codes)
    files = (__file__, *(str(module.__file__) for module in modules), *more)
    digest = sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()
    for one in kernels:
        getattr(one, "_cache")._cache_file._source_stamp = digest  # noqa: B009


notice((run, settle, finish))
