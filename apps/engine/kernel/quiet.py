"""Quiet rows, passed without the phases of a row: for speed alone, to the last bit.

Flat and with nothing that waits, a row changes nothing before its close. Where every position
rests (`rest.py`), it only marks them. Compiled into `run` itself, as `rest.py` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.engine.kernel.codes import DUST
from apps.engine.kernel.rest import ONE, Rests, Row, Rows, first_heard, inlined

if TYPE_CHECKING:
    from apps.engine.kernel.fills import Record
    from apps.engine.kernel.records import Array, Plan


@inlined
def end_of_day(day: Array, t: int, guess: int) -> Row:
    """The first row after `t` of another day, or the last; quick where it is the one guessed."""
    size, today = day.size, day[t]
    if t < guess <= size and day[guess - 1] == today and (guess == size or day[guess] != today):
        return guess
    row = t
    while row < size and day[row] == today:
        row += 1
    return row


@inlined
def pass_flat(account: Record, t: int, rows: Rows, rests: Rests, curve: Array, plan: Plan) -> Row:
    """The row after the next one from `t` on that hears a signal, without a position until then."""
    bound = plan.max_daily_loss - DUST
    breached = account.halted == 0 and account.day_start - account.cash >= bound
    if breached or bound <= 0 or account.cash <= 0:
        return t
    size = rows.day.size
    end = min(first_heard(t, size, rows.heard, rests.acts) + 1, size)
    if rows.day[end - 1] != account.day:
        account.day, account.day_start, account.halted = rows.day[end - 1], account.cash, 0
    if curve.size > 0:
        for row in range(np.uint64(t), np.uint64(end)):
            curve[row] = account.cash
    return end


@inlined
def pass_held(
    account: Record, positions: Array, opened: Array, equity: float, t: int, end: int, rows: Rows,
    rests: Rests, marks: Array, curve: Array, plan: Plan,
) -> tuple[Row, float]:  # fmt: skip
    """(next row, equity before it): until then, or `end`, every position rests and is marked.

    The first row is of the account's day. Ends before one that breaches the daily loss or ruins,
    and after one that hears a signal.
    """
    if rests.acts.size > 1:  # a symbol alone rests until it hears
        end = min(end, first_heard(t, end, rows.heard, rests.acts) + 1)
    n, cash, closes = np.uint64(end - t), account.cash, rows.close
    into = curve[t:end] if curve.size > 0 else marks[: end - t]
    bearable = plan.max_daily_loss - DUST if account.halted == 0 else np.inf
    day_start, unbearable = account.day_start, False
    for k in range(opened.size):
        p, bar = positions[opened[k]], np.uint64(t + rests.ahead[opened[k]])
        locked, exposure, average = p.locked, p.exposure, p.average
        if opened.size == 1:
            for i in range(n):
                now = cash + (locked + exposure * (closes[bar + i] - average))
                into[i] = now
                unbearable |= (now <= 0) | (day_start - now >= bearable)
        elif k == 0:
            for i in range(n):
                into[i] = locked + exposure * (closes[bar + i] - average)
        elif k < opened.size - 1:
            for i in range(n):
                into[i] += locked + exposure * (closes[bar + i] - average)
        else:
            for i in range(n):
                now = cash + (into[i] + (locked + exposure * (closes[bar + i] - average)))
                into[i] = now
                unbearable |= (now <= 0) | (day_start - now >= bearable)
    if unbearable:
        n = np.uint64(0)
        while into[n] > 0 and day_start - into[n] < bearable:
            n += ONE
    return t + np.int64(n), (into[n - ONE] if n > np.uint64(0) else equity)
