"""The simulation: one step per row of the market, resumable after any row, to the last bit.

A backtest is `run` over all rows and then `finish`; trading live is `run` over each new row. There
is no second code path and no "live" flag: nothing but `State` survives a row, and State is bytes.
The rules are numbered in README.md; the names of the functions below are their subjects.

Compiled code of the simulation stands here and in `fills.py`. The cache of a kernel notices a
change in its own file; `_notice` adds the others.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.engine import codes, fills
from apps.engine.codes import (
    AFTER_SQUARE_OFF,
    AT_LIMIT,
    AT_MARKET,
    BELOW_ONE_LOT,
    BOTH_SIDES,
    BY_AMOUNT,
    BY_END_OF_DATA,
    BY_EQUITY,
    BY_QUANTITY,
    BY_RISK,
    BY_SQUARE_OFF,
    CLOSE_LONG,
    CLOSE_SHORT,
    DAILY_LOSS_LIMIT,
    DUST,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    FLATTEN,
    IGNORED,
    INSUFFICIENT_CASH,
    LAST_OF_SESSION,
    LIMIT_NOT_REACHED,
    OPEN,
    OUTSIDE_SESSION,
    POSITION_LIMIT,
    RUINED,
    RUNNING,
    SIZE,
    STOP,
    TRADED,
)  # fmt: skip
from apps.engine.fills import (
    Paise,
    Record,
    charges_on,
    exit_at_open,
    exit_inside,
    exit_of_fill_bar,
    filled_at,
    kernel,
    order_price,
    pay,
    quiet_range,
    set_levels,
    slipped,
    step,
    stop_distance,
    trail,
    worth,
)  # fmt: skip
from apps.engine.records import Bar, Plan

if TYPE_CHECKING:
    from apps.engine.records import Array, Market, Out, State


@step
def leave(
    account: Record, p: Record, symbol: int, price: float, reason: int, time: int, day: int,
    contract: Record, rates: Array, trade: Record,
) -> None:  # fmt: skip
    """Close the whole position and write its trade."""
    value = p.quantity * price * contract.multiplier
    fee = pay(account, charges_on(value, p.side < 0, contract.segment, day, rates))
    gross = p.exposure * (price - p.average)
    account.cash += p.locked + gross - fee
    account.trades += 1
    trade.entry_time, trade.exit_time, trade.symbol, trade.bars = p.entry_time, time, symbol, p.bars
    trade.side, trade.reason, trade.quantity = p.side, reason, p.quantity
    trade.entry_price, trade.exit_price = p.average, price
    trade.value = p.average * p.quantity * contract.multiplier
    trade.gross, trade.charges = gross, p.charges + fee
    p.side, p.quantity, p.exposure, p.locked = 0.0, 0.0, 0.0, 0.0


@step
def refusal(p: Record, flag: int, n_open: int, plan: Plan) -> int:
    """Why the entry that waits may not trade before any price is known; TRADED when it may."""
    long = p.pending & ENTER_LONG != 0
    if p.side != 0 and (p.entries >= plan.max_entries or (p.side > 0) != long):
        return IGNORED
    if flag & AFTER_SQUARE_OFF:
        return OUTSIDE_SESSION
    if p.side == 0 and n_open >= plan.max_positions:
        return POSITION_LIMIT
    return TRADED


@step
def cost(
    lots: float, price: float, side: float, day: int, contract: Record, rates: Array
) -> tuple[float, Paise]:
    """(money locked, charges) of an entry of so many lots."""
    value = lots * contract.lot * price * contract.multiplier
    return value * contract.margin, charges_on(value, side > 0, contract.segment, day, rates)


@step
def affordable(
    lots: float, cash: float, price: float, side: float, day: int, contract: Record, rates: Array
) -> float:
    """The most lots, at most `lots`, that `cash` pays with their own charges; by bisection."""
    paid, beyond = 0.0, lots + 1.0
    middle = lots
    while beyond - paid > 1:
        locked, items = cost(middle, price, side, day, contract, rates)
        if locked + sum(items) / 100 <= cash + DUST:
            paid = middle
        else:
            beyond = middle
        middle = np.floor((paid + beyond) / 2)
    return paid


@step
def lots_for(
    p: Record, price: float, side: float, atr: Array, equity: float, cash: float, day: int,
    plan: Plan, contract: Record, rates: Array,
) -> tuple[int, float]:  # fmt: skip
    """(reason, lots): the wanted, then the position's limit, then what cash pays (rule 6)."""
    unit = price * contract.multiplier
    if plan.size_by == BY_QUANTITY:
        wanted = plan.size
    elif plan.size_by == BY_AMOUNT:
        wanted = plan.size / unit
    elif plan.size_by == BY_EQUITY:
        wanted = equity * plan.size / unit
    elif plan.size_by == BY_RISK:
        distance = stop_distance(price, atr[STOP], plan)
        wanted = equity * plan.size / (distance * contract.multiplier)
    else:
        wanted = equity * plan.size / (plan.size_atr * atr[SIZE] * contract.multiplier)
    lots = np.floor(wanted / contract.lot + 1e-9)
    if not lots >= 1:
        return BELOW_ONE_LOT, 0.0
    room = np.floor((plan.max_position_value / unit - p.quantity) / contract.lot + 1e-9)
    lots = min(lots, room)
    if lots < 1:
        return POSITION_LIMIT, 0.0
    lots = affordable(lots, cash, price, side, day, contract, rates)
    if lots < 1:
        return INSUFFICIENT_CASH, 0.0
    return TRADED, lots


@step
def enter(
    account: Record, p: Record, price: float, equity: float, time: int, plan: Plan,
    contract: Record, rates: Array,
) -> int:  # fmt: skip
    """Fill the entry that waits on `p` at `price`, or say why not (rules 3 to 7)."""
    side = 1.0 if p.pending & ENTER_LONG else -1.0
    if plan.order_by != AT_LIMIT:
        price = price * (1 + side * plan.slippage)
    atr = p.order_atr if p.side == 0 else p.atr
    cash, day = account.cash, account.day
    reason, lots = lots_for(p, price, side, atr, equity, cash, day, plan, contract, rates)
    if reason != TRADED:
        return reason
    locked, items = cost(lots, price, side, day, contract, rates)
    quantity, fee = lots * contract.lot, pay(account, items)
    account.cash -= locked + fee
    if p.side == 0:
        p.side, p.average, p.quantity, p.locked, p.charges = side, price, quantity, locked, fee
        p.entry_time, p.extreme, p.stop, p.target = time, price, np.nan, np.nan
        p.entries, p.bars, p.trailed = 1, 0, 0
        p.atr[:] = p.order_atr
    else:
        p.average = (p.average * p.quantity + price * quantity) / (p.quantity + quantity)
        p.quantity += quantity
        p.locked += locked
        p.charges += fee
        p.entries += 1
    p.exposure = side * p.quantity * contract.multiplier
    set_levels(p, plan, contract)
    return TRADED


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
def halt(
    account: Record, positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int
) -> int:
    """A breach of the daily loss: close what is open, drop the entries that wait (rule 8)."""
    account.halted = 1
    for k in range(n_open):
        p = positions[opened[k]]
        if p.pending == 0:
            insert(waiting, n_wait, opened[k])
            n_wait += 1
        p.pending |= FLATTEN
    for k in range(n_wait):
        p = positions[waiting[k]]
        if p.pending & ENTER:
            account.rejected[DAILY_LOSS_LIMIT] += 1
            p.pending &= ~ENTER
    return n_wait


@step
def idle_signal(p: Record, plan: Plan) -> int:
    """The entry that the next bar ignores: in the held direction, with no add left (rule 7)."""
    if p.entries < plan.max_entries:
        return 0
    return ENTER_LONG if p.side > 0 else ENTER_SHORT


@step
def pass_quiet(
    account: Record, p: Record, s: int, equity: float, day: Array, cell: Array, highs: Array,
    lows: Array, closes: Array, flags: Array, signals: Array, curve: Array, plan: Plan,
    trailing: bool, squaring: bool, noting: bool,
) -> tuple[int, float]:  # fmt: skip
    """(rows passed, equity): those in which the one position `p`, of symbol `s`, is only marked.

    `noting`: something is noted with every signal, an idle one too. Arrays by row begin at the row
    to be run; what is not surely such a row ends it.
    """
    first, most, symbols = cell[0, s], day.size, cell.shape[1]
    if first < 0 or (squaring and p.day != account.day):
        return 0, equity
    held = plan.max_holding - p.bars if plan.max_holding > 0 else most
    most = min(most, held, highs.size - first)
    high, low, close, special = highs[first:], lows[first:], closes[first:], flags[first:]
    below, above = quiet_range(p, trailing)
    idle = idle_signal(p, plan) if account.halted == 0 and not noting else 0
    idle |= CLOSE_SHORT if p.side > 0 else CLOSE_LONG
    bearable = plan.max_daily_loss - DUST if account.halted == 0 else np.inf
    cash, locked, exposure, average = account.cash, p.locked, p.exposure, p.average
    passed = 0
    for i in range(most):
        if day[i] != account.day or cell[i, s] - i != first:
            break
        if not (low[i] > below and high[i] < above) or (squaring and special[i] != 0):
            break
        mark = cash + (locked + exposure * (close[i] - average))
        if mark <= 0 or account.day_start - mark >= bearable:
            break
        acts = signals[i, s] & ~idle
        for other in range(symbols):
            if other != s:
                acts |= signals[i, other]
        if acts != 0:
            break
        if curve.size > 0:
            curve[i] = mark
        equity = mark
        passed += 1
    return passed, equity


@step
def admit(account: Record, p: Record, signal: int) -> int:
    """A signal less both sides, entries after a breach, and exits that nothing held answers to."""
    signal &= ~(CLOSE_LONG if p.side <= 0 else 0) & ~(CLOSE_SHORT if p.side >= 0 else 0)
    if signal & ENTER == ENTER:
        account.rejected[BOTH_SIDES] += 1
        signal &= ~ENTER
    if signal & ENTER and account.halted:
        account.rejected[DAILY_LOSS_LIMIT] += 1
        signal &= ~ENTER
    return signal


@kernel
def run(
    state: State, market: Market, signals: Array, start: int, stop: int, plan: Plan,
    contracts: Array, rates: Array, out: Out,
) -> tuple[int, int]:  # fmt: skip
    """Rows [start, stop). Returns (next row, trades written).

    The next row is before `stop` when `out.trades` might not hold another row's trades (drain it
    and go on from there), or when the money is gone (rule 6: then no further row is run).

    The phases of a row stand here in one loop: handed to functions in a tuple, every array's
    references are counted at every call, for ten times the work of the rules.
    """
    account, positions, flags = state.account[0], state.positions, market.flags
    opens, highs, lows, closes = market.bars
    time, day, cell = market.time[start:stop], market.day[start:stop], market.cell[start:stop]
    signals, curve = signals[start:stop], out.equity[start:stop]
    size, full = positions.size, out.trades.size - 2 * positions.size
    trailing = plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0
    squaring, ranged = flags.size > 0, market.atr.size > 0
    priced = plan.order_by != AT_MARKET
    equity = account.equity
    opened, waiting = np.empty(size, np.uint32), np.empty(size, np.uint32)
    inside = np.zeros(size, np.bool_)  # filled inside the bar of this row
    n_open, n_wait = recall(positions, opened, waiting)
    n_trades = t = 0
    rows = day.size if account.status == RUNNING else 0
    while t < rows:
        if n_open == 1 and n_wait == 0:  # pass the rows in which one position is only marked
            s = opened[0]
            p, bars_of, heard = positions[s], cell[t:], signals[t:]
            passed, equity = pass_quiet(
                account, p, s, equity, day[t:], bars_of, highs, lows, closes, flags, heard,
                curve[t:], plan, trailing, squaring, ranged or priced,
            )  # fmt: skip
            if passed > 0:
                t += passed
                p.bars += passed
                p.close, p.time, p.day = closes[bars_of[passed - 1, s]], time[t - 1], account.day
                if heard[passed - 1, s] & ENTER:  # idle as it is, it waits for the next bar
                    p.pending, waiting[0], n_wait = heard[passed - 1, s] & ENTER, s, 1
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
                leave(account, p, s, fill, reason, when, date, contracts[s], rates, trade)
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
                    reason = enter(account, p, price, funds, time[t], plan, contracts[s], rates)
                    if reason == TRADED and flat:
                        insert(opened, n_open, s)
                        n_open += 1
                inside[s] &= reason == TRADED
                if reason >= 0:
                    account.rejected[reason] += 1
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
                    leave(account, p, s, fill, reason, time[t], day[t], contracts[s], rates, trade)
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
            n_wait = halt(account, positions, opened, n_open, waiting, n_wait)
        for s in range(size):
            if signals[t, s] != 0:
                p, signal = positions[s], admit(account, positions[s], signals[t, s])
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
        if equity <= 0 or n_trades > full:
            break
    account.equity = equity
    account.rows += t
    return start + t, n_trades


@kernel
def finish(state: State, contracts: Array, rates: Array, trades: Array) -> int:
    """Close what is open at its last close (rule 13); returns how many trades were written."""
    account, n = state.account[0], 0
    for s in range(state.positions.size):
        p = state.positions[s]
        if p.side != 0:
            trade = trades[n]
            leave(account, p, s, p.close, BY_END_OF_DATA, p.time, p.day, contracts[s], rates, trade)
            n += 1
    account.equity = account.cash
    return n


def _notice(*files: str | None) -> None:
    """Let the cache of the kernels notice a change in these files; Numba has no public way."""
    digest = sha256(b"".join(Path(file).read_bytes() for file in files if file)).hexdigest()
    for one in (run, finish):
        getattr(one, "_cache")._cache_file._source_stamp = digest  # noqa: B009


_notice(__file__, fills.__file__, codes.__file__)
