"""Many runs over the same few rows: what trading does at the close of a bar.

A run here is a state with a plan and signals of its own. Stepped beside others it ends with the
bytes it would end with alone: `kernel.run` does it. The runs of one call have as many symbols each
and read the rows of one timeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import frozen
from apps.engine.fills import kernel, step
from apps.engine.kernel import SOURCES, notice, run
from apps.engine.records import (
    ACCOUNT,
    CONTRACT,
    FILL,
    HEADER,
    PLAN,
    POSITION,
    RATE,
    REFUSAL,
    TRADE,
    Array,
    Bars,
    ForeignState,
    Market,
    Misfit,
    Out,
    Plan,
    State,
    new_state,
    save,
)

FILLS_AT_A_TIME = 50_000
"""Fills there is room for, beside those that one more run could make."""


class Fleet(NamedTuple):
    """The states of n runs, side by side; they are stepped in place."""

    accounts: Array  # ACCOUNT[n]
    positions: Array  # POSITION[n, symbols]


class Rows(NamedTuple):
    """A few rows of a market, as each of n runs sees them.

    Ranges and flags as in `Market`, here of a run's own symbols; ranges are 0 where none is asked
    for, and both may be empty where no run asks. A run has its positions squared off where
    `squares` says so.
    """

    time: NDArray[np.int64]  # [rows] epoch seconds
    day: NDArray[np.int32]  # [rows] date in Asia/Kolkata, as a day number
    bars: Bars  # of all symbols and rows, in any order
    cell: NDArray[np.int32]  # [n, rows, symbols] index into `bars`, -1 where there is no bar
    signals: NDArray[np.uint8]  # [n, rows, symbols]
    atr: NDArray[np.float64]  # [n, rows, symbols, 4], or empty
    flags: NDArray[np.uint8]  # [n, rows, symbols], or empty
    squares: NDArray[np.bool_]  # [n]


class Stepped(NamedTuple):
    """What n runs did, one after the other: of run i it is `trades[ends[i, 0] : ends[i + 1, 0]]`,
    of fills column 1 and of refusals column 2.
    """

    trades: Array  # TRADE
    fills: Array  # FILL
    refusals: Array  # REFUSAL
    ends: NDArray[np.int64]  # [n + 1, 3]


def load_many(states: Sequence[bytes]) -> Fleet:
    """What `records.save` or `save_many` made of runs with as many symbols each, one or more.

    Raises ForeignState.
    """
    head, account = len(HEADER), ACCOUNT.itemsize
    size = len(states[0])
    alike = all(len(state) == size for state in states)
    if not alike or size < head + account or (size - head - account) % POSITION.itemsize:
        raise ForeignState("These states were not saved by this version of the engine.")
    table = np.frombuffer(b"".join(states), np.uint8).reshape(len(states), size)
    if (table[:, :head] != np.frombuffer(HEADER, np.uint8)).any():
        raise ForeignState("These states were not saved by this version of the engine.")
    accounts = table[:, head : head + account].copy().view(ACCOUNT).reshape(-1)
    return Fleet(accounts, table[:, head + account :].copy().view(POSITION))


def save_many(fleet: Fleet) -> list[bytes]:
    """The bytes of each run, as `records.save` makes them."""
    n = len(fleet.accounts)
    parts = [
        np.tile(np.frombuffer(HEADER, np.uint8), (n, 1)),
        fleet.accounts.view(np.uint8).reshape(n, -1),
        fleet.positions.view(np.uint8).reshape(n, -1),
    ]
    data = np.concatenate(parts, axis=1).tobytes()
    size = len(data) // n
    return [data[i * size : (i + 1) * size] for i in range(n)]


def plan_rows(plans: Sequence[Plan]) -> Array:
    """As PLAN records: make them once, not at every bar."""
    return np.array(plans, PLAN)


def step_many(fleet: Fleet, rows: Rows, plans: Array, contracts: Array, rates: Array) -> Stepped:
    """Step every run through the rows, from each state as it is; see `kernel.run`.

    `plans` PLAN[n]; `contracts` CONTRACT[n, symbols], which hold in all rows; `rates` RATE, of the
    segments of all contracts. Raises Misfit.
    """
    _check(fleet, rows, plans, contracts)
    n, each, symbols = rows.cell.shape
    own = np.arange(each * symbols, dtype=np.int32).reshape(each, symbols)
    market = Market(
        rows.time,
        rows.day,
        np.where(rows.cell >= 0, own, np.int32(-1)),
        Bars(*(frozen(column.take(rows.cell, mode="clip").reshape(n, -1)) for column in rows.bars)),
        rows.atr.reshape(n, -1, 4),
        rows.flags.reshape(n, -1),
    )
    most = each * symbols  # positions that one run may enter, and twice leave
    out = Out(
        np.empty(2 * most + FILLS_AT_A_TIME, TRADE),
        np.empty(0),
        np.empty(3 * most + FILLS_AT_A_TIME, FILL),
        np.empty(2 * most + FILLS_AT_A_TIME, REFUSAL),
    )
    ends, parts, i = np.zeros((n + 1, 3), np.int64), [], 0
    while i < n:
        first = i
        i = run_many(
            fleet, market, rows.signals, rows.squares, plans, contracts, rates, out, ends, first
        )
        written = zip((out.trades, out.fills, out.refusals), ends[i] - ends[first], strict=True)
        parts.append([part[:count].copy() for part, count in written])
    trades, fills, refusals = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Stepped(trades, fills, refusals, ends)


@step
def plan_at(plans: Array, i: int) -> Plan:
    """The record as the value that `run` is compiled for."""
    p = plans[i]
    return Plan(
        p.size_by, p.size, p.size_atr, p.stop_rate, p.stop_points, p.stop_atr, p.second_stop_rate,
        p.target_ratio, p.target_rate, p.target_points, p.target_atr, p.trail_rate, p.trail_points,
        p.trail_atr, p.trail_from, p.order_by, p.order_offset, p.slippage, p.max_entries,
        p.max_positions, p.max_holding, p.max_position_value, p.max_daily_loss, p.reverse,
    )  # fmt: skip


@kernel
def run_many(
    fleet: Fleet, market: Market, signals: Array, squares: Array, plans: Array, contracts: Array,
    rates: Array, out: Out, ends: Array, first: int,
) -> int:  # fmt: skip
    """Step the runs from `first` on; the first that is not, as `out` might not hold what it writes.

    `market` has every run's own cells, bars, ranges and flags, by run. `ends`: see Stepped.
    """
    n: int = signals.shape[0]
    rows, symbols = signals.shape[1:]
    most = rows * symbols
    trades = fills = refusals = 0
    for i in range(first, n):
        room = out.trades.size - trades >= 2 * most and out.fills.size - fills >= 3 * most
        if not room or out.refusals.size - refusals < 2 * most:
            return i
        opens, highs, lows, closes = market.bars
        flags = market.flags[i] if squares[i] else market.flags[i, :0]
        bars = Bars(opens[i], highs[i], lows[i], closes[i])
        own = Market(market.time, market.day, market.cell[i], bars, market.atr[i], flags)
        ran = run(
            State(fleet.accounts[i : i + 1], fleet.positions[i]), own, signals[i], 0, rows,
            plan_at(plans, i), contracts[i], rates,
            Out(out.trades[trades:], out.equity, out.fills[fills:], out.refusals[refusals:]),
        )  # fmt: skip
        trades, fills = trades + ran.trades, fills + ran.fills
        refusals += ran.refusals
        ends[i + 1, 0] = ends[first, 0] + trades
        ends[i + 1, 1] = ends[first, 1] + fills
        ends[i + 1, 2] = ends[first, 2] + refusals
    return n


def warm_up() -> None:
    """Compile `run_many`, or load it from its cache: the first step then does not wait."""
    rows = Rows(
        frozen(np.zeros(1, np.int64)),
        np.zeros(1, np.int32),
        Bars(*[frozen(np.ones(1))] * 4),
        np.zeros((1, 1, 1), np.int32),
        np.zeros((1, 1, 1), np.uint8),
        np.empty(0),
        np.empty(0, np.uint8),
        np.zeros(1, np.bool_),
    )
    fleet = load_many([save(new_state(symbols=1, cash=1.0))])
    step_many(fleet, rows, plan_rows([Plan()]), np.ones((1, 1), CONTRACT), np.empty(0, RATE))


def _check(fleet: Fleet, rows: Rows, plans: Array, contracts: Array) -> None:
    """Raise Misfit where `run_many` would read or write beside its arrays: it checks no bounds."""
    n, count, symbols = shape = rows.cell.shape
    bars = rows.bars.open.size
    fits = (
        bars > 0
        and rows.time.shape == rows.day.shape == (count,)
        and rows.signals.shape == shape
        and fleet.positions.shape == contracts.shape == (n, symbols)
        and fleet.accounts.shape == plans.shape == rows.squares.shape == (n,)
        and all(column.shape == (bars,) for column in rows.bars)
        and rows.atr.size in (0, 4 * rows.cell.size)
        and rows.flags.size in (0, rows.cell.size)
        and (rows.flags.size > 0 or not rows.squares.any())
        and rows.cell.max(initial=-1) < bars
        and not np.any(rows.signals[rows.cell < 0])
    )
    if not fits:
        raise Misfit("The arrays of the simulation do not fit each other.")
    if not all(array.flags.writeable and array.flags.c_contiguous for array in fleet):
        raise Misfit("States must be writable and contiguous.")


notice((run_many,), (*SOURCES, __file__))
