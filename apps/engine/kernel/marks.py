"""What the account is worth at each close of a chunk of rows, told once its rows are through.

No rule of a row reads equity at closes but two, which seldom act: the daily limit and ruin. So the
rows are played first, and note of each position in which of them it was what it is. Then all of
them are marked, a position at a time in loops that a processor does many of at once, and judged.

Compiled into the kernels of `kernel.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from apps.engine.kernel.codes import DUST
from apps.engine.kernel.rest import Column, Rests, Row, Rows, inlined

if TYPE_CHECKING:
    from apps.engine.kernel.fills import Record
    from apps.engine.kernel.records import Plan

STRETCH = np.dtype(
    # Rows of a chunk in which a position is the same.
    [
        ("begin", "i8"),  # counted from the chunk's first row on
        ("end", "i8"),
        ("bar", "i8"),  # of the first of them; -1: none has a bar, and `locked` is what it is worth
        ("locked", "f8"),
        ("exposure", "f8"),
        ("average", "f8"),
        ("before", "i8"),  # the stretch of the same symbol that was noted last, -1 if none
    ]
)


class Marks(NamedTuple):
    """Of the rows of a chunk from `first` on: free cash, what is held and then equity, in `worth`.

    `noted` are STRETCH records, `newest` the last one of each symbol, -1 if none. `counts`: how
    many are noted, and in how many rows cash is known. Of one symbol `cash` and `worth` are one
    array, as nothing is added up.
    """

    first: Row
    cash: Column
    worth: Column
    noted: Column
    newest: Column
    counts: Column


@inlined
def note(p: Record, s: int, t: int, rests: Rests, marks: Marks) -> None:
    """That `p` is what it is until row `t`, before it changes."""
    begin = rests.marked[s]
    if begin < t:
        n = marks.counts[0]
        one = marks.noted[n]
        one.begin, one.end, one.bar = begin - marks.first, t - marks.first, begin + rests.ahead[s]
        one.locked, one.exposure, one.average = p.locked, p.exposure, p.average
        one.before = marks.newest[s]
        marks.newest[s], marks.counts[0] = n, n + 1
        rests.marked[s] = t


@inlined
def note_without_bar(p: Record, s: int, t: int, rests: Rests, marks: Marks) -> None:
    """That `p` is worth in row `t`, in which it has no bar, what it was at its last close."""
    note(p, s, t, rests, marks)
    n = marks.counts[0]
    one = marks.noted[n]
    one.begin, one.end, one.bar = t - marks.first, t + 1 - marks.first, -1
    one.locked, one.before = p.locked + p.exposure * (p.close - p.average), marks.newest[s]
    marks.newest[s], marks.counts[0] = n, n + 1
    rests.marked[s] = t + 1


@inlined
def note_cash(account: Record, t: int, marks: Marks) -> None:
    """Cash until row `t`, before it changes."""
    known = t - marks.first
    for i in range(np.uint64(marks.counts[1]), np.uint64(known)):
        marks.cash[i] = account.cash
    marks.counts[1] = known


@inlined
def add_up(rows: int, closes: Column, marks: Marks) -> None:
    """Equity at the close of so many rows: cash and, in the order of symbols, what is held."""
    worth, symbols = marks.worth, marks.newest.size
    if symbols > 1:
        for i in range(np.uint64(rows)):
            worth[i] = 0.0
    for s in range(symbols):
        n = marks.newest[s]
        while n >= 0:
            mark(marks.noted[n], closes, worth)
            n = marks.noted[n].before
        marks.newest[s] = -1
    if symbols > 1:
        for i in range(np.uint64(rows)):
            worth[i] = marks.cash[i] + worth[i]


@inlined
def mark(one: Record, closes: Column, worth: Column) -> None:
    locked, exposure, average = one.locked, one.exposure, one.average
    if one.bar < 0:
        worth[one.begin] += locked
        return
    ahead = np.uint64(one.bar - one.begin)
    for i in range(np.uint64(one.begin), np.uint64(one.end)):
        worth[i] += locked + exposure * (closes[i + ahead] - average)


@inlined
def judged(
    account: Record, halted: int, t: int, rows: Rows, marks: Marks, plan: Plan
) -> Row:  # fmt: skip
    """The row after the first before `t` at whose close the daily limit is breached, or the account
    is ruined; `t` where that is none, and the account then has come to the last row's day.
    """
    row, day, worth, first = marks.first, rows.day, marks.worth, marks.first
    while row < t:
        if day[row] != account.day:
            account.day_start = worth[row - 1 - first] if row > first else account.equity
            account.day, account.halted, halted = day[row], 0, 0
        evening = end_of_day(day, row, t)
        bearable = plan.max_daily_loss - DUST if halted == 0 else np.inf
        start, unbearable = account.day_start, False
        for i in range(np.uint64(row - first), np.uint64(evening - first)):
            unbearable |= (worth[i] <= 0) | (start - worth[i] >= bearable)
        if unbearable:
            while worth[row - first] > 0 and start - worth[row - first] < bearable:
                row += 1
            return row + 1
        row = evening
    return row


@inlined
def end_of_day(day: Column, row: int, end: int) -> Row:
    """The first row after `row` of another day, or `end`: by steps that double, then halve."""
    today, stride = day[row], 1
    while row + stride < end and day[row + stride] == today:
        row += stride
        stride *= 2
    while stride > 0:
        if row + stride < end and day[row + stride] == today:
            row += stride
        stride //= 2
    return row + 1
