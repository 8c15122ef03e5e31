"""Looks ahead over rows: the first whose bar touches a level of a position, or that is heard.

A look takes FEW or MANY bars at a time in loops without branches, which a processor does many of at
once: these count in unsigned numbers, as others could mean the end of an array. Many plays of one
market share the extremes of each MANY bars, and look at single bars only where these touch.

Compiled into the kernels of `kernel.py`, and there into `run_rows` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from apps.engine.kernel.codes import TRAIL
from apps.engine.kernel.fills import STEP, Function, Record, follow, trailed

if TYPE_CHECKING:
    from apps.engine.kernel.records import Plan

Column = Any  # an array of which items are read and written one by one, as no type says
Row = Any  # NumPy's integers and Python's are the same to compiled code, as no type says
MOST, MANY, FEW, FOUR = np.uint64(256), np.uint64(64), np.uint64(8), np.uint64(4)
ONE = np.uint64(1)
UNTOLD, PLAIN, FLAGGED = np.uint8(0), np.uint8(1), np.uint8(2)
ALL = np.uint8(255)
"""All signals."""


class Groups(NamedTuple):
    """The lowest low and the highest high of each MANY bars, counted from the first of all, and
    whether one of them has a flag; found when they are first asked for. Empty where a market is
    played once: to look at each bar is no longer then.
    """

    low: Column
    high: Column
    told: Column  # UNTOLD, PLAIN or FLAGGED


class Rows(NamedTuple):
    """Rows of a market, its bars and their groups, and what is `heard` of each symbol at their
    closes: one column, row by row.
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
    groups: Groups


def inlined(function: Function) -> Function:
    """As a step, compiled into whatever calls it."""
    compiled: Function = njit(forceinline=True, **STEP)(function)
    return compiled


@njit(nogil=True, error_model="numpy")
def groups_of(bars: int) -> Groups:
    """Memory for those of so many bars, of which nothing is told."""
    size = (bars + MANY - ONE) // MANY
    return Groups(np.empty(size), np.empty(size), np.zeros(size, np.uint8))


@inlined
def rest(p: Record, t: int, end: int, first: int, rows: Rows) -> Row:
    """The first row in [t, end), whose bars are those from `first` on, that touches a level or has
    a flag, or `end`.
    """
    row, last, ahead = np.uint64(t), np.uint64(end), np.uint64(first) - np.uint64(t)
    if rows.groups.told.size > 0:
        return np.int64(rest_by_groups(p, row, last, ahead, rows))
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
    return np.int64(min(first_touch(p, row, last, ahead, rows), last))


@inlined
def rest_by_groups(p: Record, row: Row, last: Row, ahead: Row, rows: Rows) -> Row:
    """As `rest`: bars are looked at only in the groups that are not quiet."""
    while row < last:
        until = min(last, row + MANY - (row + ahead) % MANY)
        if not is_quiet(p, row + ahead, rows):
            row = first_touch(p, row, until, ahead, rows)
            if row < until:
                return row
        row = until
    return last


@inlined
def first_touch(p: Record, row: Row, last: Row, ahead: Row, rows: Rows) -> Row:
    """As `rest`, a FEW rows at once, then one after the other."""
    near, far = (rows.low, rows.high) if p.side > 0 else (rows.high, rows.low)
    side, flags, squaring = p.side, rows.flags, rows.flags.size > 0
    stop, target = side * p.stop, side * p.target
    while row + FEW <= last:
        bar, loud, flagged = row + ahead, 0, np.uint8(0)
        for k in range(bar, bar + FEW):
            loud |= (side * near[k] <= stop) | (side * far[k] >= target)
        if squaring:
            for k in range(bar, bar + FEW):
                flagged |= flags[k]
        if loud != 0 or flagged != 0:
            break
        row += FEW
    while row < last:
        bar = row + ahead
        if side * near[bar] <= stop or side * far[bar] >= target:
            break
        if squaring and flags[bar] != 0:
            break
        row += ONE
    return row


@inlined
def is_quiet(p: Record, bar: Row, rows: Rows) -> bool:
    """Whether no bar of the group of `bar` touches a level of `p` or has a flag.

    What other bars than those that are asked about do there, of another symbol even, can only make
    it loud.
    """
    groups, group = rows.groups, bar // MANY
    if groups.told[group] == UNTOLD:
        tell_group(group, rows)
    low, high = groups.low[group], groups.high[group]
    near, far = (low, high) if p.side > 0 else (high, low)
    loud = (p.side * near <= p.side * p.stop) | (p.side * far >= p.side * p.target)
    return not loud and groups.told[group] == PLAIN


@inlined
def worst_price(side: float, begin: Row, end: Row, rows: Rows) -> float:
    """What no price of bars [begin, end) is worse than, as groups tell: without any, infinity."""
    groups, worst = rows.groups, np.inf
    if groups.told.size == 0:
        return -side * worst
    for group in range(np.uint64(begin) // MANY, (np.uint64(end) - ONE) // MANY + ONE):
        if groups.told[group] == UNTOLD:
            tell_group(group, rows)
        worst = min(worst, side * (groups.low[group] if side > 0 else groups.high[group]))
    return side * worst


@inlined
def tell_group(group: Row, rows: Rows) -> None:
    """Find the extremes and flags of the bars of a group."""
    begin, flagged = group * MANY, np.uint8(0)
    end = min(begin + MANY, np.uint64(rows.low.size))
    low, high = rows.low[begin], rows.high[begin]
    for k in range(begin, end):
        low, high = min(low, rows.low[k]), max(high, rows.high[k])
    if rows.flags.size > 0:
        for k in range(begin, end):
            flagged |= rows.flags[k]
    groups = rows.groups
    groups.low[group], groups.high[group] = low, high
    groups.told[group] = FLAGGED if flagged != 0 else PLAIN


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
        while row < last and row + MANY <= size:
            first = ALL  # of the next rows, without a branch
            for k in range(MANY):
                first = min(first, np.uint8(k | ALL * (heard[row + k] & acting == 0)))
            if first < ALL:
                return np.int64(min(row + np.uint64(first), last))
            row += MANY
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
