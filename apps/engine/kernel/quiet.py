"""Quiet rows, passed without the phases of a row: for speed alone, to the last bit.

Flat and with nothing that waits, a row that hears no signal changes nothing. With one position and
nothing that waits, a row is quiet when its bar touches no level, and then it is only marked. Rows
are looked at CHUNK at a time, in loops without branches, which a processor does many of at once:
these loops count in unsigned numbers, as others could mean the end of an array.

Compiled into the kernels of `kernel.py`, and there into `run` itself: called, each of these would
count the references of every array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from apps.engine.kernel.codes import CLOSE_LONG, CLOSE_SHORT, DUST, ENTER
from apps.engine.kernel.entries import idle_signal
from apps.engine.kernel.fills import Record, quiet_range
from apps.engine.kernel.records import Plan

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array

inlined = njit(nogil=True, error_model="numpy", forceinline=True)

Row = Any  # NumPy's integers and Python's are the same to compiled code, as no type says
CHUNK = np.uint64(64)
ONE = np.uint64(1)


@inlined
def pass_flat(account: Record, t: int, day: Array, signals: Array, curve: Array, plan: Plan) -> Row:
    """The next row from `t` on that hears a signal, without a position until then."""
    bound = plan.max_daily_loss - DUST
    breached = account.halted == 0 and account.day_start - account.cash >= bound
    if breached or bound <= 0 or account.cash <= 0:
        return t
    symbols = np.uint64(signals.shape[1])
    heard = signals.reshape(-1)
    i, size = np.uint64(t) * symbols, np.uint64(heard.size)
    while i + CHUNK <= size:
        loud = np.uint8(0)
        for k in range(i, i + CHUNK):
            loud |= heard[k]
        if loud != 0:
            break
        i += CHUNK
    while i < size and heard[i] == 0:
        i += ONE
    end = i // symbols
    if end > np.uint64(t):
        if day[end - ONE] != account.day:
            account.day, account.day_start, account.halted = day[end - ONE], account.cash, 0
        if curve.size > 0:
            for k in range(np.uint64(t), end):
                curve[k] = account.cash
    return np.int64(end)


@inlined
def first_loud(
    t: int, end: int, first: int, s: int, cell: Array, highs: Array, lows: Array, flags: Array,
    signals: Array, idle: int, below: float, above: float,
) -> Row:  # fmt: skip
    """The first row in [t, end) that is not quiet, or `end`.

    The bar of row t is `first`, and those of quiet rows follow it. Quiet are signals of `idle`.
    """
    squaring, symbols = flags.size > 0, np.uint64(signals.shape[1])
    row, last, own = np.uint64(t), np.uint64(end), np.uint64(s)
    ahead = np.uint64(first) - row  # of the bar, to its row; it may wrap around
    acts = np.uint8(255 & ~idle)
    near = row + np.uint64(8)  # most that end, end soon
    while row < last:
        bar = row + ahead
        if row >= near and row + CHUNK <= last:
            loud = 0
            for k in range(bar, bar + CHUNK):
                loud |= (lows[k] <= below) | (highs[k] >= above)
            if loud == 0:
                heard, moved = np.uint8(0), np.int32(0)
                if squaring:
                    for k in range(bar, bar + CHUNK):
                        heard |= flags[k]
                if symbols == ONE:
                    for k in range(row, row + CHUNK):
                        heard |= signals[k, own] & acts
                else:
                    for k in range(row, row + CHUNK):
                        for other in range(symbols):
                            heard |= signals[k, other]
                place = np.int32(bar)
                for k in range(CHUNK):
                    moved |= cell[row + k, own] ^ (place + np.int32(k))
                if heard == 0 and moved == 0:
                    row += CHUNK
                    continue
            near = row + CHUNK  # it is one of these, but for signals that are idle
        if not (lows[bar] > below and highs[bar] < above) or cell[row, own] != np.int32(bar):
            break
        if squaring and flags[bar] != 0:
            break
        heard = signals[row, own] & acts
        for other in range(symbols):
            if other != own:
                heard |= signals[row, other]
        if heard != 0:
            break
        row += ONE
    return np.int64(row)


@inlined
def end_of_day(day: Array, t: int, end: int) -> Row:
    """The first row after `t` of another day, or `end`."""
    row, last, today = np.uint64(t), np.uint64(end), day[t]
    while row + CHUNK <= last and day[row + CHUNK - ONE] == today:
        row += CHUNK
    while row < last and day[row] == today:
        row += ONE
    return np.int64(row)


@inlined
def first_unbearable(
    account: Record, p: Record, equity: float, t: int, end: int, ahead: int, day: Array,
    closes: Array, worst: float, plan: Plan,
) -> tuple[Row, float]:  # fmt: skip
    """(row, equity before it): the first in [t, end) that breaches the daily loss or ruins, or end.

    Each new day begins with the equity before it. No close is worse than `worst`.
    """
    cash, locked, exposure, average = account.cash, p.locked, p.exposure, p.average
    low = cash + (locked + exposure * (worst - average))
    while t < end:
        if day[t] != account.day:
            account.day, account.day_start, account.halted = day[t], equity, 0
        bearable = plan.max_daily_loss - DUST if account.halted == 0 else np.inf
        evening = end_of_day(day, t, end)
        if not (low > 0 and account.day_start - low < bearable):
            for row in range(t, evening):
                mark = cash + (locked + exposure * (closes[row + ahead] - average))
                if mark <= 0 or account.day_start - mark >= bearable:
                    return row, equity
                equity = mark
        equity = cash + (locked + exposure * (closes[evening - 1 + ahead] - average))
        t = evening
    return t, equity


@inlined
def pass_held(
    account: Record, p: Record, s: int, equity: float, t: int, time: Array, day: Array, cell: Array,
    highs: Array, lows: Array, closes: Array, flags: Array, signals: Array, curve: Array,
    plan: Plan, trailing: bool, noting: bool,
) -> tuple[Row, float]:  # fmt: skip
    """(next row, equity before it): until then the one position `p`, of symbol `s`, is only marked.

    `noting`: something is noted with every signal, an idle one too. What is not surely such a row
    ends it. An idle entry that is signalled at the last of them is left to wait.
    """
    first, squaring = cell[t, s], flags.size > 0
    if first < 0 or ((squaring or account.halted != 0) and day[t] != account.day):
        return t, equity
    if squaring and p.day != account.day:
        return t, equity
    ahead = first - t
    end = min(day.size, closes.size - ahead)
    if plan.max_holding > 0:
        end = min(end, t + max(plan.max_holding - p.bars, 0))
    if squaring or account.halted != 0:
        end = end_of_day(day, t, end)
    heard = noting or account.halted != 0 or account.barred != 0
    idle = (0 if heard else idle_signal(p, plan)) | (CLOSE_SHORT if p.side > 0 else CLOSE_LONG)
    below, above = quiet_range(p, trailing)
    end = first_loud(
        t, end, first, s, cell, highs, lows, flags, signals, idle, below, above
    )  # fmt: skip
    worst = below if p.side > 0 else above
    end, equity = first_unbearable(account, p, equity, t, end, ahead, day, closes, worst, plan)
    if end > t:
        if curve.size > 0:
            cash, locked, exposure, average = account.cash, p.locked, p.exposure, p.average
            bar = np.uint64(first)
            for row in range(np.uint64(t), np.uint64(end)):
                curve[row] = cash + (locked + exposure * (closes[bar] - average))
                bar += ONE
        p.bars += end - t
        p.close, p.time, p.day = closes[end - 1 + ahead], time[end - 1], day[end - 1]
        p.pending = signals[end - 1, s] & ENTER
    return end, equity
