"""One row played for one run: the engine's step between what the world outside wants of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import floor
from typing import Final, NamedTuple

import numpy as np

from apps.algorithms.lifecycle import Status
from apps.engine import kernel
from apps.engine.codes import BY_EXPIRY, BY_STOPPED, KILL_SWITCH, RUINED, STALE_DATA
from apps.engine.records import (
    FILL,
    REFUSAL,
    TRADE,
    Array,
    Market,
    Out,
    Plan,
    State,
    ask_to_close,
    bar_entries,
    load,
)
from apps.engine.strategy import Strategy
from apps.trading.models import Run
from apps.trading.rows import Row
from apps.trading.stepping import Step
from apps.trading.terms import Dealing, Terms

_PRICES: Final = ("stop", "target", "extreme", "order_price", "close", "atr", "order_atr")
"""What a position remembers in rupees of a price."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A run of a lane, as its steps never change: read once. Runs of one `ear` hear alike."""

    run: Run
    strategy: Strategy
    plan: Plan
    dealing: Dealing
    ear: str


class Cue(NamedTuple):
    """One row as runs of one ear see it: the market of its bars, and signal bits u1[1, symbols]."""

    market: Market
    heard: Array


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where a run stands before a row, and what is wanted of it.

    `halted_since` is when the owner's kill switch or the operators' was turned on; `closing` are
    symbols whose positions the owner wants closed, `cancelled` those whose waiting entry is not to
    be traded.
    """

    member: Member
    data: bytes
    row_time: int | None
    peak: float
    drawdown: float
    drawdown_amount: float
    status: str
    ended_at: datetime | None
    close_positions: bool
    halted_since: datetime | None
    closing: frozenset[str] = frozenset()
    cancelled: frozenset[str] = frozenset()

    @property
    def wanted(self) -> tuple[object, ...]:
        """What must still hold when the step is written."""
        return self.status, self.ended_at, self.close_positions


class Changes(NamedTuple):
    """What this row brings to symbols by their indices: ratios of splits and bonuses that count
    from it on, and contracts that end with it.
    """

    ratios: Mapping[int, Fraction]
    expiring: Sequence[int]
    stale: bool


def play(standing: Standing, row: Row, cue: Cue, terms: Terms, changes: Changes) -> Step:
    """The run after the row. Entries that wait are dropped when they are barred by now; what is to
    be closed is closed at the first open after somebody wanted that.
    """
    member, before = standing.member, load(standing.data)
    out = _room_for(len(before.positions))
    written = [_convert(before, terms, out, changes.ratios)]
    state = State(before.account.copy(), before.positions.copy())
    _drop_cancelled(state, standing, member.strategy.basicInfo.symbols)
    bar_entries(state, _barred(standing, stale=changes.stale))
    asked = _asked(standing, member.strategy.basicInfo.symbols)
    at_once = _wanted_before(standing, row)
    if at_once:
        ask_to_close(state, asked, BY_STOPPED)
    ran = kernel.run(state, cue.market, cue.heard, 0, 1, member.plan, terms.units, terms.rates, out)
    written.append(_written(out, ran.trades, ran.fills, ran.refusals))
    if state.account["status"][0] == RUINED:
        written += _settled(state, terms, out, range(len(state.positions)), BY_STOPPED)
    written += _settled(state, terms, out, changes.expiring, BY_EXPIRY)
    if not at_once:
        ask_to_close(state, asked, BY_STOPPED)
    fills, refusals, trades = (np.concatenate(parts) for parts in zip(*written, strict=True))
    return Step(
        run=member.run,
        strategy=member.strategy,
        contracts=terms.contracts,
        time=row.time,
        closes=row.closes,
        heard=cue.heard[0],
        before=before,
        state=state,
        fills=fills,
        refusals=refusals,
        trades=trades,
    )


def _room_for(symbols: int) -> Out:
    return Out(
        np.empty(2 * symbols, TRADE),
        np.empty(0),
        np.empty(3 * symbols, FILL),
        np.empty(3 * symbols, REFUSAL),
    )


def _written(out: Out, trades: int, fills: int, refusals: int) -> tuple[Array, Array, Array]:
    return out.fills[:fills].copy(), out.refusals[:refusals].copy(), out.trades[:trades].copy()


def _barred(standing: Standing, *, stale: bool) -> int | None:
    """Whether the run may enter anything in this row, and from its close on."""
    if standing.status != Status.ACTIVE or standing.ended_at or standing.halted_since:
        return KILL_SWITCH
    return STALE_DATA if stale else None


def _asked(standing: Standing, symbols: Sequence[str]) -> list[int]:
    if standing.close_positions:
        return list(range(len(symbols)))
    return [at for at, symbol in enumerate(symbols) if symbol in standing.closing]


def _wanted_before(standing: Standing, row: Row) -> bool:
    """Whether closing was asked for before the row's open, which is then the next one."""
    since = standing.ended_at or standing.halted_since
    return since is not None and since.timestamp() <= row.time


def _drop_cancelled(state: State, standing: Standing, symbols: Sequence[str]) -> None:
    """Entries that wait and are not wanted any more."""
    for at, symbol in enumerate(symbols):
        if symbol in standing.cancelled:
            state.positions["pending"][at] = 0


def _settled(
    state: State, terms: Terms, out: Out, symbols: Sequence[int], reason: int
) -> list[tuple[Array, Array, Array]]:
    """Closed at their last close."""
    done = []
    for symbol in symbols:
        n = kernel.settle(state, int(symbol), reason, terms.units, terms.rates, out)
        done.append(_written(out, n, n, 0))
    return done


def _convert(
    state: State, terms: Terms, out: Out, ratios: Mapping[int, Fraction]
) -> tuple[Array, Array, Array]:
    """A split or bonus: `ratio` shares for each, at prices divided by it.

    What a position cost stays what it cost. The part of a share that is left over is nobody's, and
    a position that does not make one share is closed at its last close.
    """
    n = 0
    for symbol, ratio in ratios.items():
        position = state.positions[symbol]
        held = float(position["quantity"])
        whole = floor(held * ratio)
        if position["side"] and whole < 1:
            n += kernel.settle(state, symbol, BY_STOPPED, terms.units, terms.rates, out)
        elif position["side"]:
            position["average"] *= held / whole
            position["exposure"] *= whole / held
            position["quantity"] = whole
        for name in _PRICES:
            position[name] /= float(ratio)
    return _written(out, n, n, 0)
