"""What the account is worth at each close of a chunk of rows, told once its rows are through.

No rule of a row reads equity at closes but two, which seldom act: the daily limit and ruin. So the
rows are played first, and note of each position in which of them it was what it is. Then all of
them are marked, a position at a time in loops that a processor does many of at once, and judged.
Of a lone symbol cash is noted with it, and equity is written once; where only some rows' equity is
asked for, no others are marked unless its stop, or the worst of its bars, might let a breach
through.

Compiled into the kernels of `kernel.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from apps.engine.kernel.ahead import Column, Row, Rows, inlined, worst_price
from apps.engine.kernel.codes import DUST
from apps.engine.kernel.fills import Record, worth
from apps.engine.kernel.rest import Rests

if TYPE_CHECKING:
    from apps.engine.kernel.records import Plan

A_DAY = 375
"""Minutes of a session: the length that a day most often has."""
STRETCH = np.dtype(
    # Rows of a chunk in which a position, or free cash, is the same.
    [
        ("begin", "i8"),  # counted from the chunk's first row on
        ("end", "i8"),
        ("bar", "i8"),  # of the first of them; -1: none has a bar, and `locked` is what it is worth
        ("cash", "f8"),  # beside what is held; of many symbols in stretches of its own
        ("locked", "f8"),
        ("exposure", "f8"),
        ("average", "f8"),
        ("worst", "f8"),  # of a lone symbol: a price that no close of them is beyond
        ("before", "i8"),  # the stretch of the same symbol that was noted last, -1 if none
    ]
)


class Marks(NamedTuple):
    """Equity at the closes of a chunk of rows, from `first` on, and what it is made of.

    `noted` are STRETCH records, `newest` the last one of each symbol and then of cash, -1 if none.
    A lone symbol's tell of cash too: they follow each other without a gap. `counts`: how many are
    noted, of how many rows equity is written, and which was read last.
    """

    first: Row
    equity: Column
    noted: Column
    newest: Column
    counts: Column


@inlined
def stretch(s: int, begin: int, end: int, bar: int, cash: float, marks: Marks) -> int:
    """The number of a new one, of which what is held is still to be written."""
    n: int = marks.counts[0]
    one = marks.noted[n]
    one.begin, one.end, one.bar, one.cash = begin, end, bar, cash
    one.before = marks.newest[s]
    marks.newest[s], marks.counts[0] = n, n + 1
    return n


@inlined
def note(
    account: Record, p: Record, s: int, t: int, rows: Rows, rests: Rests, marks: Marks
) -> None:
    """That `p` is what it is until row `t`, before it changes."""
    begin, first = rests.marked[s], marks.first
    if begin < t:
        alone, ahead = marks.newest.size == 1, rests.ahead[s]
        cash = account.cash if alone else 0.0
        n = stretch(s, begin - first, t - first, begin + ahead, cash, marks)
        one = marks.noted[n]
        one.locked, one.exposure, one.average = p.locked, p.exposure, p.average
        one.worst = p.stop
        if alone and (p.trailed != 0 or np.isnan(p.stop)):
            one.worst = worst_price(p.side, begin + ahead, t + ahead, rows)
        rests.marked[s] = t


@inlined
def note_without_bar(
    account: Record, p: Record, s: int, t: int, rows: Rows, rests: Rests, marks: Marks
) -> None:
    """That `p` is worth in row `t`, in which it has no bar, what it was at its last close."""
    note(account, p, s, t, rows, rests, marks)
    row, cash = t - marks.first, account.cash if marks.newest.size == 1 else 0.0
    n = stretch(s, row, row + 1, -1, cash, marks)
    marks.noted[n].locked = worth(p, p.close)
    rests.marked[s] = t + 1


@inlined
def note_cash(account: Record, t: int, marks: Marks) -> None:
    """Cash until row `t`, before it changes: of a lone symbol where it is flat."""
    last = marks.newest.size - 1
    n, end = marks.newest[last], t - marks.first
    begin = marks.noted[n].end if n >= 0 else 0
    if begin < end:
        n = stretch(last, begin, end, -1, account.cash, marks)
        marks.noted[n].locked = 0.0


@inlined
def add_up(rows: int, closes: Column, marks: Marks) -> None:
    """Equity at the close of so many rows: what is held, in the order of symbols, and cash."""
    equity, alone = marks.equity, marks.newest.size == 1
    if not alone:
        for i in range(np.uint64(rows)):
            equity[i] = 0.0
    for s in range(marks.newest.size):
        n = marks.newest[s]
        while n >= 0:
            if alone:
                write(marks.noted[n], closes, equity)
            else:
                add(marks.noted[n], closes, equity)
            n = marks.noted[n].before
    marks.counts[1] = rows


@inlined
def write(one: Record, closes: Column, equity: Column) -> None:
    cash, locked, exposure, average = one.cash, one.locked, one.exposure, one.average
    begin, end, ahead = np.uint64(one.begin), np.uint64(one.end), np.uint64(one.bar - one.begin)
    if one.bar < 0:
        for i in range(begin, end):
            equity[i] = cash + locked
    else:
        for i in range(begin, end):
            equity[i] = cash + (locked + exposure * (closes[i + ahead] - average))


@inlined
def add(one: Record, closes: Column, equity: Column) -> None:
    cash, locked, exposure, average = one.cash, one.locked, one.exposure, one.average
    begin, end, ahead = np.uint64(one.begin), np.uint64(one.end), np.uint64(one.bar - one.begin)
    if one.bar < 0:
        for i in range(begin, end):
            equity[i] += cash + locked
    else:
        for i in range(begin, end):
            equity[i] += locked + exposure * (closes[i + ahead] - average)


@inlined
def equity_at(row: int, rows: Rows, marks: Marks) -> float:
    """At the close of a row of the chunk. It is worked out where none is written."""
    i, n = row - marks.first, marks.counts[2]
    if i < marks.counts[1]:
        equity: float = marks.equity[i]
        return equity
    while marks.noted[n].begin > i:
        n -= 1
    while marks.noted[n].end <= i:
        n += 1
    marks.counts[2], one = n, marks.noted[n]
    held: float = one.locked
    if one.bar >= 0:
        held += one.exposure * (rows.close[i + one.bar - one.begin] - one.average)
    return held + float(one.cash)


@inlined
def least_equity(marks: Marks) -> float:
    """What equity is at least at all closes, as far as stops and groups of bars tell.

    No close of a row that a position came through lies beyond its stop, and no rounded product or
    sum is less than that of less: the formula of a mark, at the stop, is never above the mark.
    """
    if marks.newest.size > 1:
        return -np.inf
    least = np.inf
    for n in range(marks.counts[0]):
        one = marks.noted[n]
        held = one.locked
        if one.bar >= 0:
            held += one.exposure * (one.worst - one.average)
        least = min(least, one.cash + held)
    return least


@inlined
def judged(account: Record, halted: int, t: int, rows: Rows, marks: Marks, plan: Plan) -> Row:
    """The row after the first before `t` at whose close the daily limit is breached, or the account
    is ruined; `t` where that is none, and the account then has come to the last row's day.
    """
    row, day, equity, first = marks.first, rows.day, marks.equity, marks.first
    least, length = least_equity(marks), A_DAY
    while row < t:
        if day[row] != account.day:
            account.day_start = equity_at(row - 1, rows, marks) if row > first else account.equity
            account.day, account.halted, halted = day[row], 0, 0
        evening = end_of_day(day, row, t, length)
        bearable = plan.max_daily_loss - DUST if halted == 0 else np.inf
        start, unbearable = account.day_start, False
        if not (least > 0 and start - least < bearable):
            if marks.counts[1] == 0:
                add_up(t - first, rows.close, marks)
            for i in range(np.uint64(row - first), np.uint64(evening - first)):
                unbearable |= (equity[i] <= 0) | (start - equity[i] >= bearable)
        if unbearable:
            while equity[row - first] > 0 and start - equity[row - first] < bearable:
                row += 1
            return row + 1
        row, length = evening, evening - row
    return row


@inlined
def end_of_day(day: Column, row: int, end: int, length: int) -> Row:
    """The first row after `row` of another day, or `end`: where it is if the day has that `length`,
    or found by steps that double, then halve.
    """
    today, stride, guess = day[row], 1, min(row + length, end)
    if day[guess - 1] == today and (guess == end or day[guess] != today):
        return guess
    while row + stride < end and day[row + stride] == today:
        row += stride
        stride *= 2
    while stride > 0:
        if row + stride < end and day[row + stride] == today:
            row += stride
        stride //= 2
    return row + 1
