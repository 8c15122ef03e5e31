"""The simulation: one step per row of the market, resumable after any row, to the last bit.

A backtest is `run` over all rows and then `finish`; trading live is `run` over each new row. There
is no second code path and no "live" flag: nothing but `State` survives a row, and State is bytes.
The rules are numbered in README.md.

This module has all compiled code except the formulas of `prices.py`: read it from the top down,
`run` and its phases, then their parts. Active slots exist only for speed; they change no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apps.engine.kernel import codes, prices
from apps.engine.kernel.jit import entry_point, expression, phase, step
from apps.engine.kernel.records import (
    CONTRACT,
    FILL,
    FILLS_A_ROW,
    LAST_CLOSE,
    LEVELS,
    NO_END,
    NO_SAMPLING,
    RANGES,
    RATE,
    REFUSAL,
    KernelProgress,
    Settlement,
    Span,
    State,
)

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, MarketRows, Rules, Sampling, SimulationOutput

# A NumPy record; compiled code reads its fields as attributes, and no type expresses that.
Struct = Any
# A number of compiled code: NumPy's and Python's are the same there, as no type says.
AnyNumber = Any
Paise = tuple[float, float, float, float, float, float, float, float]

ALL_SIGNALS = 255
CLOSE_EITHER = codes.CLOSE_LONG | codes.CLOSE_SHORT
EXIT_WAITS = codes.HELD_UP | codes.TARGET_WAITS
ENTER_OR_ADD = codes.ENTER | codes.ADD_WAITS
# Rows that are scanned together in loops without branches; the most that are marked at a time; so
# few that they are marked one after the other.
BLOCK, MARKED_TOGETHER, FEW = 64, 1024, 32

WORK = np.dtype(
    # Where a call of the kernel stands.
    [
        ("trades", "i8"),  # written so far
        ("fills", "i8"),
        ("refusals", "i8"),
        ("open", "i8"),  # positions
        ("active", "i8"),  # slots that are active in the row
        ("held", "i8"),  # positions
        ("time", "i8"),  # of the row
        ("day_begin", "i8"),  # rows [day_begin, day_end) are of one day
        ("day_end", "i8"),
        ("funds", "f8"),  # equity at the row's opens, where entries are sized by it
        ("squaring", "?"),  # positions end with their session
        ("keeps_fills", "?"),  # the caller reads them
        ("keeps_refusals", "?"),
        ("keeps_orders", "?"),  # an entry's signal leaves more than that it waits
        ("marks_stale", "?"),  # the marks of slots are out of date
    ]
)
SLOT = np.dtype(
    # The source and the instrument of a slot in one call of the kernel, and its bar of the row in
    # which it is active.
    [
        ("source", "u8"),  # the column of its signals
        ("instrument", "u8"),  # the column of its cells
        ("contract", CONTRACT),
        ("rate", "i8"),  # the number of its rates of charges at its last fill
        ("advanced_to", "i8"),  # the first row that its position has not been advanced through
        ("bar", "i8"),  # the index of the bar; -1 without one, and the next fields are old
        ("open", "f8"),
        ("high", "f8"),
        ("low", "f8"),
        ("close", "f8"),
        ("atr", "f8", (RANGES,)),
        ("levels", "f8", (LEVELS,)),
        ("flag", "i8"),
        ("short_margin", "f8"),
        ("volume", "f8"),
        ("rank", "i8"),
        ("signal", "i8"),
        ("filled_inside", "?"),  # an order was filled on the way through the bar
        ("stepping", "?"),  # its position may take a step in this row
        ("moves_stop", "?"),  # a step of this row moves the stop, from the next bar on
        ("best", "f8"),  # the price up to which steps are taken
        ("exit_reason", "i8"),  # why its position leaves in this row; OPEN while it does not
        ("exit_price", "f8"),
        ("exit_time", "i8"),
        ("exit_day", "i8"),
        ("next_active", "i8"),  # its next active row
        # For all slots together: the i-th has the i-th active slot, the i-th entry of the row, and
        # the data for marking the i-th open position.
        ("active", "i8"),
        ("entering", "i8"),  # the slot
        ("marked", "i8"),  # the slot
        ("column", "u8"),  # its instrument
        ("first", "i8"),  # the bar of the first row
        ("locked", "f8"),
        ("units", "f8"),  # rupees that it gains for each rupee of price
        ("average", "f8"),
    ]
)


class Books(NamedTuple):
    """The state that a row changes, and its rules: records, and arrays of them."""

    account: Struct
    plan: Struct
    work: Struct
    positions: Array
    orders: Array
    slots: Array
    rates: Array
    trades: Array
    fills: Array
    refusals: Array


class Ticket(NamedTuple):
    """The rules and the state of one slot: records only."""

    account: Struct
    plan: Struct
    work: Struct
    position: Struct
    order: Struct
    slot: Struct
    rate: Struct
    trade: Struct  # the next ones to write
    fill: Struct
    refusal: Struct


class Exit(NamedTuple):
    """The reason why a position leaves (OPEN: it does not), its price, and the complete
    quantity.
    """

    reason: int
    price: float
    quantity: float


# Entry points.


def run(
    state: State,
    market: MarketRows,
    signals: Array,
    rules: Rules,
    output: SimulationOutput,
    start: int,
    stop: int,
) -> KernelProgress:
    """Step through rows [start, stop).

    The next row is before `stop` if `output` might not hold another row's records (read it and
    continue from there), or if the money is gone (rule 6: then no further row is run).
    """
    states = State(state.account, state.positions[np.newaxis], state.orders[np.newaxis])
    outputs = output._replace(equity=output.equity[np.newaxis])
    span = Span(start, stop, 0, start, NO_END)
    return run_all(states, market, signals[np.newaxis], rules, outputs, NO_SAMPLING, span)


@entry_point
def run_all(
    states: State,
    market: MarketRows,
    signals: Array,
    rules: Rules,
    output: SimulationOutput,
    sampling: Sampling,
    span: Span,
) -> KernelProgress:
    """Step through rows of one market with many plans, one after the other: states, signals, plans
    and equity have one more axis.

    Trades, fills and refusals are in the order of the plans. Returns before the last plan's end if
    `output` might not hold another row's records.
    """
    work = np.zeros(1, WORK)
    fills, refusals = or_scratch(output.fills, FILL), or_scratch(output.refusals, REFUSAL)
    work[0].keeps_fills, work[0].keeps_refusals = output.fills.size > 0, output.refusals.size > 0
    rates = with_zero_row(rules.rates)
    number, row, done = span.number, span.row, True
    while number < states.account.size and done:
        slots = np.zeros(states.positions.shape[1], SLOT)
        books = Books(
            states.account[number],
            rules.plan[number],
            work[0],
            states.positions[number],
            states.orders[number],
            slots,
            rates,
            output.trades,
            fills,
            refusals,
        )
        prepare_slots(books, market, rules.instruments, rules.contracts, row)
        curve = sampling.curve if sampling.rows.size > 0 else output.equity[number]
        end = run_rows(books, market, signals[number], curve, row, span.stop)
        if sampling.rows.size > 0:
            sample(sampling, output.equity[number], row, end)
        ruined = books.account.status != codes.RUNNING
        closes = span.end != NO_END and (ruined or end == span.end)
        done = (ruined or end == span.stop) and (not closes or has_room(books))
        row = end
        if done:
            if closes:
                close_all(books)
            number, row = number + 1, span.first
    return KernelProgress(number, end, work[0].trades, work[0].fills, work[0].refusals)


@step
def run_rows(
    books: Books, market: MarketRows, signals: Array, equity: Array, row: int, stop: int
) -> int:
    """Step through rows of one plan, while there is room and money; return the next row."""
    account, begun = books.account, row
    while row < stop and account.status == codes.RUNNING and has_room(books):
        row = mark_rows(books, market, equity, row, next_active_row(books, row, stop))
        if not list_active(books, row, stop):
            continue
        day_begins = begin_day(account, market.day[row])
        load_row(books, market, signals, row)
        if account.blocked:
            drop_blocked_entries(books)
        if day_begins and books.plan.within_session:
            drop_entries(books, codes.AFTER_SESSION)
        if exit_at_open(books):
            close_positions(books, False)
        if has_entries(books):
            enter_at_open(books, market, row)
        if exit_inside(books):
            close_positions(books, True)
        if is_limit_reached(books, market, equity, row):
            halt(books, market, signals, row)
        if is_signalled(books):
            read_signals(books)
        if books.plan.add_direction != 0:
            add_by_distance(books)
        row += 1
        find_next_active_rows(books, market, signals, row, stop)
    fast_forward_all(books, market, signals, row)
    account.rows += row - begun
    return row


@step
def sample(sampling: Sampling, points: Array, row: int, stop: int) -> None:
    """Store the equity of the sampled rows among [row, stop)."""
    for i in range(sampling.rows.size):
        if row <= sampling.rows[i] < stop:
            points[i] = sampling.curve[sampling.rows[i]]


@step
def close_all(books: Books) -> None:
    """Close open positions at their last close (rule 13). Live trading never does this."""
    account = books.account
    for k in range(books.slots.size):
        position, slot = books.positions[k], books.slots[k]
        if position.side != 0:
            exit_ = Exit(codes.BY_END_OF_DATA, position.close, position.quantity)
            slot.rate = rate_on(books.rates, slot.contract.segment, position.day)
            close_position(ticket_of(books, k), exit_, position.time, position.day)
            account.equity = account.cash
    if account.equity <= 0:
        account.status = codes.RUINED


@entry_point
def settle(
    state: State,
    rules: Rules,
    output: SimulationOutput,
    slot: int,
    reason: int,
    settlement: Settlement,
) -> int:
    """Close one slot without slippage and drop its pending order.

    The price is the settlement's, or else the last close. Return the number of trades written,
    which is also the number of fills.
    """
    account, position = state.account[0], state.positions[slot]
    work, slots = np.zeros(1, WORK), np.zeros(state.positions.size, SLOT)
    fills, refusals = or_scratch(output.fills, FILL), or_scratch(output.refusals, REFUSAL)
    books = Books(
        account,
        rules.plan[0],
        work[0],
        state.positions,
        state.orders,
        slots,
        with_zero_row(rules.rates),
        output.trades,
        fills,
        refusals,
    )
    work[0].keeps_fills = output.fills.size > 0
    for k in range(slots.size):
        slots[k].instrument = column_of(books.positions[k].instrument, k, rules.instruments)
        slots[k].contract = rules.contracts[slots[k].instrument]
    if position.side != 0:
        price = position.close if np.isnan(settlement.price) else settlement.price
        slots[slot].rate = rate_on(books.rates, slots[slot].contract.segment, position.day)
        ticket, quantity = ticket_of(books, slot), position.quantity
        if reason == codes.BY_EXPIRY:
            value = quantity * price * ticket.slot.contract.multiplier
            tax = settlement.tax if position.side > 0 else 0.0
            items = charges_on_expiry(value, tax, ticket.rate)
        else:
            items = charges_on_exit(ticket, price, quantity, position.day)
        leave(ticket, Exit(reason, price, quantity), items, position.time)
    state.orders[slot, 0].pending = 0
    held = 0.0
    for k in range(state.positions.size):
        if state.positions[k].side != 0:
            held += worth(state.positions[k], state.positions[k].close)
    account.equity = account.cash + held
    return int(work[0].trades)


def finish(state: State, rules: Rules, output: SimulationOutput) -> int:
    """Close open positions at their last close, as `run_all` does.

    Return the number of trades written, which is also the number of fills.
    """
    written = 0
    for slot in np.flatnonzero(state.positions["side"]).tolist():
        free = output._replace(trades=output.trades[written:], fills=output.fills[written:])
        written += settle(state, rules, free, slot, codes.BY_END_OF_DATA, LAST_CLOSE)
    if state.account["equity"][0] <= 0:
        state.account["status"] = codes.RUINED
    return written


@step
def or_scratch(records: Array, dtype: Any) -> Array:
    """Return the records to write, or an unread one if none are requested."""
    return records if records.size > 0 else np.zeros(1, dtype)


@step
def with_zero_row(rates: Array) -> Array:
    """Return the rates after a row of zero rates, for uncharged instruments."""
    rows = np.zeros(1 + rates.size, RATE)
    for k in range(rates.size):
        rows[1 + k] = rates[k]
    return rows


@step
def prepare_slots(
    books: Books, market: MarketRows, instruments: Array, contracts: Array, row: int
) -> None:
    """Find the columns and the contract of each slot, and count the open positions."""
    work = books.work
    work.open, work.marks_stale, work.squaring = 0, True, books.plan.squares_off
    work.keeps_orders = market.atr.size > 0 or books.plan.order_by != codes.AT_MARKET
    work.keeps_orders |= market.levels.size > 0 or market.ranks.size > 0
    for k in range(books.slots.size):
        slot, position = books.slots[k], books.positions[k]
        slot.source = column_of(position.source, k, instruments)
        slot.instrument = column_of(position.instrument, k, instruments)
        slot.contract = contracts[slot.instrument]
        slot.advanced_to = slot.next_active = row
        work.open += position.side != 0


@step
def column_of(instrument: int, likely: int, instruments: Array) -> int:
    """Return the index of an instrument; `likely` is its usual index."""
    column = likely
    while instruments[column] != instrument:
        column = (column + 1) % instruments.size
    return column


@expression
def ticket_of(books: Books, k: int) -> Ticket:
    return Ticket(
        books.account,
        books.plan,
        books.work,
        books.positions[k],
        books.orders[k, 0],
        books.slots[k],
        books.rates[books.slots[k].rate],
        books.trades[books.work.trades],
        books.fills[books.work.fills],
        books.refusals[books.work.refusals],
    )


@phase
def has_room(books: Books) -> bool:
    """Return whether the output can hold another row's records."""
    slots, work = books.slots.size, books.work
    room = work.trades + 2 * slots <= books.trades.size
    room &= (not work.keeps_fills) | (work.fills + FILLS_A_ROW * slots <= books.fills.size)
    room &= (not work.keeps_refusals) | (work.refusals + 2 * slots <= books.refusals.size)
    return bool(room)


# One row.


@phase
def load_row(books: Books, market: MarketRows, signals: Array, row: int) -> None:
    """Load the bars and signals of a row from each slot's columns."""
    work, bars, ranges, flags = books.work, market.bars, market.atr, market.flags
    work.time = market.time[row]
    for i in range(np.uint64(work.active)):
        k = books.slots[i].active
        slot = books.slots[k]
        if books.positions[k].side != 0 and slot.advanced_to < row:
            fast_forward(
                books.positions[k], books.orders[k, 0], slot, books.plan, market, signals, row
            )
        bar = bar_of(market, row, slot.instrument)
        slot.advanced_to, slot.exit_reason = row + 1, codes.OPEN
        slot.bar, slot.signal = bar, signals[slot.source, row]
        if bar >= 0:
            count_down(books.positions[k])
            slot.open, slot.high = bars.open[bar], bars.high[bar]
            slot.low, slot.close = bars.low[bar], bars.close[bar]
            slot.flag = flags[bar] if flags.size > 0 else 0
            if market.short_margins.size > 0:
                slot.short_margin = market.short_margins[bar]
            if market.volume.size > 0:
                slot.volume = market.volume[bar]
            if market.levels.size > 0:
                for column in range(LEVELS):
                    slot.levels[column] = market.levels[bar, column]
            if slot.signal != 0 and ranges.size > 0:
                for column in range(RANGES):
                    slot.atr[column] = ranges[bar, column]
            if market.ranks.size > 0:
                slot.rank = market.ranks[bar]


@phase
def bar_of(market: MarketRows, row: int, column: int) -> AnyNumber:
    """Return the bar of an instrument in a row; -1 without one."""
    if market.cell.shape[0] < market.time.size:  # it has one in every row
        return market.cell[0, column] + np.int64(row)
    return np.int64(market.cell[row, column])


@phase
def begin_day(account: Struct, day: int) -> bool:
    """Begin a day by rule 8: the daily loss counts from the last close before a day; return whether
    a day begins.
    """
    begins = account.day != day
    if begins:
        account.day_start, account.day, account.halted = account.equity, day, codes.NOT_HALTED
        account.entries_today = 0
    return bool(begins)


@phase
def count_down(position: Struct) -> None:
    """Count a bar of a cooldown (rule 8)."""
    if position.cooling > 0:
        position.cooling -= 1


@step
def drop_blocked_entries(books: Books) -> None:
    """Drop pending entries while entries are blocked (rule 20)."""
    for k in range(books.slots.size):
        order = books.orders[k, 0]
        order.pending &= ~codes.ADD_WAITS
        if order.pending & codes.ENTER:
            order.pending = without_entry(ticket_of(books, k), order.pending)


@step
def drop_entries(books: Books, reason: int) -> None:
    """Drop all pending entries, for a reason (rules 8 and 9)."""
    for k in range(books.slots.size):
        order = books.orders[k, 0]
        order.pending = dropped(ticket_of(books, k), order.pending, reason)


@phase
def exit_at_open(books: Books) -> bool:
    """Find the exits at the open (rules 2, 3, 8, 9, 12 and 22); return whether there are any."""
    account, plan, work, leaves = books.account, books.plan, books.work, False
    for i in range(np.uint64(work.active)):
        k = books.slots[i].active
        position, order, slot = books.positions[k], books.orders[k, 0], books.slots[k]
        if position.side != 0 and slot.bar >= 0:
            slot.exit_time, slot.exit_day = work.time, account.day
            late = work.squaring and position.day != account.day
            if (
                late and not order.pending & codes.LOCKED_AT_CLOSE
            ):  # its last session had no last bar
                slot.exit_reason = codes.BY_SQUARE_OFF
                slot.exit_price = slipped(position, position.close, plan)
                slot.exit_time, slot.exit_day = position.time, position.day
                order.pending &= ~EXIT_WAITS
            else:
                open_exit(position, order, slot, plan)
                if late and slot.exit_reason == codes.OPEN:
                    slot.exit_reason = codes.BY_SQUARE_OFF
                locked = is_locked_in(position, slot)
                slot.stepping &= not late and not locked
                if slot.exit_reason != codes.OPEN and locked:
                    hold_up(account, order, slot)
                else:
                    order.pending &= ~EXIT_WAITS
            leaves |= slot.stepping or slot.exit_reason != codes.OPEN
    return leaves


@step
def close_positions(books: Books, inside: bool) -> None:
    """Close the parts and the positions that leave, before any entry."""
    for i in range(np.uint64(books.work.active)):
        k = books.slots[i].active
        slot, position = books.slots[k], books.positions[k]
        if slot.stepping:
            take_steps(books, k, inside)
            slot.stepping = False
        if slot.exit_reason != codes.OPEN:
            exit_ = Exit(slot.exit_reason, slot.exit_price, position.quantity)
            slot.rate = rate_on(books.rates, slot.contract.segment, slot.exit_day)
            close_position(ticket_of(books, k), exit_, slot.exit_time, slot.exit_day)
            slot.exit_reason, slot.moves_stop = codes.OPEN, False
            if slot.exit_time < books.work.time:  # it left in the bar before
                count_down(position)
        elif slot.moves_stop and inside:
            move_stop(position)
            slot.moves_stop = False


@step
def take_steps(books: Books, k: int, inside: bool) -> None:
    """Take the steps of a position that prices have reached, in order: inside the bar at their
    levels, at its open there (rule 3).
    """
    position, slot, plan = books.positions[k], books.slots[k], books.plan
    slot.rate = rate_on(books.rates, slot.contract.segment, slot.exit_day)
    while (slot.best - next_step(position, plan)) * position.side >= 0:
        number, lot = position.taken, slot.contract.lot
        price = position.steps[number] if inside else slot.open
        lots = (position.sold + position.quantity) / lot * plan.step_percent[number] / 100
        quantity = np.floor(lots + 1e-9) * lot
        slot.moves_stop |= plan.step_moves_stop[number] != 0
        position.taken += 1
        if 0 < quantity < position.quantity:
            close_part(ticket_of(books, k), Exit(codes.BY_STEP, price, quantity))


@phase
def has_entries(books: Books) -> bool:
    """Return whether an entry may be filled; other pending orders were read at the open, and are
    dropped.
    """
    enters = False
    for i in range(np.uint64(books.work.active)):
        k = books.slots[i].active
        order = books.orders[k, 0]
        if books.slots[k].bar >= 0:
            order.pending &= ENTER_OR_ADD | EXIT_WAITS
            enters |= order.pending & ENTER_OR_ADD != 0
    return enters


@step
def enter_at_open(books: Books, market: MarketRows, row: int) -> None:
    """Fill the pending entries, by their places in a ranking if there is one (rules 2 and 12)."""
    entries = list_entries(books)
    if market.ranks.size > 0:
        rank_entries(books, entries)
    for i in range(entries):
        k = books.slots[i].entering
        order, slot = books.orders[k, 0], books.slots[k]
        if books.plan.size_by > codes.BY_AMOUNT:
            books.work.funds = equity_at_open(books, market, row)
        slot.rate = rate_on(books.rates, slot.contract.segment, books.account.day)
        ticket = ticket_of(books, k)
        reason = try_entry(ticket)
        if reason >= 0:
            refuse(ticket, order.pending, reason)
        order.pending &= ~ENTER_OR_ADD


@phase
def list_entries(books: Books) -> int:
    """List the active slots with an entry to fill, in the listed order of symbols; return their
    number.
    """
    count = 0
    for i in range(np.uint64(books.work.active)):
        k = books.slots[i].active
        order = books.orders[k, 0]
        if books.slots[k].bar >= 0:
            enter_add(books.positions[k], order, books.plan)
            if order.pending & codes.ENTER:
                books.slots[count].entering = k
                count += 1
    return count


@step
def rank_entries(books: Books, entries: int) -> None:
    """Sort the listed entries by their places in the ranking (rule 2)."""
    slots, orders = books.slots, books.orders
    for i in range(1, entries):
        k, index = slots[i].entering, i
        while index > 0 and orders[slots[index - 1].entering, 0].rank > orders[k, 0].rank:
            slots[index].entering = slots[index - 1].entering
            index -= 1
        slots[index].entering = k


@phase
def enter_add(position: Struct, order: Struct, plan: Struct) -> None:
    """Make a waiting add the entry to fill, if its position is still held whole and no exit waits;
    else drop it (rule 7).
    """
    if order.pending & codes.ADD_WAITS:
        held = position.side != 0 and has_add_left(position, plan)
        if not held or order.pending & EXIT_WAITS:
            order.pending &= ~codes.ADD_WAITS
        else:
            order.pending = order.pending & ~codes.ENTER | entry_of(position)


@step
def entry_of(position: Struct) -> int:
    """Return the bit of an entry in the direction of a position."""
    return codes.ENTER_LONG if position.side > 0 else codes.ENTER_SHORT


@phase
def equity_at_open(books: Books, market: MarketRows, row: int) -> float:
    """Return the equity at this row's opens, or at the last close for symbols without a bar (rule
    6).
    """
    funds = books.account.cash
    for k in range(books.slots.size):
        position = books.positions[k]
        if position.side != 0:
            bar = bar_of(market, row, books.slots[k].instrument)
            funds += worth(position, market.bars.open[bar] if bar >= 0 else position.close)
    return float(funds)


@phase
def exit_inside(books: Books) -> bool:
    """Find the exits inside the bar: stop and target, the session's end, the trail (rules 2, 3, 5,
    9 and 22); return whether anything leaves.
    """
    account, plan, work, leaves = books.account, books.plan, books.work, False
    for i in range(np.uint64(work.active)):
        k = books.slots[i].active
        position, order, slot = books.positions[k], books.orders[k, 0], books.slots[k]
        if position.side != 0 and slot.bar >= 0:
            position.bars += 1
            inside_exit(position, order, slot, plan)
            slot.exit_time, slot.exit_day = work.time, account.day
            if is_locked_in(position, slot):
                if slot.exit_reason != codes.OPEN and not order.pending & EXIT_WAITS:
                    hold_up(account, order, slot)
                slot.exit_reason, slot.stepping = codes.OPEN, False
                if work.squaring:
                    order.pending |= codes.LOCKED_AT_CLOSE
            leaves |= slot.exit_reason != codes.OPEN or slot.stepping or slot.moves_stop
            if slot.exit_reason == codes.OPEN:
                position.close, position.time, position.day = slot.close, work.time, account.day
                best = slot.high if position.side > 0 else slot.low
                if slot.filled_inside and position.bars == 1:  # the trail starts at the fill
                    best = position.extreme
                own = codes.TRAIL_LEVEL + (position.side < 0)
                stop, extreme = trailed(
                    position,
                    position.stop,
                    position.extreme,
                    best,
                    slot.levels[own],
                    plan,
                    slot.contract,
                )
                set_trail(position, stop, extreme)
            slot.filled_inside = False
    return leaves


@step
def halt(books: Books, market: MarketRows, signals: Array, row: int) -> None:
    """At a limit of the day, its loss before its profit, close positions at the next opens, and
    drop pending entries (rule 8).
    """
    account = books.account
    by_loss = account.day_start - account.equity >= books.plan.max_daily_loss - codes.DUST
    account.halted = codes.HALTED_BY_LOSS if by_loss else codes.HALTED_BY_PROFIT
    for k in range(books.slots.size):
        position, order, slot = books.positions[k], books.orders[k, 0], books.slots[k]
        slot.next_active = row + 1
        if position.side != 0 and slot.advanced_to <= row:  # it was not active
            fast_forward(position, order, slot, books.plan, market, signals, row + 1)
            slot.advanced_to, order.pending = row + 1, 0
        if position.side != 0:
            if not order.pending & codes.HELD_UP:
                order.close_reason = codes.BY_DAILY_LOSS if by_loss else codes.BY_DAILY_PROFIT
            order.pending |= codes.FLATTEN
    drop_entries(books, refusal_of_halted(account.halted))


@step
def refusal_of_halted(halted: int) -> int:
    """Return the reason for refusing entries on a day whose limit was reached."""
    by_loss = halted == codes.HALTED_BY_LOSS
    return codes.DAILY_LOSS_LIMIT if by_loss else codes.DAILY_PROFIT_LIMIT


@phase
def is_limit_reached(books: Books, market: MarketRows, equity: Array, row: int) -> bool:
    """Mark positions to market at the row's close; return whether a limit of the day is reached for
    the first time (rule 8). Without any money the simulation ends (rule 6).

    One expression: with branches, Numba counts references to arrays, and a row takes twice as long.
    """
    account = books.account
    list_marks(books)
    held = 0.0
    for i in range(np.uint64(books.work.held)):
        mark = books.slots[i]
        bar = bar_of(market, row, mark.column)
        price = market.bars.close[bar] if bar >= 0 else books.positions[mark.marked].close
        held += mark.locked + mark.units * (price - mark.average)
    account.equity = equity[row] = account.cash + held
    if account.equity <= 0:
        account.status = codes.RUINED
    gained, plan = account.equity - account.day_start, books.plan
    lost = -gained >= plan.max_daily_loss - codes.DUST
    reached = lost | (gained >= plan.max_daily_profit - codes.DUST)
    return bool(reached and not account.halted)


@phase
def is_signalled(books: Books) -> bool:
    signalled = False
    for i in range(np.uint64(books.work.active)):
        signalled |= books.slots[books.slots[i].active].signal != 0
    return signalled


@step
def read_signals(books: Books) -> None:
    """Make the signals at the close pending for the next bar (rules 1, 5 and 12)."""
    for i in range(np.uint64(books.work.active)):
        k = books.slots[i].active
        slot, order = books.slots[k], books.orders[k, 0]
        if slot.signal != 0:
            accepted = accept(ticket_of(books, k), slot.signal)
            order.pending |= accepted
            if accepted & codes.ENTER:
                order.rank = slot.rank
                for column in range(RANGES):
                    order.atr[column] = slot.atr[column]
                short = accepted & codes.ENTER_SHORT != 0
                order.stop_level = slot.levels[codes.STOP_LEVEL + short]
                order.target_level = slot.levels[codes.TARGET_LEVEL + short]
                order.share = slot.levels[codes.SHARE]
                if books.plan.order_by != codes.AT_MARKET:
                    order.price = order_price(slot.close, accepted, books.plan, slot.contract)


@step
def add_by_distance(books: Books) -> None:
    """Make adds wait for the next bar where the close is far enough from the last fill, unless
    entries are not allowed or the position leaves (rule 7).
    """
    account, plan = books.account, books.plan
    if account.halted or account.blocked:
        return
    for i in range(np.uint64(books.work.active)):
        k = books.slots[i].active
        position, slot, order = books.positions[k], books.slots[k], books.orders[k, 0]
        if position.side == 0 or slot.bar < 0 or not has_add_left(position, plan):
            continue
        gone = (slot.close - position.last_fill) * position.side * plan.add_direction
        distance = add_distance(position.last_fill, position.atr[codes.DISTANCE], plan)
        leaves = ordered_exit(position, order, plan) != codes.OPEN
        if gone >= distance - codes.DUST and not leaves:
            order.pending |= codes.ADD_WAITS
            if plan.order_by != codes.AT_MARKET:
                order.price = order_price(slot.close, entry_of(position), plan, slot.contract)


@step
def has_add_left(position: Struct, plan: Struct) -> bool:
    """Return whether a position may be added to by distance (rule 7)."""
    left = position.entries < plan.max_entries and position.taken == 0
    return bool(plan.add_direction != 0 and left)


@step
def ignores_signals(position: Struct, plan: Struct) -> bool:
    """Return whether new signals add nothing to a position (rule 7)."""
    full = position.entries >= plan.max_entries or position.taken > 0
    return bool(plan.add_direction != 0 or full)


# Marked to market.


@phase
def list_marks(books: Books) -> None:
    """List the open positions, in the order of slots, unless the list is current."""
    work, count = books.work, 0
    if work.marks_stale:
        for k in range(books.slots.size):
            position = books.positions[k]
            if position.side != 0:
                mark = books.slots[count]
                mark.marked, mark.column = k, books.slots[k].instrument
                mark.locked, mark.average = position.locked, position.average
                mark.units = exposure(position)
                count += 1
        work.held, work.marks_stale = count, False


@phase
def mark_rows(books: Books, market: MarketRows, equity: Array, row: int, stop: int) -> AnyNumber:
    """Mark positions to market at the closes of rows without an active slot (rule 8); return the
    first row with a limit of the day reached or without money, or `stop`.
    """
    account, cash = books.account, books.account.cash
    first, rows = np.uint64(row), np.uint64(max(stop - row, 0))
    list_marks(books)
    held = np.uint64(books.work.held)
    if rows > 0:
        for m in range(held):
            mark = books.slots[m]
            mark.first = bar_of(market, row, mark.column)
    if rows < FEW:
        for i in range(rows):
            worth_of_all = 0.0
            for m in range(held):
                mark = books.slots[m]
                price = market.bars.close[np.uint64(mark.first) + i]
                worth_of_all += mark.locked + mark.units * (price - mark.average)
            equity[first + i] = cash + worth_of_all
    else:
        for i in range(rows):
            equity[first + i] = 0.0
        for m in range(held):
            mark = books.slots[m]
            bar, locked, units = np.uint64(mark.first), mark.locked, mark.units
            average = mark.average
            for i in range(rows):
                equity[first + i] += locked + units * (market.bars.close[bar + i] - average)
        for i in range(rows):
            equity[first + i] = cash + equity[first + i]
    while row < stop:
        begin_day(account, market.day[row])
        end = end_of_day(books.work, market, row, stop)
        row = until_limit(account, books.plan, equity, row, end)
        if row < end:
            stop = row
            for k in range(books.slots.size):
                books.slots[k].next_active = row
    return row


@phase
def end_of_day(work: Struct, market: MarketRows, row: int, stop: int) -> int:
    """Return the first row of a later day than `row`, or `stop`.

    Most days have as many rows as the previous one.
    """
    begin, end = work.day_begin, work.day_end
    if row < begin or row >= end:
        begin, end = row, min(row + max(end - begin, 1), market.day.size)
    while end < market.day.size and market.day[end] == market.day[row]:
        end += 1
    while market.day[end - 1] != market.day[row]:
        end -= 1
    work.day_begin, work.day_end = begin, end
    return min(end, stop)


@phase
def until_limit(account: Struct, plan: Struct, equity: Array, row: int, stop: int) -> int:
    """Process the equity of rows of one day; return the first row with a limit of the day reached
    or without money, or `stop`.
    """
    begin, halted = account.day_start, account.halted != codes.NOT_HALTED
    most = np.inf if halted else plan.max_daily_loss - codes.DUST
    enough = np.inf if halted else plan.max_daily_profit - codes.DUST
    reached = False
    for other in range(np.uint64(row), np.uint64(stop)):
        gained = equity[other] - begin
        reached |= (equity[other] <= 0) | (-gained >= most) | (gained >= enough)
    last = stop - 1
    if reached:
        last = row
        while equity[last] > 0 and begin - equity[last] < most and equity[last] - begin < enough:
            last += 1
    account.equity = equity[last]
    return last if reached else stop


# Active slots.
#
# A slot is active in a row with a possible event: a pending order, a bar that touches a level, an
# acting signal. Its position is fast-forwarded through all other rows, and marked to market in
# them. A slot may be active in an uneventful row, because a step through it changes nothing else,
# but it must be active in every eventful one. A run with every slot active in every row gives the
# same bytes. A single function, `walk`, finds the next active row and the stop before any row.


@phase
def next_active_row(books: Books, row: int, stop: int) -> int:
    """Return the next row with an active slot, or the end of the rows that are marked together."""
    until = min(stop, row + MARKED_TOGETHER)
    for k in range(np.uint64(books.slots.size)):
        until = min(until, books.slots[k].next_active)
    return max(until, row)


@phase
def list_active(books: Books, row: int, stop: int) -> bool:
    """List the active slots of a row; return whether there are any."""
    count = 0
    if row < stop:
        for k in range(books.slots.size):
            if books.slots[k].next_active <= row:
                books.slots[count].active = k
                count += 1
    books.work.active = count
    return count > 0


@phase
def find_next_active_rows(
    books: Books, market: MarketRows, signals: Array, row: int, stop: int
) -> None:
    """Find the next active rows, from `row` on, of the slots that were active in the row before."""
    work = books.work
    for i in range(np.uint64(work.active)):
        k = books.slots[i].active
        position, order, slot = books.positions[k], books.orders[k, 0], books.slots[k]
        acting = ALL_SIGNALS & ~idle_signals(books.account, books.plan, work, position)
        waits = order.pending & (acting | codes.ADD_WAITS) != 0 or position.cooling > 0
        waits = waits or (position.side != 0 and books.plan.trails_at_level)
        end = row if waits else stop
        if position.side != 0 and row < end:
            if books.plan.max_holding > 0:
                end = min(end, row + max(books.plan.max_holding - position.bars, 0))
            if work.squaring:  # the next bar of another day closes the remaining position (rule 9)
                late = position.day != books.account.day
                end = row if late else end_of_day(work, market, row - 1, end)
        if position.side == 0:
            end = next_signal(signals, slot.source, np.uint8(acting), row, end)
        elif slot.bar < 0:  # until its next bar: a new tick may round the stop then
            end = row
        else:
            end, _, _ = walk(position, slot, books.plan, market, signals, np.uint8(acting), end)
        slot.next_active = end


@phase
def idle_signals(account: Struct, plan: Struct, work: Struct, position: Struct) -> int:
    """Return the signal bits without effect: exits of the opposite side, and an entry that the
    position ignores (rule 7), unless its order is kept or its refusal may be counted.
    """
    if position.side == 0:
        return CLOSE_EITHER
    idle = codes.CLOSE_SHORT if position.side > 0 else codes.CLOSE_LONG
    kept = work.keeps_orders or account.blocked or account.halted
    if ignores_signals(position, plan) and not kept:
        idle |= codes.ENTER_LONG if position.side > 0 else codes.ENTER_SHORT
    return idle


@phase
def next_signal(signals: Array, source: int, acting: AnyNumber, row: int, stop: int) -> AnyNumber:
    """Return the first row of [row, stop) with an acting signal at its close, or `stop`."""
    end = row
    while row < stop and end == row:
        end, signalled = min(row + BLOCK, stop), np.uint8(0)
        for other in range(np.uint64(row), np.uint64(end)):
            signalled |= signals[source, other]
        if signalled & acting:
            while row < end and not signals[source, np.uint64(row)] & acting:
                row += 1
        else:
            row = end
    return row


@phase
def walk(
    position: Struct,
    slot: Struct,
    plan: Struct,
    market: MarketRows,
    signals: Array,
    acting: AnyNumber,
    stop: int,
) -> tuple[AnyNumber, float, float]:
    """Move the stop and the extreme of a position through the rows before `stop`, to the first row
    with a possible event: a signal acts, its bar reaches a level or has a flag, or there is no bar.
    Return that row, or `stop`, and both values before it.
    """
    column, side, squaring = slot.instrument, position.side, market.flags.size > 0
    row, level, extreme = slot.advanced_to, position.stop, position.extreme
    passed = extreme if trails(plan) else np.nan  # a bar beyond it moves the stop
    add = add_level(position, plan)
    add_above, add_below = (add, np.nan) if plan.add_direction > 0 else (np.nan, add)
    target = first_reached(position.target, next_step(position, plan), side)
    target = first_reached(target, add_above, side)
    guard = first_reached(level, add_below, -side)
    while row < stop:
        bar, end = bar_of(market, row, column), min(row + BLOCK, stop)
        if bar < 0:
            stop = end = row
        while end > row and bar_of(market, end - 1, column) - bar != end - 1 - row:
            end -= 1
        first, rows = np.uint64(bar), np.uint64(end - row)
        signalled = np.uint8(0)
        for i in range(rows):
            signalled |= signals[slot.source, np.uint64(row) + i]
        stirs = signalled & acting != 0
        if squaring:
            for i in range(rows):
                stirs |= market.flags[first + i] != 0
        if side > 0:
            for i in range(rows):
                best, worst = market.bars.high[first + i], market.bars.low[first + i]
                stirs |= reaches(side, guard, target, best, worst) | (best > passed)
        else:
            for i in range(rows):
                best, worst = market.bars.low[first + i], market.bars.high[first + i]
                stirs |= reaches(side, guard, target, best, worst) | (best < passed)
        if not stirs:  # in the whole block
            row = end
        while row < end:
            tried = np.uint64(bar)
            best = market.bars.high[tried] if side > 0 else market.bars.low[tried]
            worst = market.bars.low[tried] if side > 0 else market.bars.high[tried]
            active = reaches(side, guard, target, best, worst)
            active |= signals[slot.source, np.uint64(row)] & acting != 0
            if squaring:
                active |= market.flags[tried] != 0
            if active:
                stop = end = row
            else:
                if (best - passed) * side > 0:
                    level, extreme = trailed(
                        position, level, extreme, best, np.nan, plan, slot.contract
                    )
                    passed, guard = extreme, first_reached(level, add_below, -side)
                row, bar = row + 1, bar + 1
    return row, level, extreme


@phase
def reaches(side: float, guard: float, target: float, best: float, worst: float) -> bool:
    """Return whether a bar reaches the first level on the losing side, or on the winning side."""
    return ((worst - guard) * side <= 0) | ((best - target) * side >= 0)


@step
def first_reached(a: float, b: float, way: float) -> float:
    """Return the price that is reached first by prices that rise (1) or fall (-1); NaN is none."""
    return a if np.isnan(b) or (b - a) * way >= 0 else b


@step
def next_step(position: Struct, plan: Struct) -> float:
    """Return the level of the next step; NaN without one before the target (rule 3)."""
    if position.taken >= plan.steps:
        return np.nan
    level = position.steps[position.taken]
    beyond = (level - position.target) * position.side >= 0
    return np.nan if beyond else float(level)


@step
def add_level(position: Struct, plan: Struct) -> float:
    """Return a price that every bar reaches whose close is far enough for an add; NaN if no add is
    left (rule 7).
    """
    if not has_add_left(position, plan):
        return np.nan
    distance = add_distance(position.last_fill, position.atr[codes.DISTANCE], plan)
    way = position.side * plan.add_direction
    return float(position.last_fill + way * (distance - 2 * codes.DUST))


@phase
def fast_forward(
    position: Struct,
    order: Struct,
    slot: Struct,
    plan: Struct,
    market: MarketRows,
    signals: Array,
    row: int,
) -> None:
    """Move a position through its bars in the uneventful rows before `row`."""
    last, rows = row - 1, row - slot.advanced_to
    bar = bar_of(market, last, slot.instrument)
    if trails(plan):
        _, level, extreme = walk(position, slot, plan, market, signals, np.uint8(0), row)
        set_trail(position, level, extreme)
    position.bars += rows
    position.close, position.time = market.bars.close[bar], market.time[last]
    position.day = market.day[last]
    # An entry that is ignored waits too; any other would have made the slot active (rule 7).
    order.pending = signals[slot.source, last] & codes.ENTER


@phase
def fast_forward_all(books: Books, market: MarketRows, signals: Array, row: int) -> None:
    """Move all positions through the rows before `row`."""
    for k in range(books.slots.size):
        position, slot = books.positions[k], books.slots[k]
        if position.side != 0 and slot.advanced_to < row:
            fast_forward(position, books.orders[k, 0], slot, books.plan, market, signals, row)


# Signals.


@step
def accept(ticket: Ticket, signal: int) -> int:
    """Return a signal without its idle parts: both sides at once, entries after a breach or a
    session or while they are blocked, entries that the position ignores, and exits of the opposite
    side.
    """
    account, position, plan = ticket.account, ticket.position, ticket.plan
    if position.side <= 0:
        signal &= ~codes.CLOSE_LONG
    if position.side >= 0:
        signal &= ~codes.CLOSE_SHORT
    if is_both(signal):
        refuse(ticket, signal, codes.BOTH_SIDES)
        signal &= ~(codes.ENTER | codes.EXIT_LONG | codes.EXIT_SHORT)
    if account.halted:
        signal = dropped(ticket, signal, refusal_of_halted(account.halted))
    if signal & codes.ENTER and account.blocked:
        return without_entry(ticket, signal)
    if plan.within_session and ticket.slot.flag & codes.LAST_OF_SESSION:
        signal = dropped(ticket, signal, codes.AFTER_SESSION)
    if position.side != 0 and not plan.reverse:
        signal &= ~(codes.ENTER_SHORT if position.side > 0 else codes.ENTER_LONG)
    return signal


@step
def is_both(signal: int) -> bool:
    """Return whether an entry and its opposite are true at one close; then neither counts (rule
    12).
    """
    long, short = codes.ENTER_LONG | codes.EXIT_LONG, codes.ENTER_SHORT | codes.EXIT_SHORT
    return signal & codes.ENTER == codes.ENTER or signal & long == long or signal & short == short


@step
def is_ignored(position: Struct, signal: int, plan: Struct) -> bool:
    """Return whether the position ignores this entry (rule 7): no add is left in its direction, or
    the strategy ignores opposite signals.
    """
    if position.side == 0:
        return False
    if signal & (codes.ENTER_LONG if position.side > 0 else codes.ENTER_SHORT):
        return ignores_signals(position, plan)
    return not plan.reverse


@step
def dropped(ticket: Ticket, signal: int, reason: int) -> int:
    """Return a signal without its entry; an ignored entry is not refused (rule 7)."""
    if signal & codes.ENTER and not is_ignored(ticket.position, signal, ticket.plan):
        refuse(ticket, signal, reason)
    return signal & ~ENTER_OR_ADD


@step
def without_entry(ticket: Ticket, signal: int) -> int:
    """Return a signal without its blocked entry; a reversal still closes (rule 20).

    An ignored entry is not refused.
    """
    position = ticket.position
    if not is_ignored(position, signal, ticket.plan):
        against = codes.ENTER_SHORT if position.side > 0 else codes.ENTER_LONG
        if position.side != 0 and signal & against:
            signal |= codes.EXIT_LONG if position.side > 0 else codes.EXIT_SHORT
        refuse(ticket, signal, ticket.account.blocked - 1)
    return signal & ~codes.ENTER


# Entries.


@step
def try_entry(ticket: Ticket) -> int:
    """Fill the pending entry of a slot (rules 3 to 7); return TRADED, IGNORED or the reason against
    it.
    """
    plan, position, order, slot = ticket.plan, ticket.position, ticket.order, ticket.slot
    reason = refusal(ticket)
    if reason != codes.TRADED:
        return reason
    price, inside = filled_at(position, order, slot, plan)
    if np.isnan(price):
        return codes.LIMIT_NOT_REACHED
    side = 1.0 if order.pending & codes.ENTER_LONG else -1.0
    if slot.flag & (codes.LOCKED_UP if side > 0 else codes.LOCKED_DOWN):
        return codes.CIRCUIT
    if plan.order_by != codes.AT_LIMIT:
        price *= 1 + side * plan.slippage
    stop, target = levels_of_entry(ticket, side)
    if (price - stop) * side <= 0 or (target - price) * side <= 0:
        return codes.LEVEL_BEYOND_ENTRY
    contract = slot.contract
    wanted = wanted_lots(ticket, side, price, stop)
    if not wanted >= 1:
        return codes.BELOW_ONE_LOT
    room = plan.max_position_value / (price * contract.multiplier) - position.quantity
    allowed, tightest = min(wanted, np.floor(room / contract.lot + 1e-9)), codes.BY_POSITION_SIZE
    if allowed < 1:
        return codes.POSITION_LIMIT
    if plan.max_volume_share > 0:
        traded = np.floor(slot.volume * plan.max_volume_share / contract.lot + 1e-9)
        if traded < 1:
            return codes.BELOW_ONE_LOT
        if traded < allowed:
            allowed, tightest = traded, codes.BY_VOLUME
    lots = affordable_lots(ticket, side, price, allowed)
    if lots < 1:
        return codes.INSUFFICIENT_CASH
    if lots < wanted:
        ticket.account.reduced[codes.BY_CASH if lots < allowed else tightest] += 1
    open_position(ticket, side, price, lots)
    slot.filled_inside = inside
    return codes.TRADED


@step
def refusal(ticket: Ticket) -> int:
    """Return the reason against the pending entry before any price is known; TRADED without one."""
    plan, position, order, slot = ticket.plan, ticket.position, ticket.order, ticket.slot
    long, waits = order.pending & codes.ENTER_LONG != 0, order.pending & EXIT_WAITS != 0
    against = position.side != 0 and (position.side > 0) != long
    reverses = against and waits and plan.reverse  # the position it would close waits (rule 22)
    adds = order.pending & codes.ADD_WAITS != 0
    full = position.side != 0 and (waits or (not adds and ignores_signals(position, plan)))
    if not reverses and (against or full):
        return codes.IGNORED
    if slot.flag & codes.AFTER_SQUARE_OFF:
        return codes.OUTSIDE_SESSION
    if reverses:
        return codes.CIRCUIT
    if position.side != 0:
        return codes.TRADED
    if are_entries_used_up(ticket.account, position, plan):
        return codes.ENTRY_LIMIT
    if position.cooling > 0:
        return codes.COOLDOWN
    return codes.POSITION_LIMIT if ticket.work.open >= plan.max_positions else codes.TRADED


@step
def are_entries_used_up(account: Struct, position: Struct, plan: Struct) -> bool:
    """Return whether as many positions as allowed were opened today, in all or in this symbol (rule
    8).
    """
    opened = position.opened if position.entry_day == account.day else 0
    of_day = 0 < plan.max_entries_a_day <= account.entries_today
    return bool(of_day or 0 < plan.max_entries_a_symbol <= opened)


@step
def order_price(close: float, signal: int, plan: Struct, contract: Struct) -> float:
    """Return the price of a limit order, rounded in our favour, or of a stop order, rounded away
    (rule 12).
    """
    up = (signal & codes.ENTER_LONG != 0) != (plan.order_by == codes.AT_LIMIT)
    price = offset_price(close, up, plan)
    return float(tick_up(price, contract.tick) if up else tick_down(price, contract.tick))


@step
def filled_at(position: Struct, order: Struct, bar: Struct, plan: Struct) -> tuple[float, bool]:
    """Return (price, inside the bar) of the pending entry; NaN if it is not reached (rule 12)."""
    if plan.order_by == codes.AT_MARKET:
        return bar.open, False
    price = order.price
    up = (order.pending & codes.ENTER_LONG != 0) != (plan.order_by == codes.AT_LIMIT)
    if bar.open >= price if up else bar.open <= price:
        return bar.open, False
    reached = bar.high >= price if up else bar.low <= price
    side = position.side
    left = (price - position.stop) * side <= 0 or (price - position.target) * side >= 0
    left = left or (price - next_step(position, plan)) * side >= 0
    if not reached or (side != 0 and left):  # the stop, a step or the target came first
        return np.nan, False
    return price, True


@step
def levels_of_entry(ticket: Ticket, side: float) -> tuple[float, float]:
    """Return the stop and the target that rest at levels, rounded away from the entry; NaN for
    others. An add keeps those of its position (rule 3).
    """
    plan, position, order = ticket.plan, ticket.position, ticket.order
    tick, stop, target = ticket.slot.contract.tick, np.nan, np.nan
    if plan.stops_at_level and position.side != 0:
        stop = position.stop_level
    elif plan.stops_at_level:
        level = order.stop_level
        stop = tick_down(level, tick) if side > 0 else tick_up(level, tick)
    if plan.targets_at_level and position.side != 0:
        target = position.target_level
    elif plan.targets_at_level:
        level = order.target_level
        target = tick_up(level, tick) if side > 0 else tick_down(level, tick)
    return stop, target


@step
def wanted_lots(ticket: Ticket, side: float, price: float, stop: float) -> float:
    """Return the lots by the plan's sizing (rule 6); `stop` is that of a level, or NaN."""
    plan, position, contract = ticket.plan, ticket.position, ticket.slot.contract
    ranges = ticket.order.atr if position.side == 0 else position.atr
    if plan.size_by == codes.BY_QUANTITY:
        wanted = plan.size
    elif plan.size_by == codes.BY_AMOUNT:
        wanted = plan.size / (price * contract.multiplier)
    else:
        funds = ticket.work.funds * plan.size
        if plan.size_by == codes.BY_EQUITY:
            wanted = funds / (price * contract.multiplier)
        elif plan.size_by == codes.BY_RISK:
            distance = stop_distance(price, ranges[codes.STOP], plan)
            distance = nearer_distance(distance, (price - stop) * side)
            wanted = funds / (distance * contract.multiplier)
        elif plan.size_by == codes.BY_OPERAND:
            share = ticket.order.share if position.side == 0 else position.share
            wanted = funds * share / (price * contract.multiplier)
        else:
            wanted = funds / (plan.size_atr * ranges[codes.SIZE] * contract.multiplier)
    return float(np.floor(wanted / contract.lot + 1e-9))


@step
def affordable_lots(ticket: Ticket, side: float, price: float, lots: float) -> float:
    """Return the most lots, at most `lots`, that cash can pay with their charges; by bisection."""
    account, contract = ticket.account, ticket.slot.contract
    paid, beyond, middle = 0.0, lots + 1.0, lots
    while beyond - paid > 1:
        value = middle * contract.lot * price * contract.multiplier
        items = charges_on(value, side > 0, False, ticket.rate)
        locked = locked_by(ticket.slot, side, price, middle)
        if locked + sum(items) / 100 <= account.cash + codes.DUST:
            paid = middle
        else:
            beyond = middle
        middle = np.floor((paid + beyond) / 2)
    return paid


@step
def locked_by(slot: Struct, side: float, price: float, lots: float) -> float:
    """Return the rupees locked by an entry of this many lots (rule 6)."""
    contract = slot.contract
    locked = lots * contract.lot * price * contract.multiplier * contract.margin
    if side < 0:
        locked += lots * contract.lot * contract.multiplier * slot.short_margin
    return float(locked)


@step
def open_position(ticket: Ticket, side: float, price: float, lots: float) -> None:
    """Fill an entry or an add: pay, write the fill, set the levels."""
    account, position, contract = ticket.account, ticket.position, ticket.slot.contract
    value = lots * contract.lot * price * contract.multiplier
    items = charges_on(value, side > 0, False, ticket.rate)
    quantity, locked = lots * contract.lot, locked_by(ticket.slot, side, price, lots)
    fee = pay(account, items)
    write_fill(ticket, ticket.work.time, side, Exit(codes.OPEN, price, quantity), items)
    account.cash -= locked + fee
    if position.side == 0:
        position.stop_level, position.target_level = levels_of_entry(ticket, side)
        position.share = ticket.order.share
        ticket.work.open += 1
        position.side, position.average, position.quantity = side, price, quantity
        position.locked, position.charges, position.extreme = locked, fee, price
        position.stop, position.target, position.trailed = np.nan, np.nan, 0
        position.taken, position.sold, position.delivered_on = 0, 0.0, 0
        position.sold_value, position.sold_gross = 0.0, 0.0
        position.opened = 1 + (position.opened if position.entry_day == account.day else 0)
        account.entries_today += 1
        position.entry_time, position.entry_day = ticket.work.time, account.day
        position.entries, position.bars = 1, 0
        for i in range(RANGES):
            position.atr[i] = ticket.order.atr[i]
    else:
        whole = position.average * position.quantity + price * quantity
        position.average = whole / (position.quantity + quantity)
        position.quantity += quantity
        position.locked += locked
        position.charges += fee
        position.entries += 1
    position.contract, position.last_fill = contract, price
    set_levels(position, ticket.plan)
    ticket.work.marks_stale = True


# Exits.


@phase
def open_exit(position: Struct, order: Struct, slot: Struct, plan: Struct) -> None:
    """Find the exit at the open: the first reason that applies (rules 2, 3, 8, 9 and 12)."""
    price, side = slot.open, position.side
    reason = ordered_exit(position, order, plan) if order.pending != 0 else codes.OPEN
    slot.exit_price, slot.best, slot.stepping = slipped(position, price, plan), price, False
    if reason == codes.OPEN:
        if slot.flag & codes.AFTER_SQUARE_OFF:
            reason = square_off_reason(slot.flag)
        elif 0 < plan.max_holding <= position.bars:
            reason = codes.BY_HOLDING
        elif (price - position.stop) * side <= 0:
            reason = codes.BY_TRAIL if position.trailed else codes.BY_STOP
        else:
            slot.stepping = (price - next_step(position, plan)) * side >= 0
            if (price - position.target) * side >= 0:
                reason, slot.exit_price = codes.BY_TARGET, price
    slot.exit_reason = reason


@step
def ordered_exit(position: Struct, order: Struct, plan: Struct) -> int:
    """Return the reason of a pending close at the open; OPEN without one (rules 1, 8, 22)."""
    long, pending = position.side > 0, order.pending
    if pending & codes.HELD_UP:
        return int(order.close_reason)
    if pending & (codes.CLOSE_LONG if long else codes.CLOSE_SHORT):
        return codes.BY_SIGNAL
    if pending & (codes.EXIT_LONG if long else codes.EXIT_SHORT):
        return codes.BY_OPPOSITE
    if plan.reverse and pending & (codes.ENTER_SHORT if long else codes.ENTER_LONG):
        return codes.BY_OPPOSITE
    return int(order.close_reason) if pending & codes.FLATTEN else codes.OPEN


@phase
def inside_exit(position: Struct, order: Struct, slot: Struct, plan: Struct) -> None:
    """Find the exit inside the bar: the stop first, then steps and the target, then the session's
    end (rules 3 and 9). In the bar that filled an order inside, the high or low may be older than
    the fill: steps and target count if the close is at or beyond them (rule 12).
    """
    side = position.side
    worst, best = (slot.low, slot.high) if side > 0 else (slot.high, slot.low)
    if slot.filled_inside:
        best = slot.close
    if (worst - position.stop) * side <= 0:
        # Slippage can put the stop of a new position beyond the price that it was filled at.
        filled = order.price if slot.filled_inside else slot.open
        level = position.stop if (filled - position.stop) * side > 0 else filled
        slot.exit_reason = codes.BY_TRAIL if position.trailed else codes.BY_STOP
        slot.exit_price = slipped(position, level, plan)
        return
    slot.best, slot.stepping = best, (best - next_step(position, plan)) * side >= 0
    if (best - position.target) * side >= 0:
        slot.exit_reason, slot.exit_price = codes.BY_TARGET, position.target
    elif slot.flag & codes.LAST_OF_SESSION:
        slot.exit_reason = square_off_reason(slot.flag)
        slot.exit_price = slipped(position, slot.close, plan)


@phase
def is_locked_in(position: Struct, slot: Struct) -> bool:
    """Return whether nobody trades against the exit of a position in this bar (rule 22)."""
    return bool(slot.flag & (codes.LOCKED_DOWN if position.side > 0 else codes.LOCKED_UP))


@phase
def hold_up(account: Struct, order: Struct, slot: Struct) -> None:
    """Make an exit wait, and count it once with each of its bars (rule 22).

    A target waits as a limit order; other exits are made as soon as possible.
    """
    account.waited[codes.WAITING_EXITS] += order.pending & EXIT_WAITS == 0
    account.waited[codes.WAITED_BARS] += 1
    if slot.exit_reason == codes.BY_TARGET:
        order.pending |= codes.TARGET_WAITS
    else:
        order.pending |= codes.HELD_UP
        order.close_reason = slot.exit_reason
    slot.exit_reason = codes.OPEN


@step
def square_off_reason(flag: int) -> int:
    return codes.BY_EXPIRY_CLOSE if flag & codes.BEFORE_DELIVERY else codes.BY_SQUARE_OFF


@step
def slipped(position: Struct, price: float, plan: Struct) -> float:
    """Return the price of a market or stop exit: slippage works against it (rule 4)."""
    return float(price * (1 - position.side * plan.slippage))


@step
def close_position(ticket: Ticket, exit_: Exit, time: int, day: int) -> None:
    """Leave a position by an order."""
    leave(ticket, exit_, charges_on_exit(ticket, exit_.price, exit_.quantity, day), time)


@step
def charges_on_exit(ticket: Ticket, price: float, quantity: float, day: int) -> Paise:
    """Return the charges of an exit; parts that leave on one day pay one depository charge."""
    position = ticket.position
    value = quantity * price * ticket.slot.contract.multiplier
    from_demat = position.side > 0 and position.entry_day < day and position.delivered_on != day
    return charges_on(value, position.side < 0, from_demat, ticket.rate)


@step
def close_part(ticket: Ticket, part: Exit) -> None:
    """Close a part of a position by an order: pay, write the fill and free its money."""
    account, position, slot = ticket.account, ticket.position, ticket.slot
    items = charges_on_exit(ticket, part.price, part.quantity, slot.exit_day)
    fee = pay(account, items)
    write_fill(ticket, slot.exit_time, -position.side, part, items)
    units = position.side * part.quantity * position.contract.multiplier
    gross = units * (part.price - position.average)
    freed = position.locked * (part.quantity / position.quantity)
    account.cash += freed + gross - fee
    position.locked -= freed
    position.quantity -= part.quantity
    position.charges += fee
    position.sold += part.quantity
    position.sold_value += part.quantity * part.price
    position.sold_gross += gross
    position.delivered_on = slot.exit_day
    ticket.work.marks_stale = True


@step
def move_stop(position: Struct) -> None:
    """Move the stop to the average entry, unless it is tighter (rule 3)."""
    side, average, tick = position.side, position.average, position.contract.tick
    level = tick_down(average, tick) if side > 0 else tick_up(average, tick)
    if not (position.stop - level) * side > 0:
        position.stop, position.trailed = level, 0


@step
def leave(ticket: Ticket, exit_: Exit, items: Paise, time: int) -> None:
    """Leave a position: pay, write the fill and the trade."""
    account, position, work = ticket.account, ticket.position, ticket.work
    contract = ticket.slot.contract
    fee = pay(account, items)
    write_fill(ticket, time, -position.side, exit_, items)
    gross = exposure(position) * (exit_.price - position.average)
    account.cash += position.locked + gross - fee
    account.trades += 1
    trade = ticket.trade
    work.trades += 1
    work.open -= 1
    work.marks_stale = True
    trade.entry_time, trade.exit_time, trade.symbol = (
        position.entry_time,
        time,
        ticket.slot.instrument,
    )
    trade.bars, trade.side, trade.reason = position.bars, position.side, exit_.reason
    trade.quantity, trade.entry_price = exit_.quantity, position.average
    trade.exit_price, trade.gross = exit_.price, gross
    if position.sold > 0:
        trade.quantity = position.sold + exit_.quantity
        value = position.sold_value + exit_.quantity * exit_.price
        trade.exit_price, trade.gross = value / trade.quantity, position.sold_gross + gross
    trade.value = position.average * trade.quantity * contract.multiplier
    trade.charges = position.charges + fee
    if ticket.plan.cooldown > 0 and not (
        ticket.plan.cools_after_loss and trade.gross - trade.charges >= -codes.DUST
    ):
        position.cooling = ticket.plan.cooldown + 1
    position.side, position.quantity, position.locked = 0.0, 0.0, 0.0
    position.close, position.time, position.day = 0.0, 0, 0


# Levels and worth.

tick_down, tick_up = step(prices.tick_down), step(prices.tick_up)
stop_distance, nearer_distance, target_distance = (
    step(prices.stop_distance),
    step(prices.nearer_distance),
    step(prices.target_distance),
)
is_armed, trail_distance = step(prices.is_armed), step(prices.trail_distance)
step_distance, add_distance, offset_price = (
    step(prices.step_distance),
    step(prices.add_distance),
    step(prices.offset_price),
)


@step
def exposure(position: Struct) -> float:
    """Return the rupees that a position gains for each rupee of price."""
    return float(position.side * position.quantity * position.contract.multiplier)


@step
def worth(position: Struct, price: AnyNumber) -> float:
    """Return the contribution of a position to equity at this price."""
    return float(position.locked + exposure(position) * (price - position.average))


@step
def set_levels(position: Struct, plan: Struct) -> None:
    """Set stop and target from the average entry, rounded away from it (rules 3 and 7)."""
    side, average, tick = position.side, position.average, position.contract.tick
    distance = stop_distance(average, position.atr[codes.STOP], plan)
    if plan.stops_at_level:
        distance = nearer_distance(distance, (average - position.stop_level) * side)
    if distance > 0:
        level = average - side * distance
        level = tick_down(level, tick) if side > 0 else tick_up(level, tick)
        # An add never loosens a stop; at the level of the trailing stop it is the stop (rule 5).
        if not (position.stop - level) * side > 0:
            position.stop, position.trailed = level, 0
    reach = target_distance(average, distance, position.atr[codes.TARGET], plan)
    if reach > 0:
        level = average + side * reach
        position.target = tick_up(level, tick) if side > 0 else tick_down(level, tick)
    if plan.targets_at_level:
        position.target = position.target_level
    for number in range(plan.steps):
        level = average + side * step_distance(average, distance, number, plan)
        level = tick_up(level, tick) if side > 0 else tick_down(level, tick)
        if number > 0:  # a step waits for those before it
            level = first_reached(position.steps[number - 1], level, -side)
        position.steps[number] = level


@step
def trails(plan: Struct) -> bool:
    by_distance = plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0
    return bool(plan.trails_at_level or by_distance)


@phase
def trailed(
    position: Struct,
    stop: float,
    extreme: float,
    best: float,
    at_level: float,
    plan: Struct,
    contract: Struct,
) -> tuple[float, float]:
    """Return the stop and the extreme after one more bar (rule 5): the stop never loosens.

    `at_level` is the level of the bar that the stop follows, NaN if unknown.
    """
    side = position.side
    if not trails(plan):
        return stop, extreme
    if (best - extreme) * side > 0:
        extreme = best
    if is_armed(extreme, position.average, side, plan):
        level = at_level
        if not plan.trails_at_level:
            level = extreme - side * trail_distance(extreme, position.atr[codes.TRAIL], plan)
        level = tick_down(level, contract.tick) if side > 0 else tick_up(level, contract.tick)
        if (level - stop) * side > 0 or np.isnan(stop):
            stop = level
    return stop, extreme


@phase
def set_trail(position: Struct, stop: float, extreme: float) -> None:
    """Set the stop to its trailed level; it is in force from the next bar (rule 5)."""
    if stop != position.stop and not np.isnan(stop):
        position.stop, position.trailed = stop, 1
    position.extreme = extreme


# Charges.


@phase
def rate_on(rates: Array, segment: int, day: int) -> int:
    """Return the index of a segment's rates in force on a day: the last that have begun, or the
    zero rates.
    """
    k = rates.size - 1
    while k > 0 and (rates[k].segment != segment or rates[k].first_day > day):
        k -= 1
    return k


@step
def charges_on(value: float, buying: bool, from_demat: bool, rate: Struct) -> Paise:
    """Return one fill's charges in the order of CHARGE_KINDS, each rounded (rule 10).

    `from_demat` is true for a sale of shares bought on an earlier day.
    """
    brokerage = rate.brokerage_flat + min(rate.brokerage * value, rate.brokerage_cap)
    tax = (rate.tax_buy if buying else rate.tax_sell) * value
    exchange, regulator = rate.exchange * value, rate.regulator * value
    stamp = rate.stamp_buy * value if buying else 0.0
    depository = rate.depository if from_demat else 0.0
    gst = rate.gst * (brokerage + exchange + regulator + depository)
    fee, fund = paise(exchange), paise(rate.ipft * value)
    return (
        paise(brokerage),
        paise(tax),
        fee,
        fund,
        paise(regulator),
        paise(stamp),
        paise(gst),
        paise(depository),
    )


@step
def charges_on_expiry(value: float, tax: float, rate: Struct) -> Paise:
    """Return the charges of a settlement: brokerage with GST, and tax, a fraction of the value.

    No exchange takes part, and a worthless expiry is free (rules 10 and 13).
    """
    brokerage = rate.brokerage_flat + min(rate.brokerage * value, rate.brokerage_cap)
    if value <= 0:
        brokerage = 0.0
    return (
        paise(brokerage),
        paise(tax * value),
        0.0,
        0.0,
        0.0,
        0.0,
        paise(rate.gst * brokerage),
        0.0,
    )


@step
def paise(rupees: float) -> float:
    """Return whole paise, half up; the margin absorbs binary halves such as 0.145 rupees."""
    return float(np.floor(rupees * 100 + 0.5 + 1e-9))


@step
def pay(account: Struct, items: Paise) -> float:
    """Count charges by kind; return the rupees that leave the account."""
    for kind in range(len(items)):
        account.paid[kind] += items[kind]
    return sum(items) / 100


@step
def write_fill(ticket: Ticket, time: int, side: float, filled: Exit, items: Paise) -> None:
    """Write a fill, if the caller asks for fills."""
    if not ticket.work.keeps_fills:
        return
    fill = ticket.fill
    ticket.work.fills += 1
    fill.time, fill.symbol, fill.side = time, ticket.slot.instrument, side
    fill.reason, fill.quantity, fill.price = filled.reason, filled.quantity, filled.price
    fill.charges = sum(items) / 100
    for kind in range(len(items)):
        fill.paid[kind] = items[kind]


@step
def refuse(ticket: Ticket, signal: int, reason: int) -> None:
    """Count a refused entry, and write it if the caller asks for refusals."""
    ticket.account.rejected[reason] += 1
    if not ticket.work.keeps_refusals:
        return
    refused = ticket.refusal
    ticket.work.refusals += 1
    refused.time, refused.symbol = ticket.work.time, ticket.slot.instrument
    refused.reason = reason
    refused.side = (signal & codes.ENTER_LONG != 0) - (signal & codes.ENTER_SHORT != 0)
