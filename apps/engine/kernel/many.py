"""Many simulations over one market in one call: it takes the interpreter's lock once for all.

Each is `run` from the first row of its part to the last, and `finish`: the rules have one path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from apps.engine.kernel.codes import RUINED
from apps.engine.kernel.fills import Record, kernel, step
from apps.engine.kernel.kernel import finish, notice, run
from apps.engine.kernel.records import ACCOUNT, Out, Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from apps.engine.kernel.records import Array, Market, State

PLAN = np.dtype([(name, type(value)) for name, value in Plan()._asdict().items()])
"""A plan as a record: compiled code takes no list of tuples."""


class Sets(NamedTuple):
    """What is played: each of the parts of the rows, with each set of plan and signals."""

    plans: Array  # PLAN[sets]
    signals: NDArray[np.uint8]  # [sets, rows, symbols]
    parts: NDArray[
        np.int64
    ]  # [parts, 4]: first row, the one after the last, and of `sampled` those


class Dated(NamedTuple):
    """Contracts by the rows from which on they hold, and rates."""

    begins: NDArray[np.int64]  # [changes]: the contracts before the first are units[0]
    units: Array  # CONTRACT[1 + changes, symbols]
    rates: Array  # RATE


class Found(NamedTuple):
    """What is written of each play, its number being set x parts + part.

    Equity is that at the close of each row, or where there are `sampled` of those rows alone.
    """

    sampled: NDArray[np.int64]  # rows, ascending
    equity: NDArray[np.float64]  # [plays, rows], or [plays, the most sampled of a part]
    accounts: Array  # ACCOUNT[plays]
    rows: NDArray[np.int64]  # [plays]: the row after the last that was run
    trades: NDArray[np.int64]  # [plays]: how many there are


class At(NamedTuple):
    """Where plays go on: in which of them, before which row (-1: it begins); and how many trades
    wait to be taken.
    """

    play: int
    row: int
    trades: int


def found_of(equity: NDArray[np.float64], sampled: NDArray[np.int64]) -> Found:
    """Before the first play; `equity` has a line for each."""
    plays = len(equity)
    rows, trades = np.zeros(plays, np.int64), np.zeros(plays, np.int64)
    return Found(sampled, equity, np.empty(plays, ACCOUNT), rows, trades)


@step
def plan_at(p: Record) -> Plan:
    """The plan that a PLAN record holds."""
    return Plan(
        p.size_by, p.size, p.size_atr, p.stop_rate, p.stop_points, p.stop_atr, p.second_stop_rate,
        p.target_ratio, p.target_rate, p.target_points, p.target_atr, p.trail_rate, p.trail_points,
        p.trail_atr, p.trail_from, p.order_by, p.order_offset, p.slippage, p.max_entries,
        p.max_positions, p.max_holding, p.max_position_value, p.max_daily_loss, p.reverse,
    )  # fmt: skip


@step
def begin(state: State, blank: State) -> None:
    """As it was before the first row."""
    state.account[0] = blank.account[0]
    for s in range(state.positions.size):
        state.positions[s] = blank.positions[s]


@kernel
def run_many(
    state: State, blank: State, market: Market, sets: Sets, dated: Dated, at: At, most: int,
    out: Out, found: Found,
) -> At:  # fmt: skip
    """Plays, one after the other, from `at` on, `most` rows of them or few more.

    It ends early when `out` might not hold the trades of another row; no more of it is used.
    """
    play, row, n = at.play, at.row, 0
    parts, least = sets.parts.shape[0], 2 * state.positions.size
    account = state.account[0]
    while play < found.trades.size:
        part, into = sets.parts[play % parts], found.equity[play]
        sampled = found.sampled[part[2] : part[3]]
        curve = into[:0] if sampled.size > 0 else into
        if row < 0:
            begin(state, blank)
            row = part[0]
        plan, signals = plan_at(sets.plans[play // parts]), sets.signals[play // parts]
        going = True
        while going:
            if most <= 0 or out.trades.size - n < least:
                return At(play, row, n)
            begun, stop = 0, min(part[1], row + most)
            while begun < dated.begins.size and dated.begins[begun] <= row:
                begun += 1
            if begun < dated.begins.size:
                stop = min(stop, dated.begins[begun])
            units = dated.units[begun]
            room = Out(out.trades[n:], curve, out.fills, out.refusals, sampled, into)
            ran = run(state, market, signals, row, stop, plan, units, dated.rates, room)
            most -= ran.row - row
            row = ran.row
            n += ran.trades
            found.trades[play] += ran.trades
            going = row < part[1] and account.status != RUINED
        if out.trades.size - n < least:
            return At(play, row, n)
        closed = finish(
            state,
            units,
            dated.rates,
            Out(out.trades[n:], curve, out.fills, out.refusals, sampled, into),
        )
        found.trades[play] += closed
        n += closed
        found.accounts[play], found.rows[play] = account, row
        play, row = play + 1, -1
    return At(play, row, n)


notice((run_many,), __file__)
