"""The step of one run through one row: the engine's own step, with requests from outside.

Before it, splits and bonuses convert the positions, and requests of the owner and the kill switches
are applied. After it, expiring contracts are settled.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import floor
from typing import Any, Final, NamedTuple

import numpy as np

from apps.algorithms.models import AlgorithmStatus
from apps.engine import LAST_CLOSE, Settlement
from apps.engine.kernel import kernel
from apps.engine.kernel.codes import (
    AT_LIMIT,
    BY_EXPIRY,
    BY_STOPPED,
    ENTER_LONG,
    KILL_SWITCH,
    RUINED,
    STALE_DATA,
)
from apps.engine.kernel.prices import tick_down, tick_up
from apps.engine.kernel.records import (
    FILL,
    NO_FILLS,
    NO_MARGINS,
    NO_REFUSALS,
    REFUSAL,
    MarketRows,
    Plan,
    Rules,
    SimulationOutput,
    State,
    block_entries,
    instrument_ids,
    request_close,
    rules_of,
)
from apps.engine.kernel.saved import load
from apps.engine.language import Strategy
from apps.engine.results import TRADE, Array
from apps.trading.booking.step_result import (
    BarStep,
    EntryBlock,
    FractionSettlement,
    drop_pending_entry,
)
from apps.trading.live.contract_terms import CLOSE, ContractTerms, ExecutionTerms
from apps.trading.models import Run
from apps.trading.models.money import rupees
from apps.trading.runs.bar_rows import BarSnapshot

_NO_TRADES: Final = np.empty(0, TRADE)
# The index of the open among the prices of a bar.
OPEN: Final = 0
# The fields of a POSITION and of an ORDER record that are in rupees of a share's price.
_POSITION_PRICES: Final = ("average", "stop", "target", "extreme", "close", "atr")
_ORDER_PRICES: Final = ("price", "atr")


@dataclass(frozen=True, slots=True, eq=False)
class RunContext:
    """The constant facts about a run of a stream, read once.

    Runs with the same `signal_key` get the same signals, which are evaluated once for all of them.
    """

    run: Run
    strategy: Strategy
    plan: Plan
    execution_terms: ExecutionTerms
    signal_key: str


class SignalInput(NamedTuple):
    """The input of a step for one signal key: the row's bars, and signal bits u1[1, symbols]."""

    market: MarketRows
    signals: Array


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
    instruments = instrument_ids(symbols)
    before = load(snapshot.data, instruments)
    rules = rules_of(context.plan, instruments, terms.units, terms.rates)
    conversion = convert(before, context, changes.ratios, row, terms.units)
    state = State(*(array.copy() for array in before))
    output = _StepOutput(len(state.positions))
    output.settle(state, rules, conversion.too_few, BY_STOPPED)
    for symbol in snapshot.cancelled:
        drop_pending_entry(state, context.strategy, symbol)
    block = _entry_block(snapshot, stale=changes.stale)
    block_entries(state, _engine_code(block))
    at_open, at_next_open = _requested_closes(snapshot, symbols, row)
    request_close(state, at_open, BY_STOPPED)
    counts = kernel.run(state, signals.market, signals.signals, rules, output.buffers, 0, 1)
    output.append(counts.trades, counts.fills, counts.refusals)
    if state.account["status"][0] == RUINED:
        output.settle(state, rules, range(len(state.positions)), BY_STOPPED)
    for slot in changes.expiring:
        output.settle_at(terms.contracts[slot].settlement, state, rules, slot, BY_EXPIRY)
    request_close(state, at_next_open, BY_STOPPED)
    return BarStep(
        run=context.run,
        strategy=context.strategy,
        contracts=terms.contracts,
        time=row.time,
        closes=row.closes,
        signals=signals.signals[:, 0],
        before=before,
        state=state,
        fills=output.fills,
        refusals=output.refusals,
        trades=output.trades,
        fractions=conversion.fractions,
        last=row.bars[:, CLOSE],
        cancelled=snapshot.cancelled,
        short_margins=_by_symbol(signals.market),
        entry_block=block,
    )


def _by_symbol(market: MarketRows) -> Array:
    """Return the short margins of a row, 0 for symbols without a bar; empty if there are none."""
    if not len(market.short_margins):
        return NO_MARGINS
    cells = market.cell[0]
    return np.where(cells >= 0, market.short_margins[cells], 0.0)


class _StepOutput:
    """The output of the kernel's calls in one step; each call overwrites the buffers."""

    def __init__(self, symbols: int) -> None:
        self.buffers = SimulationOutput(
            np.empty(2 * symbols, TRADE),
            np.empty(1),
            np.empty(3 * symbols, FILL),
            np.empty(3 * symbols, REFUSAL),
        )
        self.trades, self.fills, self.refusals = _NO_TRADES, NO_FILLS, NO_REFUSALS

    def append(self, trades: int, fills: int, refusals: int) -> None:
        """Copy these numbers of records from the buffers; mostly there are none."""
        if trades:
            self.trades = _concatenated(self.trades, self.buffers.trades[:trades])
        if fills:
            self.fills = _concatenated(self.fills, self.buffers.fills[:fills])
        if refusals:
            self.refusals = _concatenated(self.refusals, self.buffers.refusals[:refusals])

    def settle(self, state: State, rules: Rules, slots: Iterable[int], reason: int) -> None:
        """Close the positions of these slots at their last close."""
        for slot in slots:
            self.settle_at(LAST_CLOSE, state, rules, slot, reason)

    def settle_at(
        self, settlement: Settlement, state: State, rules: Rules, slot: int, reason: int
    ) -> None:
        n = kernel.settle(state, rules, self.buffers, slot, reason, settlement)
        self.append(n, n, 0)


def _concatenated(before: Array, new: Array) -> Array:
    return np.concatenate([before, new]) if len(before) else new.copy()


def _entry_block(snapshot: RunSnapshot, *, stale: bool) -> EntryBlock | None:
    """Return the reason why the run may not enter in this row, or None."""
    if snapshot.ended_at:
        return EntryBlock.ERROR if snapshot.status == AlgorithmStatus.ERROR else EntryBlock.STOPPED
    if snapshot.kill_switch_since:
        return EntryBlock.KILL_SWITCH
    if snapshot.status != AlgorithmStatus.ACTIVE:
        return EntryBlock.PAUSED
    return EntryBlock.STALE_DATA if stale else None


def _engine_code(block: EntryBlock | None) -> int | None:
    """Return the engine's code; it has two: a decision from outside, and stale data."""
    if block is None:
        return None
    return STALE_DATA if block is EntryBlock.STALE_DATA else KILL_SWITCH


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


# ------------------------------------------------------------------------------- splits and bonuses
# A backtest reads all prices adjusted to one day, so it has no splits. A paper run trades each
# day's prices as they are, so its positions, levels and orders are converted before the first row
# of the day when a split or bonus takes effect.


class Conversion(NamedTuple):
    """The settled fractions.

    For symbols in `too_few` less than one share would be left: they are closed instead of
    converted.
    """

    fractions: Sequence[FractionSettlement]
    too_few: Sequence[int]


def convert(
    state: State,
    context: RunContext,
    ratios: Mapping[int, Fraction],
    row: BarSnapshot,
    contracts: Array,
) -> Conversion:
    """Turn each share of a symbol into `ratio` shares at prices divided by it.

    A remaining fraction is settled at the open of the row, or at the last close for a symbol
    without a bar in it, for longs and shorts alike. Stop, target and the price of a pending order
    are rounded to the tick again (engine rules 3 and 12). `contracts` are CONTRACT records.
    """
    fractions, too_few = [], []
    for symbol, ratio in ratios.items():
        position, order = state.positions[symbol], state.orders[symbol, 0]
        held = float(position["quantity"])
        if position["side"] and held * ratio < 1:
            too_few.append(symbol)
            _mark_at_open(position, row, symbol, ratio)
            continue
        for name in _POSITION_PRICES:
            position[name] /= float(ratio)
        for name in _ORDER_PRICES:
            order[name] /= float(ratio)
        _round_levels(position, order, context.plan, float(contracts[symbol]["tick"]))
        if position["side"]:
            price = float(row.bars[symbol, OPEN]) if row.has(symbol) else float(position["close"])
            exact = Fraction(held) * ratio
            whole = floor(exact)
            position["quantity"] = whole
            if whole != exact:
                locked = float(position["locked"])
                position["locked"] = locked * float(whole / exact)
                exposure = float(position["side"] * position["contract"]["multiplier"])
                gross = exposure * float(exact - whole) * (price - float(position["average"]))
                state.account["cash"] += gross + locked - float(position["locked"])
                change = rupees(float(position["locked"])) - rupees(locked)
                code = context.strategy.basicInfo.symbols[symbol]
                fractions.append(FractionSettlement(code, change, rupees(gross)))
    return Conversion(fractions, too_few)


def _mark_at_open(position: Any, row: BarSnapshot, symbol: int, ratio: Fraction) -> None:
    """Close the position at the open of the row, in its old shares."""
    if row.has(symbol):
        position["close"] = float(row.bars[symbol, OPEN]) * float(ratio)
        position["time"], position["day"] = row.time, row.day


def _round_levels(position: Any, order: Any, plan: Plan, tick: float) -> None:
    """Round as when the levels were set: stops and targets away from the entry, a limit in the
    run's favour, a stop order away.
    """
    long = position["side"] > 0
    position["stop"] = (tick_down if long else tick_up)(position["stop"], tick)
    position["target"] = (tick_up if long else tick_down)(position["target"], tick)
    up = bool(order["pending"] & ENTER_LONG) != (plan.order_by == AT_LIMIT)
    order["price"] = (tick_up if up else tick_down)(order["price"], tick)
