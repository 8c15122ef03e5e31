"""Positions at rest: rows in which one is only marked, and its trail moves, known ahead.

A position whose bar touches no level, and that hears nothing which acts on it, needs none of the
phases of a row. How long it rests is looked up once (`ahead.py`). What the rows made of its record
is written when it wakes. For speed alone, to the last bit.

Compiled into the kernels of `kernel.py`, and there into `run_rows` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from apps.engine.kernel.ahead import (
    ALL,
    Column,
    Row,
    Rows,
    first_heard,
    inlined,
    rest,
    rest_trailing,
)  # fmt: skip
from apps.engine.kernel.codes import CLOSE_LONG, CLOSE_SHORT, ENTER
from apps.engine.kernel.entries import idle_signal
from apps.engine.kernel.fills import Record

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Plan


ACTS_ON_NOTHING_HELD = np.uint8(255 & ~(CLOSE_LONG | CLOSE_SHORT))
"""Signals that do anything to a symbol that is flat."""


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
        if listens(rows, rests, trailing):  # what acts ends it
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
def listens(rows: Rows, rests: Rests, trailing: bool) -> bool:
    """Whether a position lies down for no longer than it hears nothing that acts: it is alone, and
    to look at its bars, or to trail over them, takes longer than to listen.
    """
    return rests.acts.size == 1 and (trailing or rows.groups.told.size == 0)
