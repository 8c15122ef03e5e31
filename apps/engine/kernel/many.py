"""Many simulations over one market in one call: it takes the interpreter's lock once for all.

Each is `run` from the first row of its part to the last, stretch by stretch beside the others, and
`finish`: the rules have one path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from apps.engine.kernel.codes import BY_EXPIRY, RUINED
from apps.engine.kernel.fills import Record, kernel, step
from apps.engine.kernel.kernel import MOST_ROWS, Desk, desk_of, finish, notice, run_rows, settle
from apps.engine.kernel.records import NO_FILLS, NO_REFUSALS, Out, Plan, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from apps.engine.kernel.records import Array, Market

PLAN = np.dtype([(name, type(value)) for name, value in Plan()._asdict().items()])
"""A plan as a record: compiled code takes no list of tuples."""


class Sets(NamedTuple):
    """What is played: each of the parts of the rows, with each set of plan and signals."""

    plans: Array  # PLAN[sets]
    signals: NDArray[np.uint8]  # [sets, rows, symbols]
    parts: NDArray[np.int64]  # [parts, 4]: rows from and up to, and so of `sampled`


class Dated(NamedTuple):
    """Contracts by the rows from which on they hold, those that end, and rates."""

    begins: NDArray[np.int64]  # [changes]: the contracts before the first are units[0]
    units: Array  # CONTRACT[1 + changes, symbols]
    rates: Array  # RATE
    ends: NDArray[np.int64]  # [expiries], ascending: the row before which a contract settles
    ended: NDArray[np.int64]  # [expiries]: whose it is


class Plays(NamedTuple):
    """Where each play is, its number being set x parts + part, and what it has left so far.

    Equity is that at the close of each row, or where rows are `sampled` of those alone.
    """

    accounts: Array  # ACCOUNT[plays]
    positions: Array  # POSITION[plays, symbols]
    rows: NDArray[np.int64]  # [plays]: the next row
    over: NDArray[np.bool_]  # [plays]
    sampled: NDArray[np.int64]  # rows, ascending in each part
    equity: NDArray[np.float64]  # [plays, rows], or [plays, the most samples of a part]


class Written(NamedTuple):
    """Trades in the order in which they were made, each with the number of its play."""

    trades: Array  # TRADE[at least 2 x symbols]
    owners: NDArray[np.int64]
    fills: Array = NO_FILLS
    refusals: Array = NO_REFUSALS


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
def least_of(rows: Array, over: Array) -> int:
    """The least row of the plays that are not over; -1 if all are."""
    least = -1
    for k in range(over.size):
        if not over[k] and (least < 0 or rows[k] < least):
            least = rows[k]
    return least


@step
def begun_at(row: int, begins: Array) -> int:
    """How many changes have begun at a row."""
    begun = 0
    while begun < begins.size and begins[begun] <= row:
        begun += 1
    return begun


@step
def next_of(row: int, rows: Array, stop: int) -> int:
    """The first of some rows, which ascend, that is after `row`; at most `stop`."""
    for one in rows:
        if one > row:
            return min(one, stop)
    return stop


@step
def settle_before(
    row: int, state: State, dated: Dated, written: Written, sampled: Array, into: Array, n: int
) -> int:
    """Settle the contracts that end before a row; how many trades `written` holds then. To do it
    twice changes nothing.
    """
    for k in range(dated.ends.size):
        if dated.ends[k] == row:
            units = dated.units[begun_at(row - 1, dated.begins)]
            out = Out(written.trades[n:], into, written.fills, written.refusals, sampled, into)
            n += settle(state, dated.ended[k], BY_EXPIRY, units, dated.rates, out)
    return n


@step
def run_until(
    desk: Desk, k: int, stop: int, plays: Plays, sets: Sets, market: Market, dated: Dated,
    written: Written, n: int,
) -> int:  # fmt: skip
    """Go on with play `k` up to a row, or until `written` might not hold the trades of another;
    returns how many it holds.
    """
    parts, least = sets.parts.shape[0], 2 * plays.positions.shape[1]
    part, plan, signals = k % parts, plan_at(sets.plans[k // parts]), sets.signals[k // parts]
    end, begin_samples, end_samples = sets.parts[part, 1], sets.parts[part, 2], sets.parts[part, 3]
    account, begins, first = plays.accounts[k], dated.begins, n
    state, into = State(plays.accounts[k : k + 1], plays.positions[k]), plays.equity[k]
    sampled = plays.sampled[begin_samples:end_samples]
    curve = into[:0] if sampled.size > 0 else into
    stop, row = min(stop, end), plays.rows[k]
    while row < stop and account.status != RUINED and written.trades.size - n >= least:
        n = settle_before(row, state, dated, written, sampled, into, n)
        until = next_of(row, dated.ends, next_of(row, begins, stop))
        out = Out(written.trades[n:], curve, written.fills, written.refusals, sampled, into)
        units = dated.units[begun_at(row, begins)]
        ran = run_rows(desk, state, market, signals, row, until, plan, units, dated.rates, out)
        row, n = ran.row, n + ran.trades
    ended = row == end or account.status == RUINED
    if ended and written.trades.size - n >= least:
        if account.status != RUINED:
            n = settle_before(row, state, dated, written, sampled, into, n)
        out = Out(written.trades[n:], curve, written.fills, written.refusals, sampled, into)
        n += finish(state, dated.units[begun_at(row - 1, begins)], dated.rates, out)
        plays.over[k] = True
    written.owners[first:n] = k
    plays.rows[k] = row
    return n


@kernel
def run_many(
    plays: Plays, sets: Sets, market: Market, dated: Dated, stretch: int, most: int,
    written: Written,
) -> int:  # fmt: skip
    """Go on with all plays, `most` rows together or few more; returns how many trades are written.

    All are run over the same `stretch` of rows before any goes on: its bars then stay near. It ends
    early when `written` might not hold the trades of another row.
    """
    n = int(np.int64(0))  # for a literal 0 `run_until` would be compiled, too
    least = least_of(plays.rows, plays.over)
    bars = market.bars.low.size if plays.over.size > 1 else 0
    desk = desk_of(State(plays.accounts[:1], plays.positions[0]), MOST_ROWS, bars)
    while least >= 0 and most > 0:
        stop = (least // stretch + 1) * stretch
        for k in range(plays.over.size):
            if not plays.over[k] and plays.rows[k] < stop:
                most += plays.rows[k]
                n = run_until(desk, k, stop, plays, sets, market, dated, written, n)
                most -= plays.rows[k]
                if written.trades.size - n < 2 * plays.positions.shape[1]:
                    return n
        least = least_of(plays.rows, plays.over)
    return n


notice((run_many,), __file__)
