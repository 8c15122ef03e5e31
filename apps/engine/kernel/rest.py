"""Positions at rest: rows in which one is only marked, and its trail moves, known ahead.

A position whose bar touches no level, and that hears nothing which acts on it, needs none of the
phases of a row. How long it rests is looked up once, FEW or MANY bars at a time in loops without
branches, which a processor does many of at once: these count in unsigned numbers, as others could
mean the end of an array. What the rows made of its record is written when it wakes. For speed
alone, to the last bit.

Compiled into the kernels of `kernel.py`, and there into `run_rows` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from apps.engine.kernel.codes import CLOSE_LONG, CLOSE_SHORT, ENTER, TRAIL
from apps.engine.kernel.entries import idle_signal
from apps.engine.kernel.fills import STEP, Function, Record, follow, trailed

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Plan


Column = Any  # an array of which items are read and written one by one, as no type says
Row = Any  # NumPy's integers and Python's are the same to compiled code, as no type says
MOST, MANY, FEW, FOUR = np.uint64(256), np.uint64(64), np.uint64(8), np.uint64(4)
ONE = np.uint64(1)

ALL = np.uint8(255)
ACTS_ON_NOTHING_HELD = np.uint8(255 & ~(CLOSE_LONG | CLOSE_SHORT))
"""Signals that do anything to a symbol that is flat."""


class Rows(NamedTuple):
    """Rows of a market, its bars, and what is `heard` of each symbol at their closes: one column,
    row by row.
    """

    time: Column
    day: Column
    cell: Column
    heard: Column
    open: Column
    high: Column
    low: Column
    close: Column
    flags: Column
    atr: Column


class Rests(NamedTuple):
    """Of each symbol: its position rests in rows [since, loud), whose bars are `ahead` of them.

    `whole`: it has a bar in every row, so that its bars are `ahead` in all of them. Its trail was
    moved over rows before `moved` and was `before` (extreme, stop, trailed) in row `since`. `seen`
    is its last bar's row that its record does not tell of, -1 if none. `acts` are the signals that
    do anything to it. What it was worth is noted (`marks`) of rows before `marked`.
    """

    since: Column
    loud: Column
    ahead: Column
    whole: Column
    moved: Column
    before: Column
    seen: Column
    acts: Column
    marked: Column


def inlined(function: Function) -> Function:
    """As a step, compiled into whatever calls it."""
    compiled: Function = njit(forceinline=True, **STEP)(function)
    return compiled


@njit(nogil=True, error_model="numpy")
def rests_of(size: int) -> Rests:
    """Memory for so many symbols."""
    since, loud = np.empty(size, np.int64), np.empty(size, np.int64)
    ahead, moved = np.empty(size, np.int64), np.empty(size, np.int64)
    seen, marked = np.empty(size, np.int64), np.empty(size, np.int64)
    whole, before, acts = np.empty(size, np.bool_), np.empty((size, 3)), np.empty(size, np.uint8)
    return Rests(since, loud, ahead, whole, moved, before, seen, acts, marked)


@inlined
def find_bars(cell: Array, rests: Rests) -> None:
    """Where the bars of each symbol are, before the first row."""
    rows, size = cell.shape
    for s in range(size):
        rests.ahead[s], rests.whole[s] = 0, False
        if rows > 0:
            ahead = np.int64(cell[0, s])
            rests.ahead[s] = ahead
            rests.whole[s] = ahead >= 0 and cell[rows - 1, s] - ahead == rows - 1


@inlined
def get_up(positions: Array, t: int, rests: Rests) -> None:
    """Nothing rests in row `t`."""
    for s in range(positions.size):
        held = positions[s].side != 0
        rests.acts[s] = ALL if held else ACTS_ON_NOTHING_HELD
        rests.since[s] = rests.loud[s] = rests.marked[s] = t
        rests.seen[s] = -1


@inlined
def bar_of(s: int, t: int, rows: Rows, rests: Rests) -> Row:
    """The bar of symbol `s` in row `t`; -1 if it has none."""
    return t + rests.ahead[s] if rests.whole[s] else np.int64(rows.cell[t, s])


@inlined
def acts_on(p: Record, noting: bool, plan: Plan) -> Row:
    """Signals that do anything to a position that rests. `noting`: an entry that is ignored too."""
    idle = (0 if noting else idle_signal(p, plan)) | (CLOSE_SHORT if p.side > 0 else CLOSE_LONG)
    return np.uint8(255 & ~idle)


@inlined
def wake(
    p: Record, s: int, t: int, ending: bool, rows: Rows, rests: Rests, plan: Plan, trailing: bool,
    contract: Record,
) -> bool:  # fmt: skip
    """Tell the record of `p` what the rows before `t` did, in which it rested.

    Returns whether an entry waits since the last of them, that was idle in it: it still is, unless
    the position is closed first.
    """
    since, waits = rests.since[s], False
    if since < t:
        if trailing and rests.moved[s] > t:  # further than it came
            before = rests.before[s]
            p.extreme, p.stop, p.trailed = before[0], before[1], np.uint8(before[2])
            rest_trailing(p, since, t, since + rests.ahead[s], rows, plan, contract)
        p.bars += t - since
        rests.seen[s] = t - 1
        signal = rows.heard[(t - 1) * rests.acts.size + s]
        if signal & rests.acts[s] == 0 and signal & ENTER != 0:
            p.pending, waits = signal & ENTER, True
        rests.since[s] = t
    last = rests.seen[s]
    if last >= 0 and (ending or rows.flags.size > 0 or bar_of(s, t, rows, rests) < 0):
        p.close = rows.close[bar_of(s, last, rows, rests)]
        p.time, p.day = rows.time[last], rows.day[last]
        rests.seen[s] = -1
    rests.acts[s] = ALL
    return waits


@inlined
def lie_down(
    p: Record, s: int, t: int, end: int, rows: Rows, rests: Rests, plan: Plan, trailing: bool,
    noting: bool, contract: Record,
) -> None:  # fmt: skip
    """See how long `p` rests from row `t` on, at most until `end`."""
    end = rests_at_most(p, s, t, end, rows, rests, plan)
    if end > t:
        first, acts = bar_of(s, t, rows, rests), acts_on(p, noting, plan)
        if rests.acts.size == 1:  # what acts ends it
            rests.acts[s] = acts
            end = min(end, first_heard(t, end, rows.heard, rests.acts) + 1)
        if trailing:
            before = rests.before[s]
            before[0], before[1], before[2] = p.extreme, p.stop, p.trailed
            end = rest_trailing(p, t, end, first, rows, plan, contract)
        else:
            end = rest(p, t, end, first, rows)
        rests.ahead[s] = rests.ahead[s] if rests.whole[s] else first - t
        rests.acts[s] = acts if end > t else ALL
    rests.loud[s] = rests.moved[s] = end


@inlined
def rests_at_most(p: Record, s: int, t: int, end: int, rows: Rows, rests: Rests, plan: Plan) -> Row:
    """The row before which `p` has a bar in every row from `t` on, and none of them ends it.

    What waits on it is looked at first; on a day that is halted something waits on all.
    """
    if p.pending != 0 or (rows.flags.size > 0 and p.day != rows.day[t]):
        return t
    if plan.max_holding > 0:
        end = min(end, t + max(plan.max_holding - p.bars, 0))
    if rests.whole[s]:
        return end
    first, row = rows.cell[t, s], t
    while row < end and first >= 0 and rows.cell[row, s] - first == row - t:
        row += 1
    return row


@inlined
def rest(p: Record, t: int, end: int, first: int, rows: Rows) -> Row:
    """The first row in [t, end), whose bars are those from `first` on, that touches a level or has
    a flag, or `end`.
    """
    row, last, ahead = np.uint64(t), np.uint64(end), np.uint64(first) - np.uint64(t)
    near, far = (rows.low, rows.high) if p.side > 0 else (rows.high, rows.low)
    side, flags, squaring = p.side, rows.flags, rows.flags.size > 0
    stop, target = side * p.stop, side * p.target  # with the sign of the side better is higher
    size = np.uint64(near.size)
    while row < last and row + ahead + MANY <= size:
        bar, loud, flagged = row + ahead, 0, np.uint8(0)
        for k in range(bar, bar + MANY):
            loud |= (side * near[k] <= stop) | (side * far[k] >= target)
        if squaring:
            for k in range(bar, bar + MANY):
                flagged |= flags[k]
        if loud != 0 or flagged != 0:
            break
        row += MANY
    while row < last:
        bar = row + ahead
        if side * near[bar] <= stop or side * far[bar] >= target:
            break
        if squaring and flags[bar] != 0:
            break
        row += ONE
    return np.int64(min(row, last))


@inlined
def rest_trailing(
    p: Record, t: int, end: int, first: int, rows: Rows, plan: Plan, contract: Record
) -> Row:
    """As `rest`, and moves the stop after the extreme of the bars before that row (rule 5).

    MANY bars are taken at once, then FEW, then one: the first in any case, for the levels that
    moved before it.
    """
    row, last, ahead = np.uint64(t), np.uint64(end), np.uint64(first) - np.uint64(t)
    near, far = (rows.low, rows.high) if p.side > 0 else (rows.high, rows.low)
    side, flags, squaring = p.side, rows.flags, rows.flags.size > 0
    target = side * p.target  # with the sign of the side better is higher
    many = few = row + ONE if plan.trail_rate <= 0.5 else last
    while row < last:
        bar = row + ahead
        if row >= many and row + MANY <= last:
            if trails_through(p, bar, MANY, near, far, rows, plan, contract):
                row += MANY
                continue
            many = row + MANY
        if row >= few and row + FEW <= last:
            if trails_through(p, bar, FEW, near, far, rows, plan, contract):
                row += FEW
                continue
            few = row + FEW
        best = side * far[bar]
        if side * near[bar] <= side * p.stop or best >= target or (squaring and flags[bar] != 0):
            break
        if best > side * p.extreme or row == np.uint64(t):
            p.extreme = side * max(best, side * p.extreme)
            follow(p, plan, contract)
        row += ONE
    return np.int64(row)


@inlined
def trails_through(
    p: Record, bar: Row, count: Row, near: Column, far: Column, rows: Rows, plan: Plan,
    contract: Record,
) -> bool:  # fmt: skip
    """Whether none of so many bars touches a level; then the stop follows them.

    None touches one where none touches the stop that the best of them makes: no other makes a
    tighter one. As numbers are rounded, that is sure of extremes that are a billionth apart while
    the stop follows at least half of what they move.
    """
    side, flags, end = p.side, rows.flags, bar + count
    stop, target, extreme = side * p.stop, side * p.target, side * p.extreme
    beaten, loud = False, False
    for k in range(bar, end):
        beaten |= side * far[k] > extreme
        loud |= (side * near[k] <= stop) | (side * far[k] >= target)
    if flags.size > 0:
        for k in range(bar, end):
            loud |= flags[k] != 0
    if loud or not beaten:
        return not loud
    best = best_of(far, bar, end, side, extreme)
    level = side * trailed(p, side * best, plan, contract)
    put = stop if np.isnan(level) or stop >= level else level
    under = best - 1e-9 * (abs(best) + plan.trail_points + plan.trail_atr * p.atr[TRAIL])
    for k in range(bar, end):
        loud |= (side * near[k] <= put) | ((side * far[k] > under) & (side * far[k] != best))
    if not loud:
        p.extreme = side * best
        follow(p, plan, contract)
    return not loud


@inlined
def best_of(far: Column, bar: Row, end: Row, side: float, best: float) -> float:
    """The best of `best` and prices, by four chains of which none waits for another."""
    one = two = three = four = best
    for k in range(bar, end, FOUR):
        one = max(one, side * far[k])
        two = max(two, side * far[k + ONE])
        three = max(three, side * far[k + ONE + ONE])
        four = max(four, side * far[k + FOUR - ONE])
    return max(one, two, three, four)


@inlined
def first_heard(t: int, end: int, heard: Column, acts: Column) -> Row:
    """The first row in [t, end) with a signal that acts on its symbol, or `end`."""
    symbols, row, last = np.uint64(acts.size), np.uint64(t), np.uint64(end)
    if symbols == ONE:
        acting, size = acts[0], np.uint64(heard.size)
        while row < last and row + MOST <= size:
            loud = np.uint8(0)
            for k in range(row, row + MOST):
                loud = np.uint8(loud | heard[k])
            if loud & acting != 0:
                break
            row += MOST
        while row < last and heard[row] & acting == 0:
            row += ONE
        return np.int64(min(row, last))
    while row < last:
        begin, loud = row * symbols, np.uint8(0)
        for s in range(symbols):
            loud = np.uint8(loud | (heard[begin + s] & acts[s]))
        if loud != 0:
            break
        row += ONE
    return np.int64(row)
