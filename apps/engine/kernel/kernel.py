"""The simulation: one step per row of the market, resumable after any row, to the last bit.

A backtest is `run` over all rows and then `finish`; trading live is `run` over each new row. There
is no second code path and no "live" flag: nothing but `State` survives a row, and State is bytes.
The rules are numbered in README.md; the names of the functions below are their subjects.

Compiled code of the simulation stands here and in `phases.py`, `marks.py`, `rest.py`, `ahead.py`,
`entries.py`, `fills.py` and `prices.py`. The cache of a kernel notices a change in its own file;
`notice` adds the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from apps.engine.kernel import ahead, codes, entries, fills, marks, phases, prices, rest
from apps.engine.kernel.ahead import ALL, Groups, Row, Rows, first_heard, groups_of, inlined
from apps.engine.kernel.codes import AT_MARKET, BY_END_OF_DATA, DUST, RUINED, RUNNING
from apps.engine.kernel.fills import Record, kernel, step, worth
from apps.engine.kernel.marks import (
    A_DAY,
    STRETCH,
    Marks,
    add_up,
    end_of_day,
    equity_at,
    judged,
    note,
    note_cash,
)  # fmt: skip
from apps.engine.kernel.phases import (
    drop_waiting,
    entries_at_open,
    exits_at_open,
    halt,
    hear,
    insert,
    inside_and_close,
    leave,
    recall,
)  # fmt: skip
from apps.engine.kernel.records import Plan, Ran, State
from apps.engine.kernel.rest import Rests, find_bars, get_up, lie_down, listens, rests_of, wake

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array, Market, Out

MOST_ROWS, MOST_MARKED, LEAST_ROWS = 8192, 2048, 128
"""Rows that are played before they are judged: fewer where all are marked, which then lie near, and
after the account was halted.
"""


class Desk(NamedTuple):
    """Memory to work with, one run after the other.

    `kept` is the state before a chunk, `opened` and `waiting` are lists of symbols, `inside` says
    which were entered inside their bar, `scratch` is equity that nobody asks for; the others are
    of Rests and Marks.
    """

    kept: State
    rests: Rests
    groups: Groups
    opened: Array
    waiting: Array
    inside: Array
    scratch: Array
    noted: Array
    newest: Array
    counts: Array


@njit(nogil=True, error_model="numpy")
def desk_of(state: State, most: int, bars: int) -> Desk:
    """For so many rows at once, at most MOST_ROWS, and for the groups of so many bars."""
    size = state.positions.size
    kept = State(np.empty_like(state.account), np.empty_like(state.positions))
    opened, waiting = np.empty(size, np.uint32), np.empty(size, np.uint32)
    scratch, noted = np.empty(min(most, MOST_ROWS)), np.empty(16 * size + 256, STRETCH)
    newest, counts = np.empty(size + 1 if size > 1 else 1, np.int64), np.empty(3, np.int64)
    inside, rests, groups = np.zeros(size, np.bool_), rests_of(size), groups_of(bars)
    return Desk(kept, rests, groups, opened, waiting, inside, scratch, noted, newest, counts)


@step
def most_written(
    symbols: int, trades: Array, fills: Array, refusals: Array
) -> tuple[int, int, int]:
    """How many trades, fills and refusals may be written before a row is run; what is empty is not
    written to.
    """
    most_fills = fills.size - 3 * symbols if fills.size > 0 else 0
    most_refused = refusals.size - 2 * symbols if refusals.size > 0 else 0
    return trades.size - 2 * symbols, most_fills, most_refused


@inlined
def copy(state: State, into: State) -> None:
    into.account[0] = state.account[0]
    for s in range(state.positions.size):
        into.positions[s] = state.positions[s]


@inlined
def look_ahead(
    positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int, t: int, end: int,
    rows: Rows, rests: Rests, plan: Plan, trailing: bool, noting: bool, contracts: Array,
) -> tuple[int, Row]:  # fmt: skip
    """See how long positions rest that do not in row `t`, at most until `end`.

    Returns how many symbols wait, and the row until which all positions rest.
    """
    loudest, evening = end, t
    for k in range(n_open):
        s = opened[k]
        p = positions[s]
        if rests.loud[s] <= t:
            if wake(p, s, t, False, rows, rests, plan, trailing, contracts[s]):
                insert(waiting, n_wait, s)
                n_wait += 1
            if evening == t:
                evening = end_of_day(rows.day, t, end, A_DAY) if rows.flags.size > 0 else end
            lie_down(p, s, t, evening, rows, rests, plan, trailing, noting, contracts[s])
        loudest = min(loudest, rests.loud[s])
    return n_wait, loudest


@inlined
def play_row(
    account: Record, positions: Array, t: int, loudest: int, rows: Rows, rests: Rests,
    marks: Marks, plan: Plan, trailing: bool, contracts: Array, rates: Array, out: Out,
    opened: Array, n_open: int, waiting: Array, n_wait: int, inside: Array, n_trades: int,
    n_fills: int, n_refused: int,
) -> tuple[int, int, int, int, int, Row]:  # fmt: skip
    """Row `t` until its close, for positions that do not rest and symbols that wait.

    Returns how many are open and wait, what is written, and the row until which all rest.
    """
    held, loud = n_open, loudest <= t
    if loud:
        n_open, n_trades, n_fills = exits_at_open(
            account, positions, opened, n_open, t, rows, rests, marks, plan, contracts, rates, out,
            n_trades, n_fills,
        )  # fmt: skip
        held = n_open
    n_open, n_wait, n_fills, n_refused = entries_at_open(
        account, positions, opened, n_open, waiting, n_wait, inside, t, rows, rests, marks, plan,
        contracts, rates, out, n_fills, n_refused,
    )  # fmt: skip
    if loud or n_open > held:
        n_open, n_trades, n_fills = inside_and_close(
            account, positions, opened, n_open, inside, t, rows, rests, marks, plan, trailing,
            contracts, rates, out, n_trades, n_fills,
        )  # fmt: skip
        loudest = t
    return n_open, n_wait, n_trades, n_fills, n_refused, loudest


@inlined
def play(
    account: Record, positions: Array, t: int, end: int, rows: Rows, rests: Rests, marks: Marks,
    plan: Plan, trailing: bool, noting: bool, contracts: Array, rates: Array, out: Out,
    opened: Array, waiting: Array, inside: Array, n_trades: int, n_fills: int, n_refused: int,
) -> tuple[Row, int, int, int, int, int]:  # fmt: skip
    """Rows [t, end), less the equity at their closes and the signals of the last one; fewer when
    what is written to is nearly full.

    Returns the next row, how many are open and wait, and what is written.
    """
    symbols = positions.size
    most_trades, most_fills, most_refused = most_written(
        symbols, out.trades, out.fills, out.refusals
    )
    most_noted, most_unheard = marks.noted.size - 3 * symbols - 2, most_refused - symbols
    marks.newest[:], marks.counts[:] = -1, 0
    n_open, n_wait = recall(positions, opened, waiting)
    today, loudest, full = account.day, t, False
    get_up(positions, t, rests)
    while t < end and not full:
        if loudest <= t:
            n_wait, loudest = look_ahead(
                positions, opened, n_open, waiting, n_wait, t, end, rows, rests, plan, trailing,
                noting, contracts,
            )  # fmt: skip
        if n_wait == 0 and loudest > t:
            until = min(loudest, end)
            if n_open > 0 and listens(rows, rests, trailing):
                t = until
            else:
                t = first_heard(t, until, rows.heard, rests.acts)
                if t == until:
                    continue
                t += 1
        else:
            n_open, n_wait, n_trades, n_fills, n_refused, loudest = play_row(
                account, positions, t, loudest, rows, rests, marks, plan, trailing, contracts,
                rates, out, opened, n_open, waiting, n_wait, inside, n_trades, n_fills, n_refused,
            )  # fmt: skip
            t += 1
        full = n_trades > most_trades or n_fills > most_fills or marks.counts[0] > most_noted
        full |= out.refusals.size > 0 and n_refused > most_unheard
        if t < end and not full:
            if rows.day[t - 1] != today:
                today, account.halted = rows.day[t - 1], 0
            n_wait, n_refused, loudest = hear(
                account, positions, waiting, n_wait, t - 1, rows, rests, plan, contracts,
                out.refusals, n_refused, loudest,
            )  # fmt: skip
    for k in range(n_open):
        note(account, positions[opened[k]], opened[k], t, rows, rests, marks)
    note_cash(account, t, marks)
    return t, n_open, n_wait, n_trades, n_fills, n_refused


@inlined
def end_chunk(
    account: Record, positions: Array, opened: Array, n_open: int, waiting: Array, n_wait: int,
    t: int, rows: Rows, rests: Rests, plan: Plan, trailing: bool, contracts: Array,
    refusals: Array, n_refused: int,
) -> int:  # fmt: skip
    """The close of the row before `t`, after which State is whole; how many refusals are told."""
    breached = account.day_start - account.equity >= plan.max_daily_loss - DUST
    if breached and account.halted == 0:
        n_wait, n_refused = halt(
            account, positions, opened, n_open, waiting, n_wait, rows.time[t - 1], plan, refusals,
            n_refused,
        )  # fmt: skip
        for k in range(n_open):
            rests.acts[opened[k]] = ALL
    n_wait, n_refused, _ = hear(
        account, positions, waiting, n_wait, t - 1, rows, rests, plan, contracts, refusals,
        n_refused, t,
    )  # fmt: skip
    for k in range(n_open):
        s = opened[k]
        wake(positions[s], s, t, True, rows, rests, plan, trailing, contracts[s])
    if account.equity <= 0:
        account.status = RUINED
    return n_refused


@inlined
def rows_of(market: Market, signals: Array, groups: Groups, start: int, stop: int) -> Rows:
    """Rows [start, stop)."""
    time, day, cell = market.time[start:stop], market.day[start:stop], market.cell[start:stop]
    opens, highs, lows, closes = market.bars
    heard, flags, atr = signals[start:stop].reshape(-1), market.flags, market.atr
    return Rows(time, day, cell, heard, opens, highs, lows, closes, flags, atr, groups)


@step
def run_rows(
    desk: Desk, state: State, market: Market, signals: Array, start: int, stop: int, plan: Plan,
    contracts: Array, rates: Array, out: Out,
) -> Ran:  # fmt: skip
    """As `run`, without memory of its own."""
    kept, rests, groups, opened, waiting, inside, scratch, noted, newest, counts = desk
    account, positions = state.account[0], state.positions
    rows = rows_of(market, signals, groups, start, stop)
    find_bars(rows.cell, rests)
    curve, size, symbols = out.equity[start:stop], rows.day.size, positions.size
    most_trades, most_fills, most_refused = most_written(
        symbols, out.trades, out.fills, out.refusals
    )
    trailing = plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0
    noting = market.atr.size > 0 or plan.order_by != AT_MARKET or account.barred != 0
    n_trades = n_fills = n_refused = t = sample = 0
    while sample < out.sampled.size and out.sampled[sample] < start:
        sample += 1
    longest = MOST_MARKED if symbols > 1 or curve.size > 0 else MOST_ROWS
    most, ending = longest, size == 0 or account.status != RUNNING
    if account.barred and not ending:
        n_open, n_wait = recall(positions, opened, waiting)
        n_refused = drop_waiting(
            account, positions, waiting[:n_wait], rows.time[0], plan, out.refusals
        )
    while not ending:
        first, end, halted = t, min(t + most, size), account.halted
        most = min(2 * most, longest)
        had_trades, had_fills, had_refused = n_trades, n_fills, n_refused
        equity = curve[first:end] if curve.size > 0 else scratch[: end - first]
        marks = Marks(first, equity, noted, newest, counts)
        if end - first > 1:
            copy(state, kept)
        while True:
            t, n_open, n_wait, n_trades, n_fills, n_refused = play(
                account, positions, first, end, rows, rests, marks, plan, trailing, noting,
                contracts, rates, out, opened, waiting, inside, n_trades, n_fills, n_refused,
            )  # fmt: skip
            if symbols > 1 or curve.size > 0:
                add_up(t - first, rows.close, marks)
            end = judged(account, halted, t, rows, marks, plan)
            if end == t:
                break
            copy(kept, state)
            n_trades, n_fills, n_refused = had_trades, had_fills, had_refused
            most = LEAST_ROWS
        while sample < out.sampled.size and out.sampled[sample] < start + t:
            out.samples[sample] = equity_at(out.sampled[sample] - start, rows, marks)
            sample += 1
        account.equity = equity_at(t - 1, rows, marks)
        n_refused = end_chunk(
            account, positions, opened, n_open, waiting, n_wait, t, rows, rests, plan, trailing,
            contracts, out.refusals, n_refused,
        )  # fmt: skip
        full = n_trades > most_trades or n_fills > most_fills or n_refused > most_refused
        ending = full or account.equity <= 0 or t == size
    account.rows += t
    return Ran(start + t, n_trades, n_fills, n_refused)


@kernel
def run(
    state: State, market: Market, signals: Array, start: int, stop: int, plan: Plan,
    contracts: Array, rates: Array, out: Out,
) -> Ran:  # fmt: skip
    """Rows [start, stop).

    The next row is before `stop` when `out` might not hold what another row writes (drain it and
    go on from there), or when the money is gone (rule 6: then no further row is run).
    """
    desk = desk_of(state, max(stop - start, 0), 0)
    return run_rows(desk, state, market, signals, start, stop, plan, contracts, rates, out)


@step
def settle_at_close(
    account: Record, p: Record, symbol: int, reason: int, contract: Record, rates: Array, out: Out,
    n: int,
) -> int:  # fmt: skip
    """Close `p`, if it is held, at its last close; how many trades and fills there are now."""
    if p.side == 0:
        return n
    leave(
        account, p, symbol, p.close, reason, p.time, p.day, contract, rates, out.trades[n],
        out.fills, n,
    )  # fmt: skip
    return n + 1


@kernel
def settle(state: State, symbol: int, reason: int, contracts: Array, rates: Array, out: Out) -> int:
    """Close one symbol at its last close without slippage, as an expiry does, and forget what waits
    on it; returns how many trades, and as many fills, were written.
    """
    account, positions, p = state.account[0], state.positions, state.positions[symbol]
    n = settle_at_close(account, p, symbol, reason, contracts[symbol], rates, out, 0)
    p.pending, held = 0, 0.0
    for s in range(positions.size):
        if positions[s].side != 0:
            held += worth(positions[s], positions[s].close)
    account.equity = account.cash + held
    return n


@kernel
def finish(state: State, contracts: Array, rates: Array, out: Out) -> int:
    """Close what is open at its last close (rule 13); returns how many trades, and as many fills,
    were written.
    """
    account, n = state.account[0], 0
    for s in range(state.positions.size):
        p = state.positions[s]
        n = settle_at_close(account, p, s, BY_END_OF_DATA, contracts[s], rates, out, n)
    account.equity = account.cash
    if account.equity <= 0:
        account.status = RUINED
    return n


def notice(kernels: Iterable[Callable[..., Any]], *more: str) -> None:
    """Let the cache of these kernels notice a change in files that `run` is made of, and in `more`;
    Numba has no public way.
    """
    modules = (phases, marks, rest, ahead, entries, fills, prices, codes)
    files = (__file__, *(str(module.__file__) for module in modules), *more)
    digest = sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()
    for one in kernels:
        getattr(one, "_cache")._cache_file._source_stamp = digest  # noqa: B009


notice((run, settle, finish))
