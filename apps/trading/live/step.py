"""The step of one run through one row: the engine's own step, with requests from outside.

Before it, splits and bonuses convert the positions, and requests of the owner and the kill switches
are applied. After it, expiring contracts are settled.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from apps.algorithms.models import AlgorithmStatus
from apps.engine.language import Strategy
from apps.engine.live import (
    BarSnapshot,
    ContractTerms,
    LiveStrategy,
    RowRequests,
    SignalInput,
    load_state,
)
from apps.trading.booking.step_result import BarStep, EntryBlock, FractionSettlement
from apps.trading.live.contract_terms import ExecutionTerms
from apps.trading.models import Run
from apps.trading.models.money import rupees


@dataclass(frozen=True, slots=True, eq=False)
class RunContext:
    """The constant facts about a run of a stream, read once.

    Runs with the same `signal_key` get the same signals, which are evaluated once for all of them.
    """

    run: Run
    live: LiveStrategy
    execution_terms: ExecutionTerms
    signal_key: str

    @property
    def strategy(self) -> Strategy:
        return self.live.strategy

    @property
    def owner_id(self) -> str:
        return str(self.run.account_id)


@dataclass(frozen=True, slots=True, eq=False)
class RunSnapshot:
    """The state of a run before a row, and the requests for it."""

    context: RunContext
    data: bytes
    row_time: int | None
    peak: float
    drawdown: float
    drawdown_amount: float
    status: str
    ended_at: datetime | None
    close_requested_at: datetime | None  # when the owner asked for all positions to be closed
    kill_switch_since: datetime | None  # the owner's, or the operators'
    closing: Mapping[str, datetime]  # when the owner asked for a symbol's position to be closed
    cancelled: Collection[str]  # symbols with pending entries that the owner cancelled

    @property
    def preconditions(self) -> tuple[object, ...]:
        """The facts that must still hold when the step is written."""
        return self.status, self.ended_at, self.close_requested_at


class BarChanges(NamedTuple):
    """The changes between the previous row and this one, with symbols by index.

    `ratios` are of splits and bonuses that take effect with this row; the contracts in `expiring`
    end with it. No entry is made while the data is `stale`.
    """

    ratios: Mapping[int, Fraction]
    expiring: Sequence[int]
    stale: bool


def step_bar(
    snapshot: RunSnapshot,
    row: BarSnapshot,
    signals: SignalInput,
    terms: ContractTerms,
    changes: BarChanges,
) -> BarStep:
    """Step the run through the row.

    Pending entries are dropped if entries are blocked by now. Positions with a requested close are
    closed at the first open after the request.
    """
    context, symbols = snapshot.context, snapshot.context.strategy.basicInfo.symbols
    block = _entry_block(snapshot, stale=changes.stale)
    at_open, at_next_open = _requested_closes(snapshot, symbols, row)
    requests = RowRequests(
        ratios=changes.ratios,
        expiring=changes.expiring,
        close_at_open=at_open,
        close_at_next_open=at_next_open,
        cancelled=snapshot.cancelled,
        # The engine has two reasons: a decision from outside, and stale data.
        block=None
        if block is None
        else ("stale_data" if block is EntryBlock.STALE_DATA else "kill_switch"),
    )
    before = load_state(snapshot.data, symbols)
    done = context.live.step(before, row, signals=signals, terms=terms, requests=requests)
    return BarStep(
        run=context.run,
        strategy=context.strategy,
        contracts=terms.contracts,
        time=row.time,
        closes=row.closes,
        signals=signals.signals[:, 0],
        before=done.before,
        state=done.state,
        fills=done.fills,
        refusals=done.refusals,
        trades=done.trades,
        fractions=[
            FractionSettlement(
                symbols[fraction.slot],
                rupees(fraction.locked[1]) - rupees(fraction.locked[0]),
                rupees(fraction.gross),
            )
            for fraction in done.fractions
        ],
        last=row.last,
        cancelled=snapshot.cancelled,
        short_margins=signals.short_margins,
        entry_block=block,
    )


def _entry_block(snapshot: RunSnapshot, *, stale: bool) -> EntryBlock | None:
    """Return the reason why the run may not enter in this row, or None."""
    if snapshot.ended_at:
        return EntryBlock.ERROR if snapshot.status == AlgorithmStatus.ERROR else EntryBlock.STOPPED
    if snapshot.kill_switch_since:
        return EntryBlock.KILL_SWITCH
    if snapshot.status != AlgorithmStatus.ACTIVE:
        return EntryBlock.PAUSED
    return EntryBlock.STALE_DATA if stale else None


def _requested_closes(
    snapshot: RunSnapshot, symbols: Sequence[str], row: BarSnapshot
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the symbols to be closed at the row's open, and those at the open after it.

    A close is made at the first open after its request. All positions of a deleted algorithm are
    closed, because nobody could request it any more.
    """
    at_open: list[int] = []
    at_next_open: list[int] = []
    for index, symbol in enumerate(symbols):
        requests = [snapshot.close_requested_at, snapshot.closing.get(symbol)]
        since = min((moment for moment in requests if moment), default=None)
        if since is not None and since.timestamp() <= row.time:
            at_open.append(index)
        elif since is not None or snapshot.status == AlgorithmStatus.ARCHIVED:
            at_next_open.append(index)
    return at_open, at_next_open
