"""The step of a live run through one row: the simulation's own, with requests from outside.

Before it, splits and bonuses convert the positions, and the requests are applied; after it,
contracts that expire are settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from apps.engine.kernel import codes, kernel
from apps.engine.kernel.records import (
    FILL,
    FILLS_A_ROW,
    LAST_CLOSE,
    NO_FILLS,
    NO_REFUSALS,
    REFUSAL,
    TRADE,
    Array,
    Plan,
    Rules,
    Settlement,
    SimulationOutput,
    State,
    block_entries,
    instrument_ids,
    request_close,
    rules_of,
)
from apps.engine.language.strategy import Strategy
from apps.engine.live.conversion import SettledFraction, convert
from apps.engine.live.rows import BarSnapshot, ContractTerms
from apps.engine.live.signals import SignalInput
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, ranges_asked, squares_off

_NO_TRADES: Final = np.empty(0, TRADE)
BlockReason: TypeAlias = Literal["kill_switch", "stale_data"]
_BLOCKS: Final[Mapping[BlockReason, int]] = {
    "kill_switch": codes.KILL_SWITCH,
    "stale_data": codes.STALE_DATA,
}


class RowRequests(NamedTuple):
    """The requests to a run in one row. A slot is the index of a symbol.

    A share of a slot in `ratios` becomes this number of shares before the row. The contracts in
    `expiring` end with the row. Pending entries of `cancelled` symbols are dropped. `block` is the
    reason for blocked entries.
    """

    ratios: Mapping[int, Fraction] = {}
    expiring: Sequence[int] = ()
    close_at_open: Sequence[int] = ()
    close_at_next_open: Sequence[int] = ()
    cancelled: Iterable[str] = ()
    block: BlockReason | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LiveStep:
    """A run before and after a row, with its records in order of time."""

    before: State  # in the shares of the row's day
    state: State  # after the row; `pending` waits for the next bar
    fills: Array  # FILL records
    refusals: Array  # REFUSAL records
    trades: Array  # TRADE records
    fractions: Sequence[SettledFraction] = ()  # of shares, settled before the row


@dataclass(frozen=True, slots=True)
class LiveStrategy:
    """A strategy in its users' words and in the kernel's, for the steps of its runs."""

    strategy: Strategy
    plan: Plan

    @classmethod
    def of(cls, strategy: Strategy) -> LiveStrategy:
        return cls(strategy, plan_of(strategy))

    @property
    def lookback(self) -> int:
        """The number of bars before a row that its conditions may read."""
        return required_inputs(self.strategy).lookback

    @property
    def signal_settings(self) -> list[object]:
        """The settings that influence signals besides the conditions.

        Strategies with equal conditions and settings get the same signals.
        """
        strategy = self.strategy
        levels = [repr(level) for level in required_inputs(strategy).levels]
        asked = ranges_asked(self.plan).tolist()
        return [strategy.atr_periods, asked, squares_off(strategy), levels]

    def step(
        self,
        before: State,
        row: BarSnapshot,
        *,
        signals: SignalInput,
        terms: ContractTerms,
        requests: RowRequests,
    ) -> LiveStep:
        """Step a run through a row. Splits and bonuses convert `before` itself."""
        rules = self._rules(terms)
        conversion = convert(before, self.plan, requests.ratios, row, terms.units)
        state = _copy(before)
        output = _StepOutput(len(state.positions))
        output.settle(state, rules, conversion.too_few, codes.BY_STOPPED)
        symbols, reverses = self.strategy.basicInfo.symbols, self.strategy.exits_on_opposite_signal
        for symbol in requests.cancelled:
            state.drop_entry(symbols.index(symbol), closes_on_opposite=reverses)
        block_entries(state, _BLOCKS[requests.block] if requests.block else None)
        request_close(state, requests.close_at_open, codes.BY_STOPPED)
        counts = kernel.run(state, signals.market, signals.signals, rules, output.buffers, 0, 1)
        output.append(counts.trades, counts.fills, counts.refusals)
        if state.is_ruined:
            output.settle(state, rules, range(len(state.positions)), codes.BY_STOPPED)
        for slot in requests.expiring:
            output.settle_at(terms.contracts[slot].settlement, state, rules, slot, codes.BY_EXPIRY)
        request_close(state, requests.close_at_next_open, codes.BY_STOPPED)
        return output.step(before, state, conversion.fractions)

    def close_at_last(self, before: State, terms: ContractTerms, slots: Iterable[int]) -> LiveStep:
        """Close the positions of these slots at their last close, without a row."""
        state = _copy(before)
        output = _StepOutput(len(state.positions))
        output.settle(state, self._rules(terms), slots, codes.BY_STOPPED)
        return output.step(before, state, ())

    def _rules(self, terms: ContractTerms) -> Rules:
        instruments = instrument_ids(self.strategy.basicInfo.symbols)
        return rules_of(self.plan, instruments, terms.units, terms.rates)


def _copy(state: State) -> State:
    return State(*(array.copy() for array in state))


class _StepOutput:
    """The output of the kernel's calls in one step; each call overwrites the buffers."""

    def __init__(self, symbols: int) -> None:
        self.buffers = SimulationOutput(
            np.empty(2 * symbols, TRADE),
            np.empty(1),
            np.empty(FILLS_A_ROW * symbols, FILL),
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

    def step(self, before: State, state: State, fractions: Sequence[SettledFraction]) -> LiveStep:
        return LiveStep(before, state, self.fills, self.refusals, self.trades, fractions)


def _concatenated(before: Array, new: Array) -> Array:
    return np.concatenate([before, new]) if len(before) else new.copy()
