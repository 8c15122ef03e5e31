"""The simulation: one step per row of the market, resumable after any row, to the last bit.

A backtest is `run` over all rows and then `finish`; trading live is `run` over each new row. There
is no second code path and no "live" flag: nothing but `State` survives a row, and State is bytes.
The rules are numbered in README.md. All that is compiled stands here, but for the formulas of
`prices.py`: read it from the top down, `run`, `step_row` and its phases, then what these are made
of. `fast_forward` alone is there for speed; it changes no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apps.engine.jit import entry_point, phase, step
from apps.engine.kernel import prices
from apps.engine.kernel.codes import (
    AFTER_SQUARE_OFF,
    AT_LIMIT,
    AT_MARKET,
    BELOW_ONE_LOT,
    BOTH_SIDES,
    BY_AMOUNT,
    BY_DAILY_LOSS,
    BY_END_OF_DATA,
    BY_EQUITY,
    BY_HOLDING,
    BY_OPPOSITE,
    BY_QUANTITY,
    BY_RISK,
    BY_SIGNAL,
    BY_SQUARE_OFF,
    BY_STOP,
    BY_TARGET,
    BY_TRAIL,
    CLOSE_LONG,
    CLOSE_SHORT,
    DAILY_LOSS_LIMIT,
    DUST,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
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
    TARGET,
    TRADED,
    TRAIL,
)  # fmt: skip
from apps.engine.kernel.records import CONTRACT, Progress

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Bars, Market, Output, Rules, State

# A NumPy record, whose fields compiled code reads as attributes: no type says that.
Record = Any
# A number of compiled code: NumPy's and Python's are the same there, as no type says.
Number = Any
Paise = tuple[float, float, float, float, float, float, float, float]

ALL_SIGNALS = 255
CLOSE = CLOSE_LONG | CLOSE_SHORT
# Rows and bars that are scanned together, in loops without branches.
BLOCK = 64
# Bars that are looked ahead for one that touches a level.
SCAN = 1024

WORK = np.dtype(
    # Where a call of the kernel stands.
    [
        ("trades", "i8"),  # written so far
        ("fills", "i8"),
        ("refusals", "i8"),
        ("open", "i8"),  # positions
        ("time", "i8"),  # of the row
        ("squaring", "?"),  # bars have flags
        ("keeps_orders", "?"),  # an entry's signal leaves more than that it waits
    ]
)
SLOT = np.dtype(
    # What a slot follows and trades in one call of the kernel, and the row's bar of its instrument.
    [
        ("source", "u8"),  # the column of its signals
        ("instrument", "u8"),  # the column of its cells
        ("contract", CONTRACT),
        ("bar", "i8"),  # the index of the bar; -1 if there is none, and the next fields are old
        ("open", "f8"),
        ("high", "f8"),
        ("low", "f8"),
        ("close", "f8"),
        ("atr", "f8", (4,)),
        ("flag", "i8"),
        ("signal", "i8"),
        ("awake", "?"),  # an order waits for the bar, or it may close the position
        ("filled_inside", "?"),  # an order was filled on the way through the bar
        ("quiet_until", "i8"),  # bars before this one touch no level of the position
    ]
)


class Books(NamedTuple):
    """What a row changes, and by which rules: records, and arrays of them."""

    account: Record
    plan: Record
    work: Record
    positions: Array
    orders: Array
    slots: Array
    rates: Array
    trades: Array
    fills: Array
    refusals: Array


class Exit(NamedTuple):
    """Why a position leaves (OPEN: it does not), at which price, and how much of it: all."""

    reason: int
    price: float
    quantity: float


# ------------------------------------------------------------------------------------- entry points


@entry_point
def run(
    state: State, market: Market, signals: Array, rules: Rules, output: Output, start: int,
    stop: int,
) -> Progress:  # fmt: skip
    """Step through rows [start, stop).

    The next row is before `stop` when `output` might not hold what another row writes (read it and
    go on from there), or when the money is gone (rule 6: then no further row is run).
    """
    work, slots = np.zeros(1, WORK), np.zeros(state.positions.size, SLOT)
    acting = np.zeros(signals.shape[1], np.uint8)
    account = state.account[0]
    books = Books(
        account, rules.plan[0], work[0], state.positions, state.orders, slots, rules.rates,
        output.trades, output.fills, output.refusals,
    )  # fmt: skip
    prepare_slots(books, rules.instruments, rules.contracts)
    books.work.squaring = market.flags.size > 0
    books.work.keeps_orders = market.atr.size > 0 or books.plan.order_by != AT_MARKET
    row = start
    while row < stop and account.status == RUNNING and has_room(books):
        load_row(books, market, signals, row)
        step_row(books, market.day[row])
        output.equity[row] = account.equity
        row += 1
        if row < stop and account.status == RUNNING:
            row = fast_forward(books, market, signals, acting, output.equity, row, stop)
    account.rows += row - start
    return Progress(row, work[0].trades, work[0].fills, work[0].refusals)


@entry_point
def settle(state: State, rules: Rules, output: Output, slot: int, reason: int) -> int:
    """Close one slot at its last close without slippage, as an expiry does, and forget what waits
    on it; return how many trades, and as many fills, were written.
    """
    work, slots = np.zeros(1, WORK), np.zeros(state.positions.size, SLOT)
    account, position = state.account[0], state.positions[slot]
    books = Books(
        account, rules.plan[0], work[0], state.positions, state.orders, slots, rules.rates,
        output.trades, output.fills, output.refusals,
    )  # fmt: skip
    prepare_slots(books, rules.instruments, rules.contracts)
    if position.side != 0:
        exit_ = Exit(reason, position.close, position.quantity)
        close_position(books, slot, exit_, position.time, position.day)
    state.orders[slot, 0].pending = 0
    account.equity = account.cash + held_worth(state.positions)
    return int(work[0].trades)


def finish(state: State, rules: Rules, output: Output) -> int:
    """Close what is open at its last close (rule 13); return how many trades, and as many fills,
    were written. Live trading never does this.
    """
    written = 0
    for slot in np.flatnonzero(state.positions["side"]).tolist():
        free = output._replace(trades=output.trades[written:], fills=output.fills[written:])
        written += settle(state, rules, free, slot, BY_END_OF_DATA)
    if state.account["equity"][0] <= 0:
        state.account["status"] = RUINED
    return written


@step
def prepare_slots(books: Books, instruments: Array, contracts: Array) -> None:
    """Find the columns and the contract of each slot, and count the open positions."""
    for k in range(books.slots.size):
        slot, position = books.slots[k], books.positions[k]
        slot.source = column_of(position.source, k, instruments)
        slot.instrument = column_of(position.instrument, k, instruments)
        slot.contract = contracts[slot.instrument]
        books.work.open += position.side != 0


@step
def column_of(instrument: int, likely: int, instruments: Array) -> int:
    """Return where an instrument is listed; `likely` where it usually is."""
    column = likely
    while instruments[column] != instrument:
        column = (column + 1) % instruments.size
    return column


@phase
def has_room(books: Books) -> bool:
    """Whether the output holds what one more row may write."""
    slots, work = books.slots.size, books.work
    room = work.trades + 2 * slots <= books.trades.size
    room &= books.fills.size == 0 or work.fills + 3 * slots <= books.fills.size
    room &= books.refusals.size == 0 or work.refusals + 2 * slots <= books.refusals.size
    return bool(room)


# ------------------------------------------------------------------------------------------ one row


@phase
def load_row(books: Books, market: Market, signals: Array, row: int) -> None:
    """Look up the bars and signals of a row, each where its slot has it from."""
    work, plan, day, cell = books.work, books.plan, market.day[row], market.cell
    slots, positions, orders = books.slots, books.positions, books.orders
    bars, ranges, flags = market.bars, market.atr, market.flags
    opens, highs, lows, closes = bars.open, bars.high, bars.low, bars.close
    work.time, trailing = market.time[row], trails(plan)
    for k in range(slots.size):
        slot = slots[k]
        bar = cell[row, slot.instrument]
        slot.bar, slot.signal, slot.awake = bar, signals[row, slot.source], False
        if bar >= 0:
            slot.open, slot.close = opens[bar], closes[bar]  # all that is held sizes entries
            slot.awake = orders[k, 0].pending != 0 or may_close(positions[k], slot, work, plan, day)
            if slot.awake or trailing:
                slot.high, slot.low = highs[bar], lows[bar]
            if slot.awake:
                slot.flag = flags[bar] if flags.size > 0 else 0
            if slot.signal != 0 and ranges.size > 0:
                for i in range(4):
                    slot.atr[i] = ranges[bar, i]


@step
def may_close(position: Record, slot: Record, work: Record, plan: Record, day: int) -> bool:
    """Whether a bar may close a position, unless an order that waits does."""
    if position.side == 0:
        return False
    late = work.squaring and position.day != day
    return late or slot.bar >= slot.quiet_until or 0 < plan.max_holding <= position.bars


@phase
def step_row(books: Books, day: int) -> None:
    """Step through one row, in the order of rule 2."""
    account = books.account
    begin_day(account, day)
    if account.blocked:
        drop_blocked_entries(books)
    exit_at_open(books)
    enter_at_open(books)
    held = exit_inside(books)
    account.equity = account.cash + held
    limit_daily_loss(books)
    read_signals(books)
    if account.equity <= 0:
        account.status = RUINED


@step
def begin_day(account: Record, day: int) -> None:
    """Rule 8: the daily loss counts from the last close before the day."""
    if account.day != day:
        account.day_start, account.day, account.halted = account.equity, day, 0


@step
def drop_blocked_entries(books: Books) -> None:
    """Rule 20: entries that wait are dropped while entries are blocked."""
    for k in range(books.slots.size):
        order = books.orders[k, 0]
        if order.pending & ENTER:
            order.pending = without_entry(books, k, order.pending)


@phase
def exit_at_open(books: Books) -> None:
    """Rules 2, 3, 8, 9 and 12: exits at the open, of all slots before any entry."""
    account, plan, work = books.account, books.plan, books.work
    slots, positions, orders = books.slots, books.positions, books.orders
    for k in range(slots.size):
        position, slot = positions[k], slots[k]
        if not slot.awake or position.side == 0:
            continue
        if work.squaring and position.day != account.day:  # its last session had no last bar
            price = slipped(position, position.close, plan)
            late = Exit(BY_SQUARE_OFF, price, position.quantity)
            close_position(books, k, late, position.time, position.day)
            continue
        exit_ = open_exit(position, orders[k, 0], slot, plan)
        if exit_.reason != OPEN:
            close_position(books, k, exit_, work.time, account.day)


@phase
def enter_at_open(books: Books) -> None:
    """Rules 2 and 12: the entries that wait, in the listed order of symbols."""
    slots, orders = books.slots, books.orders
    for k in range(slots.size):
        order = orders[k, 0]
        if not slots[k].awake:
            continue
        if order.pending & ENTER:
            reason = try_entry(books, k)
            if reason >= 0:
                refuse(books, k, order.pending, reason)
        order.pending = 0


@phase
def exit_inside(books: Books) -> float:
    """Rules 2, 3, 5 and 9: stop and target inside the bar, the session's end, the trail; return
    what positions add to equity at their last closes, in the order of slots.
    """
    account, plan, work = books.account, books.plan, books.work
    slots, positions, orders = books.slots, books.positions, books.orders
    held = 0.0
    for k in range(slots.size):
        position, slot = positions[k], slots[k]
        if position.side != 0 and slot.bar >= 0:
            position.bars += 1
            exit_ = Exit(OPEN, slot.close, position.quantity)
            if slot.awake:
                exit_ = inside_exit(position, orders[k, 0], slot, plan)
            if exit_.reason != OPEN:
                close_position(books, k, exit_, work.time, account.day)
            else:
                position.close, position.time, position.day = slot.close, work.time, account.day
                best = slot.high if position.side > 0 else slot.low
                if slot.filled_inside and position.bars == 1:  # the trail starts at the fill
                    best = position.extreme
                trail(position, best, plan, slot.contract)
            slot.filled_inside = False
        if position.side != 0:
            held += worth(position, position.close)
    return held


@phase
def limit_daily_loss(books: Books) -> None:
    """Rule 8: at a breach, close what is open at the next opens, and drop the entries that wait."""
    if books.account.halted or not is_breached(books.account, books.plan):
        return
    books.account.halted = 1
    for k in range(books.slots.size):
        position, order = books.positions[k], books.orders[k, 0]
        if position.side != 0:
            order.pending |= FLATTEN
            order.close_reason = BY_DAILY_LOSS
        if order.pending & ENTER:
            if not is_ignored(position, order.pending, books.plan):
                refuse(books, k, order.pending, DAILY_LOSS_LIMIT)
            order.pending &= ~ENTER


@phase
def read_signals(books: Books) -> None:
    """Rules 1, 5 and 12: what is signalled at the close waits for the next bar."""
    slots, orders = books.slots, books.orders
    for k in range(slots.size):
        slot, order = slots[k], orders[k, 0]
        if slot.signal == 0:
            continue
        accepted = accept(books, k, slot.signal)
        order.pending |= accepted
        if accepted & ENTER:
            for i in range(4):
                order.atr[i] = slot.atr[i]
            if books.plan.order_by != AT_MARKET:
                order.price = order_price(slot.close, accepted, books.plan, slot.contract)


@phase
def held_worth(positions: Array) -> float:
    """What all positions add to equity at their last closes, in the order of slots."""
    held = 0.0
    for k in range(positions.size):
        if positions[k].side != 0:
            held += worth(positions[k], positions[k].close)
    return held


@step
def is_breached(account: Record, plan: Record) -> bool:
    return bool(account.day_start - account.equity >= plan.max_daily_loss - DUST)


# ------------------------------------------------------------------------------------- fast-forward
#
# Most rows are idle: no order waits, no bar touches a level, no signal acts; positions are only
# marked to market. A run without this part gives the same bytes. It may take an idle row for an
# active one, as a step through an idle row changes nothing else, but never the other way round.


@phase
def fast_forward(
    books: Books, market: Market, signals: Array, acting: Array, equity: Array, row: int, stop: int
) -> int:
    """Pass over the idle rows from `row` on; return the next active one, at most `stop`.

    `acting` is memory for the signals of each source that act.
    """
    stop = waits_until(books, market.day, acting, row, stop)
    ahead = BLOCK
    while row < stop:
        limit = min(row + ahead, stop)
        end = next_signal(signals, acting, row, limit)
        end = next_touch(books, market, row, end)
        end = mark_rows(books, market, equity, row, end)
        pass_bars(books, market, signals, row, end)
        row, ahead = end, min(2 * ahead, SCAN)
        if row < limit:
            break
    return row


@step
def waits_until(books: Books, days: Array, acting: Array, row: int, stop: int) -> int:
    """Return the row until which only bars and signals can make a row active, and find the signals
    that act: not exits of a side that is not held, nor an entry that what is held ignores (rule 7),
    unless its order is kept or its refusal may be counted.
    """
    account, plan, work = books.account, books.plan, books.work
    slots, positions, orders = books.slots, books.positions, books.orders
    kept, held = work.keeps_orders or account.blocked or account.halted, False
    for source in range(acting.size):
        acting[source] = 0
    for k in range(slots.size):
        position, idle = positions[k], CLOSE
        if position.side != 0:
            held, idle = True, CLOSE_SHORT if position.side > 0 else CLOSE_LONG
            if position.entries >= plan.max_entries and not kept:
                idle |= ENTER_LONG if position.side > 0 else ENTER_SHORT
            if work.squaring and position.day != account.day:  # closed at its next bar (rule 9)
                return row
            if plan.max_holding > 0:
                stop = min(stop, row + max(plan.max_holding - position.bars, 0))
        if orders[k, 0].pending & ~idle:
            return row
        acting[slots[k].source] |= ALL_SIGNALS & ~idle
    if work.squaring and held:  # the day's end closes what its last bar did not
        for other in range(row, stop):
            if days[other] != account.day:
                return other
    return stop


@step
def next_signal(signals: Array, acting: Array, row: int, stop: int) -> Number:
    """Return the first row of [row, stop) at whose close a signal acts, or `stop`."""
    flat, sources, act_of_any = signals.ravel(), np.uint64(acting.size), np.uint8(0)
    for source in range(sources):
        act_of_any |= acting[source]
    while row < stop:
        end, signalled = min(row + BLOCK, stop), np.uint8(0)
        for other in range(np.uint64(row) * sources, np.uint64(end) * sources):
            signalled |= flat[other]
        if signalled & act_of_any:
            for other in range(np.uint64(row), np.uint64(end)):
                acts = np.uint8(0)
                for source in range(sources):
                    acts |= flat[other * sources + source] & acting[source]
                if acts:
                    return np.int64(other)
        row = end
    return stop


@step
def next_touch(books: Books, market: Market, row: int, stop: int) -> Number:
    """Return the first row of [row, stop) in which the bar of something held touches a level, or
    before which it has none; or `stop`.
    """
    positions, slots, cell = books.positions, books.slots, market.cell
    bars, flags, plan = market.bars, market.flags, books.plan
    for k in range(slots.size):
        if positions[k].side == 0 or stop == row:
            continue
        slot, bar = slots[k], np.int64(cell[row, slots[k].instrument])
        if bar < 0:
            return row
        while cell[stop - 1, slot.instrument] - bar != stop - 1 - row:
            stop -= 1
        if bar >= slot.quiet_until:
            end = min(bar + SCAN, bars.low.size)
            slot.quiet_until = find_touch(positions[k], slot.contract, plan, bars, flags, bar, end)
        stop = min(stop, row + slot.quiet_until - bar)
    return stop


@step
def find_touch(
    position: Record, contract: Record, plan: Record, bars: Bars, flags: Array, first: Number,
    last: Number,
) -> Number:  # fmt: skip
    """Scan bars [first, last) for one that touches a level or has a flag, while the stop trails
    their extreme; return `last` if there is none. Bars of another instrument that follow do no
    harm: no row has them for this one.
    """
    side, trailing, squaring = position.side, trails(plan), flags.size > 0
    worst, best = (bars.low, bars.high) if side > 0 else (bars.high, bars.low)
    stop, target, extreme = position.stop, position.target, position.extreme
    while first < last and not trailing:  # whole blocks, as long as none touches
        end, touched = min(first + BLOCK, last), False
        for bar in range(np.uint64(first), np.uint64(end)):
            touched |= ((worst[bar] - stop) * side <= 0) | ((best[bar] - target) * side >= 0)
        if squaring:
            for bar in range(np.uint64(first), np.uint64(end)):
                touched |= flags[bar] != 0
        if touched:
            break
        first = end
    for bar in range(np.uint64(first), np.uint64(last)):
        if (worst[bar] - stop) * side <= 0 or (best[bar] - target) * side >= 0:
            return np.int64(bar)
        if squaring and flags[bar] != 0:
            return np.int64(bar)
        if trailing and (best[bar] - extreme) * side > 0:
            extreme = best[bar]
            stop = trailed_stop(position, stop, extreme, plan, contract)
    return last


@step
def mark_rows(books: Books, market: Market, equity: Array, row: int, stop: int) -> Number:
    """Mark what is held to market at the closes of idle rows (rule 8); return the first row at
    whose close the daily loss is at its limit or the money is gone, or `stop`.
    """
    account, plan, closes, days = books.account, books.plan, market.bars.close, market.day
    slots, positions, cell = books.slots, books.positions, market.cell
    first, rows, cash = np.uint64(row), np.uint64(stop - row), account.cash
    for i in range(rows):
        equity[first + i] = 0.0
    for k in range(slots.size):
        position = positions[k]
        if position.side != 0:
            bar = np.uint64(cell[row, slots[k].instrument])
            locked, units, average = position.locked, exposure(position), position.average
            for i in range(rows):
                equity[first + i] += locked + units * (closes[bar + i] - average)
    for i in range(rows):
        equity[first + i] = cash + equity[first + i]
    while row < stop:
        begin_day(account, days[row])
        end = end_of_day(days, row, stop)
        row = until_limit(account, plan, equity, row, end)
        if row < end:
            return row
    return stop


@step
def end_of_day(days: Array, row: int, stop: int) -> int:
    """Return the first row of a later day than `row`, or `stop`."""
    last = stop - 1
    if days[last] == days[row]:
        return stop
    first = row
    while last - first > 1:
        middle = (first + last) // 2
        if days[middle] == days[row]:
            first = middle
        else:
            last = middle
    return last


@step
def until_limit(account: Record, plan: Record, equity: Array, row: int, stop: int) -> int:
    """Take equity through rows of one day; return the first at whose close the daily loss is at its
    limit or the money is gone, or `stop`.
    """
    begin, halted = account.day_start, account.halted != 0
    most = np.inf if halted else plan.max_daily_loss - DUST
    reached = False
    for other in range(np.uint64(row), np.uint64(stop)):
        reached |= (equity[other] <= 0) | (begin - equity[other] >= most)
    last = stop - 1
    if reached:
        last = row
        while equity[last] > 0 and begin - equity[last] < most:
            last += 1
    account.equity = equity[last]
    return last if reached else stop


@phase
def pass_bars(books: Books, market: Market, signals: Array, row: int, stop: int) -> None:
    """Let what is held live through the bars of idle rows."""
    last, plan, cell, trailing = stop - 1, books.plan, market.cell, trails(books.plan)
    slots, positions, orders = books.slots, books.positions, books.orders
    highs, lows, closes = market.bars.high, market.bars.low, market.bars.close
    if stop == row:
        return
    time, day = market.time[last], market.day[last]
    for k in range(slots.size):
        position, slot = positions[k], slots[k]
        if position.side == 0:
            continue
        bar = cell[last, slot.instrument]
        if trailing:
            for other in range(np.uint64(bar - last + row), np.uint64(bar + 1)):
                best = highs[other] if position.side > 0 else lows[other]
                trail(position, best, plan, slot.contract)
        position.bars += stop - row
        position.close, position.time, position.day = closes[bar], time, day
        # An entry that is ignored waits too; any other would have made the row active (rule 7).
        orders[k, 0].pending = signals[last, slot.source] & ENTER


# ------------------------------------------------------------------------------------------ signals


@step
def accept(books: Books, k: int, signal: int) -> int:
    """Return a signal without what does not trade: both sides, entries after a breach or while they
    are blocked, those that what is held ignores, and exits of what is not held.
    """
    account, position, plan = books.account, books.positions[k], books.plan
    if position.side <= 0:
        signal &= ~CLOSE_LONG
    if position.side >= 0:
        signal &= ~CLOSE_SHORT
    if is_both(signal):
        refuse(books, k, signal, BOTH_SIDES)
        signal &= ~(ENTER | EXIT_LONG | EXIT_SHORT)
    if signal & ENTER and account.halted:
        if not is_ignored(position, signal, plan):
            refuse(books, k, signal, DAILY_LOSS_LIMIT)
        signal &= ~ENTER
    if signal & ENTER and account.blocked:
        return without_entry(books, k, signal)
    if position.side != 0 and not plan.reverse:
        signal &= ~(ENTER_SHORT if position.side > 0 else ENTER_LONG)
    return signal


@step
def is_both(signal: int) -> bool:
    """Whether an entry and its opposite are true at one close, which are neither then (rule 12)."""
    long, short = ENTER_LONG | EXIT_LONG, ENTER_SHORT | EXIT_SHORT
    return signal & ENTER == ENTER or signal & long == long or signal & short == short


@step
def is_ignored(position: Record, signal: int, plan: Record) -> bool:
    """Whether what is held ignores this entry (rule 7): no add is left in its direction, or the
    strategy chose to ignore opposite signals.
    """
    if position.side == 0:
        return False
    if signal & (ENTER_LONG if position.side > 0 else ENTER_SHORT):
        return bool(position.entries >= plan.max_entries)
    return not plan.reverse


@step
def without_entry(books: Books, k: int, signal: int) -> int:
    """Return a signal without its entry, which is blocked; one that would reverse still closes
    (rule 20). One that would be ignored is not refused.
    """
    position = books.positions[k]
    if not is_ignored(position, signal, books.plan):
        against = ENTER_SHORT if position.side > 0 else ENTER_LONG
        if position.side != 0 and signal & against:
            signal |= EXIT_LONG if position.side > 0 else EXIT_SHORT
        refuse(books, k, signal, books.account.blocked - 1)
    return signal & ~ENTER


# ------------------------------------------------------------------------------------------ entries


@step
def try_entry(books: Books, k: int) -> int:
    """Fill the entry that waits on a slot (rules 3 to 7); return TRADED, IGNORED or why not."""
    account, plan, work = books.account, books.plan, books.work
    position, order, slot = books.positions[k], books.orders[k, 0], books.slots[k]
    reason = refusal(position, order, slot, work, plan)
    if reason != TRADED:
        return reason
    price, inside = filled_at(position, order, slot, plan)
    if np.isnan(price):
        return LIMIT_NOT_REACHED
    side = 1.0 if order.pending & ENTER_LONG else -1.0
    if plan.order_by != AT_LIMIT:
        price *= 1 + side * plan.slippage
    contract = slot.contract
    lots = wanted_lots(books, k, price)
    if not lots >= 1:
        return BELOW_ONE_LOT
    room = plan.max_position_value / (price * contract.multiplier) - position.quantity
    lots = min(lots, np.floor(room / contract.lot + 1e-9))
    if lots < 1:
        return POSITION_LIMIT
    lots = affordable_lots(account, side, price, lots, contract, books.rates)
    if lots < 1:
        return INSUFFICIENT_CASH
    open_position(books, k, side, price, lots)
    slot.filled_inside = inside
    return TRADED


@step
def refusal(position: Record, order: Record, slot: Record, work: Record, plan: Record) -> int:
    """Why the entry that waits may not trade before any price is known; TRADED when it may."""
    long = order.pending & ENTER_LONG != 0
    if position.side != 0 and (position.entries >= plan.max_entries or (position.side > 0) != long):
        return IGNORED
    if slot.flag & AFTER_SQUARE_OFF:
        return OUTSIDE_SESSION
    if position.side == 0 and work.open >= plan.max_positions:
        return POSITION_LIMIT
    return TRADED


@step
def order_price(close: float, signal: int, plan: Record, contract: Record) -> float:
    """Of a limit order, rounded in our favour, or of a stop order, rounded away (rule 12)."""
    up = (signal & ENTER_LONG != 0) != (plan.order_by == AT_LIMIT)
    price = offset_price(close, up, plan)
    return float(tick_up(price, contract.tick) if up else tick_down(price, contract.tick))


@step
def filled_at(position: Record, order: Record, bar: Record, plan: Record) -> tuple[float, bool]:
    """(price, inside the bar) of the entry that waits; NaN where it is not reached (rule 12)."""
    if plan.order_by == AT_MARKET:
        return bar.open, False
    price = order.price
    up = (order.pending & ENTER_LONG != 0) != (plan.order_by == AT_LIMIT)
    if bar.open >= price if up else bar.open <= price:
        return bar.open, False
    reached = bar.high >= price if up else bar.low <= price
    side = position.side
    left = (price - position.stop) * side <= 0 or (price - position.target) * side >= 0
    if not reached or (side != 0 and left):  # the stop or the target came first
        return np.nan, False
    return price, True


@step
def wanted_lots(books: Books, k: int, price: float) -> float:
    """The lots that the plan's sizing asks for (rule 6)."""
    plan, position, contract = books.plan, books.positions[k], books.slots[k].contract
    ranges = books.orders[k, 0].atr if position.side == 0 else position.atr
    if plan.size_by == BY_QUANTITY:
        wanted = plan.size
    elif plan.size_by == BY_AMOUNT:
        wanted = plan.size / (price * contract.multiplier)
    else:
        funds = equity_at_open(books) * plan.size
        if plan.size_by == BY_EQUITY:
            wanted = funds / (price * contract.multiplier)
        elif plan.size_by == BY_RISK:
            distance = stop_distance(price, ranges[STOP], plan)
            wanted = funds / (distance * contract.multiplier)
        else:
            wanted = funds / (plan.size_atr * ranges[SIZE] * contract.multiplier)
    return float(np.floor(wanted / contract.lot + 1e-9))


@step
def equity_at_open(books: Books) -> float:
    """Marked at this row's opens, or at the last close of what has no bar."""
    funds = books.account.cash
    for k in range(books.slots.size):
        position, slot = books.positions[k], books.slots[k]
        if position.side != 0:
            funds += worth(position, slot.open if slot.bar >= 0 else position.close)
    return float(funds)


@step
def affordable_lots(
    account: Record, side: float, price: float, lots: float, contract: Record, rates: Array
) -> float:
    """The most lots, at most `lots`, that cash pays with their own charges; by bisection."""
    paid, beyond, middle = 0.0, lots + 1.0, lots
    while beyond - paid > 1:
        value = middle * contract.lot * price * contract.multiplier
        items = charges_on(value, side > 0, False, contract.segment, account.day, rates)
        if value * contract.margin + sum(items) / 100 <= account.cash + DUST:
            paid = middle
        else:
            beyond = middle
        middle = np.floor((paid + beyond) / 2)
    return paid


@step
def open_position(books: Books, k: int, side: float, price: float, lots: float) -> None:
    """Fill an entry or an add: pay, write the fill, set the levels."""
    account, position, contract = books.account, books.positions[k], books.slots[k].contract
    value = lots * contract.lot * price * contract.multiplier
    items = charges_on(value, side > 0, False, contract.segment, account.day, books.rates)
    quantity, locked, fee = lots * contract.lot, value * contract.margin, pay(account, items)
    write_fill(books, k, books.work.time, side, Exit(OPEN, price, quantity), items)
    account.cash -= locked + fee
    if position.side == 0:
        books.work.open += 1
        position.side, position.average, position.quantity = side, price, quantity
        position.locked, position.charges, position.extreme = locked, fee, price
        position.stop, position.target, position.trailed = np.nan, np.nan, 0
        position.entry_time, position.entry_day = books.work.time, account.day
        position.entries, position.bars = 1, 0
        for i in range(4):
            position.atr[i] = books.orders[k, 0].atr[i]
    else:
        whole = position.average * position.quantity + price * quantity
        position.average = whole / (position.quantity + quantity)
        position.quantity += quantity
        position.locked += locked
        position.charges += fee
        position.entries += 1
    position.contract = contract
    set_levels(position, books.plan)
    books.slots[k].quiet_until = 0


# -------------------------------------------------------------------------------------------- exits


@step
def open_exit(position: Record, order: Record, bar: Record, plan: Record) -> Exit:
    """The exit at the open: the first reason that applies (rules 2, 3, 8, 9 and 12)."""
    price, quantity, side = bar.open, position.quantity, position.side
    reason = ordered_exit(position, order, plan) if order.pending != 0 else OPEN
    if reason == OPEN:
        if bar.flag & AFTER_SQUARE_OFF:
            reason = BY_SQUARE_OFF
        elif 0 < plan.max_holding <= position.bars:
            reason = BY_HOLDING
        elif (price - position.stop) * side <= 0:
            reason = BY_TRAIL if position.trailed else BY_STOP
        elif (price - position.target) * side >= 0:
            return Exit(BY_TARGET, price, quantity)
    return Exit(reason, slipped(position, price, plan), quantity)


@step
def ordered_exit(position: Record, order: Record, plan: Record) -> int:
    """Why what waits closes the position at the open; OPEN when it does not (rules 1 and 8)."""
    long, pending = position.side > 0, order.pending
    if pending & (CLOSE_LONG if long else CLOSE_SHORT):
        return BY_SIGNAL
    if pending & (EXIT_LONG if long else EXIT_SHORT):
        return BY_OPPOSITE
    if plan.reverse and pending & (ENTER_SHORT if long else ENTER_LONG):
        return BY_OPPOSITE
    return int(order.close_reason) if pending & FLATTEN else OPEN


@step
def inside_exit(position: Record, order: Record, bar: Record, plan: Record) -> Exit:
    """The exit inside the bar: the stop first, then the target, then the session's end (rules 3 and
    9); in the bar that an order was filled inside, without the target (rule 12).
    """
    side, quantity = position.side, position.quantity
    worst, best = (bar.low, bar.high) if side > 0 else (bar.high, bar.low)
    if (worst - position.stop) * side <= 0:
        # Slippage can put the stop of a new position beyond the price that it was filled at.
        filled = order.price if bar.filled_inside else bar.open
        level = position.stop if (filled - position.stop) * side > 0 else filled
        reason = BY_TRAIL if position.trailed else BY_STOP
        return Exit(reason, slipped(position, level, plan), quantity)
    if (best - position.target) * side >= 0 and not bar.filled_inside:
        return Exit(BY_TARGET, position.target, quantity)
    if bar.flag & LAST_OF_SESSION:
        return Exit(BY_SQUARE_OFF, slipped(position, bar.close, plan), quantity)
    return Exit(OPEN, bar.close, quantity)


@step
def slipped(position: Record, price: float, plan: Record) -> float:
    """The price of a market or stop exit: slippage works against it (rule 4)."""
    return float(price * (1 - position.side * plan.slippage))


@step
def close_position(books: Books, k: int, exit_: Exit, time: int, day: int) -> None:
    """Leave a position: pay, write the fill and the trade."""
    account, position, slot, work = books.account, books.positions[k], books.slots[k], books.work
    contract = slot.contract
    value = exit_.quantity * exit_.price * contract.multiplier
    from_demat = position.side > 0 and position.entry_day < day
    items = charges_on(value, position.side < 0, from_demat, contract.segment, day, books.rates)
    fee = pay(account, items)
    write_fill(books, k, time, -position.side, exit_, items)
    gross = exposure(position) * (exit_.price - position.average)
    account.cash += position.locked + gross - fee
    account.trades += 1
    trade = books.trades[work.trades]
    work.trades += 1
    work.open -= 1
    trade.entry_time, trade.exit_time, trade.symbol = position.entry_time, time, slot.instrument
    trade.bars, trade.side, trade.reason = position.bars, position.side, exit_.reason
    trade.quantity, trade.entry_price = exit_.quantity, position.average
    trade.exit_price, trade.gross = exit_.price, gross
    trade.value = position.average * exit_.quantity * contract.multiplier
    trade.charges = position.charges + fee
    position.side, position.quantity, position.locked = 0.0, 0.0, 0.0
    position.close, position.time, position.day = 0.0, 0, 0


# --------------------------------------------------------------------------------- levels and worth

tick_down, tick_up = step(prices.tick_down), step(prices.tick_up)
stop_distance, target_distance = step(prices.stop_distance), step(prices.target_distance)
is_armed, trail_distance = step(prices.is_armed), step(prices.trail_distance)
offset_price = step(prices.offset_price)


@step
def exposure(position: Record) -> float:
    """Rupees that a position gains for each rupee of price."""
    return float(position.side * position.quantity * position.contract.multiplier)


@step
def worth(position: Record, price: float) -> float:
    """What a position adds to equity at this price."""
    return float(position.locked + exposure(position) * (price - position.average))


@step
def set_levels(position: Record, plan: Record) -> None:
    """Stop and target from the average entry, rounded away from it (rules 3 and 7)."""
    side, average, tick = position.side, position.average, position.contract.tick
    distance = stop_distance(average, position.atr[STOP], plan)
    if distance > 0:
        level = average - side * distance
        level = tick_down(level, tick) if side > 0 else tick_up(level, tick)
        # An add never loosens a stop; at the level of the trailing stop it is the stop (rule 5).
        if not (position.stop - level) * side > 0:
            position.stop, position.trailed = level, 0
    distance = target_distance(average, distance, position.atr[TARGET], plan)
    if distance > 0:
        level = average + side * distance
        position.target = tick_up(level, tick) if side > 0 else tick_down(level, tick)


@step
def trails(plan: Record) -> bool:
    return bool(plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0)


@step
def trail(position: Record, best: float, plan: Record, contract: Record) -> None:
    """Move the stop after the extreme of completed bars; it lives from the next bar (rule 5)."""
    if not trails(plan):
        return
    if (best - position.extreme) * position.side > 0:
        position.extreme = best
    stop = trailed_stop(position, position.stop, position.extreme, plan, contract)
    if stop != position.stop and not np.isnan(stop):
        position.stop, position.trailed = stop, 1


@step
def trailed_stop(
    position: Record, stop: float, extreme: float, plan: Record, contract: Record
) -> float:
    """Where an extreme puts the stop, never looser; where it is, if that is not armed (rule 5)."""
    side = position.side
    if not is_armed(extreme, position.average, side, plan):
        return stop
    level = extreme - side * trail_distance(extreme, position.atr[TRAIL], plan)
    level = tick_down(level, contract.tick) if side > 0 else tick_up(level, contract.tick)
    return stop if (stop - level) * side >= 0 else level


# ------------------------------------------------------------------------------------------ charges


@step
def charges_on(
    value: float, buying: bool, from_demat: bool, segment: int, day: int, rates: Array
) -> Paise:
    """Return one fill's charges in the order of CHARGE_KINDS, each rounded (rule 10).

    `from_demat` is true of a sale of what was bought on an earlier day.
    """
    k = rates.size - 1  # the last that has begun is in force
    while k >= 0 and (rates[k].segment != segment or rates[k].first_day > day):
        k -= 1
    if k < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    rate = rates[k]
    brokerage = rate.brokerage_flat + min(rate.brokerage * value, rate.brokerage_cap)
    tax = (rate.tax_buy if buying else rate.tax_sell) * value
    exchange, regulator = rate.exchange * value, rate.regulator * value
    stamp = rate.stamp_buy * value if buying else 0.0
    depository = rate.depository if from_demat else 0.0
    gst = rate.gst * (brokerage + exchange + regulator + depository)
    fee, fund = paise(exchange), paise(rate.ipft * value)
    return (
        paise(brokerage), paise(tax), fee, fund, paise(regulator), paise(stamp), paise(gst),
        paise(depository),
    )  # fmt: skip


@step
def paise(rupees: float) -> float:
    """Whole paise, half up; the margin absorbs binary halves such as 0.145 rupees."""
    return float(np.floor(rupees * 100 + 0.5 + 1e-9))


@step
def pay(account: Record, items: Paise) -> float:
    """Count them by kind; return the rupees that leave the account."""
    for kind in range(len(items)):
        account.paid[kind] += items[kind]
    return sum(items) / 100


@step
def write_fill(books: Books, k: int, time: int, side: float, filled: Exit, items: Paise) -> None:
    """Write a fill, where the caller asks for them."""
    if books.fills.size == 0:
        return
    fill = books.fills[books.work.fills]
    books.work.fills += 1
    fill.time, fill.symbol, fill.side = time, books.slots[k].instrument, side
    fill.reason, fill.quantity, fill.price = filled.reason, filled.quantity, filled.price
    fill.charges = sum(items) / 100
    for kind in range(len(items)):
        fill.paid[kind] = items[kind]


@step
def refuse(books: Books, k: int, signal: int, reason: int) -> None:
    """Count an entry that is not traded, and write it where the caller asks for refusals."""
    books.account.rejected[reason] += 1
    if books.refusals.size == 0:
        return
    refused = books.refusals[books.work.refusals]
    books.work.refusals += 1
    refused.time, refused.symbol = books.work.time, books.slots[k].instrument
    refused.reason = reason
    refused.side = (signal & ENTER_LONG != 0) - (signal & ENTER_SHORT != 0)
