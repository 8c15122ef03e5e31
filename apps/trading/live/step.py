"""One row played for one run: the engine's step between what the world outside wants of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from apps.algorithms.lifecycle import Status
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import (
    BY_EXPIRY,
    BY_STOPPED,
    KILL_SWITCH,
    RUINED,
    STALE_DATA,
)
from apps.engine.kernel.records import (
    FILL,
    NO_FILLS,
    NO_REFUSALS,
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
from apps.engine.language.strategy import Strategy
from apps.trading.bar_rows import BarSnapshot
from apps.trading.live.contract_terms import CLOSE, ContractTerms, ExecutionTerms
from apps.trading.live.share_changes import convert
from apps.trading.models import Run
from apps.trading.step_result import BarStep, EntryBlock, drop_pending_entry

_NO_TRADES: Final = np.empty(0, TRADE)


@dataclass(frozen=True, slots=True, eq=False)
class RunContext:
    """A run of a stream, as its steps never change: read once. Runs of one `ear` hear alike."""

    run: Run
    strategy: Strategy
    plan: Plan
    dealing: ExecutionTerms
    ear: str


class SignalInput(NamedTuple):
    """One row as runs of one ear see it: the market of its bars, and signal bits u1[1, symbols]."""

    market: Market
    heard: Array


@dataclass(frozen=True, slots=True, eq=False)
class RunSnapshot:
    """Where a run stands before a row, and what is wanted of it.

    `halted_since` is when the owner's kill switch or the operators' was turned on,
    `close_requested_at` when the owner asked for all positions to be closed. `closing` maps symbols
    whose positions the owner wants closed to when they asked; `cancelled` are the symbols whose
    pending entry they cancelled.
    """

    context: RunContext
    data: bytes
    row_time: int | None
    peak: float
    drawdown: float
    drawdown_amount: float
    status: str
    ended_at: datetime | None
    close_requested_at: datetime | None
    halted_since: datetime | None
    closing: Mapping[str, datetime]
    cancelled: Collection[str]

    @property
    def wanted(self) -> tuple[object, ...]:
        """What must still hold when the step is written."""
        return self.status, self.ended_at, self.close_requested_at


class BarChanges(NamedTuple):
    """What this row brings to symbols by their indices: ratios of splits and bonuses that count
    from it on, and contracts that end with it.
    """

    ratios: Mapping[int, Fraction]
    expiring: Sequence[int]
    stale: bool


def play(
    standing: RunSnapshot,
    row: BarSnapshot,
    cue: SignalInput,
    terms: ContractTerms,
    changes: BarChanges,
) -> BarStep:
    """The run after the row. Entries that wait are dropped when they are barred by now; what is to
    be closed is closed at the first open after somebody wanted that.
    """
    context, before = standing.context, load(standing.data)
    converted = convert(before, changes.ratios, row, context.plan, terms.units)
    state = State(before.account.copy(), before.positions.copy())
    written = _Written(len(state.positions))
    written.settle(state, terms, converted.too_few, BY_STOPPED)
    for symbol in standing.cancelled:
        drop_pending_entry(state, context.strategy, symbol)
    barred = _barred(standing, stale=changes.stale)
    bar_entries(state, _code_of(barred))
    before_open, after_close = _asked(standing, context.strategy.basicInfo.symbols, row)
    ask_to_close(state, before_open, BY_STOPPED)
    ran = kernel.run(
        state, cue.market, cue.heard, 0, 1, context.plan, terms.units, terms.rates, written.out
    )
    written.take(ran.trades, ran.fills, ran.refusals)
    if state.account["status"][0] == RUINED:
        written.settle(state, terms, range(len(state.positions)), BY_STOPPED)
    written.settle(state, terms, changes.expiring, BY_EXPIRY)
    ask_to_close(state, after_close, BY_STOPPED)
    return BarStep(
        run=context.run,
        strategy=context.strategy,
        contracts=terms.contracts,
        time=row.time,
        closes=row.closes,
        heard=cue.heard[0],
        before=before,
        state=state,
        fills=written.fills,
        refusals=written.refusals,
        trades=written.trades,
        fractions=converted.fractions,
        last=row.bars[:, CLOSE],
        cancelled=standing.cancelled,
        barred=barred,
    )


class _Written:
    """What was written to `out`, which each call of the kernel writes anew."""

    def __init__(self, symbols: int) -> None:
        self.out = Out(
            np.empty(2 * symbols, TRADE),
            np.empty(0),
            np.empty(3 * symbols, FILL),
            np.empty(3 * symbols, REFUSAL),
        )
        self.trades, self.fills, self.refusals = _NO_TRADES, NO_FILLS, NO_REFUSALS

    def take(self, trades: int, fills: int, refusals: int) -> None:
        """So many of each, after those that are there; mostly there are none."""
        if trades:
            self.trades = _after(self.trades, self.out.trades[:trades])
        if fills:
            self.fills = _after(self.fills, self.out.fills[:fills])
        if refusals:
            self.refusals = _after(self.refusals, self.out.refusals[:refusals])

    def settle(
        self, state: State, terms: ContractTerms, symbols: Sequence[int], reason: int
    ) -> None:
        """Close them at their last close."""
        for symbol in symbols:
            n = kernel.settle(state, int(symbol), reason, terms.units, terms.rates, self.out)
            self.take(n, n, 0)


def _after(before: Array, new: Array) -> Array:
    return np.concatenate([before, new]) if len(before) else new.copy()


def _barred(standing: RunSnapshot, *, stale: bool) -> EntryBlock | None:
    """Why the run may enter nothing in this row, and from its close on; None where it may."""
    if standing.ended_at:
        return EntryBlock.ERROR if standing.status == Status.ERROR else EntryBlock.STOPPED
    if standing.halted_since:
        return EntryBlock.KILL_SWITCH
    if standing.status != Status.ACTIVE:
        return EntryBlock.PAUSED
    return EntryBlock.STALE_DATA if stale else None


def _code_of(barred: EntryBlock | None) -> int | None:
    """The engine knows two reasons to be barred: what somebody wants, and stale data."""
    if barred is None:
        return None
    return STALE_DATA if barred is EntryBlock.STALE_DATA else KILL_SWITCH


def _asked(
    standing: RunSnapshot, symbols: Sequence[str], row: BarSnapshot
) -> tuple[Sequence[int], Sequence[int]]:
    """The symbols to be closed: where that was wanted before the row's open, which is then the next
    one, and where it was wanted later. Of a deleted algorithm it is all of them: nobody could ask
    for it any more.
    """
    early: list[int] = []
    late: list[int] = []
    for at, symbol in enumerate(symbols):
        asked = [standing.close_requested_at, standing.closing.get(symbol)]
        since = min((moment for moment in asked if moment), default=None)
        if since is not None and since.timestamp() <= row.time:
            early.append(at)
        elif since is not None or standing.status == Status.ARCHIVED:
            late.append(at)
    return early, late
