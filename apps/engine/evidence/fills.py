"""The dependence of a result on the simulation's assumptions about fills.

A bar has only four prices, so the order in which prices reached two levels inside it is unknown.
The rules take the stop before the target, an entry inside a bar before its stop, and the target in
the bar of such an entry only if the bar closes beyond it (3 and 12). Each such bar is examined by
the rule, by its opposite, and by finer candles, trade by trade: quantities and other trades stay.
If a position was stopped in the bar that filled its order inside, by the opposite it leaves at the
bar's close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import TIMEFRAMES, Candles, ist_day
from apps.engine.evidence.figures import FillsFigures, NetProfitByOrder, UndecidedBars
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import (
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
    percent_text,
    rounded_figure,
)
from apps.engine.evidence.traded_fills import (
    FROM_DEMAT,
    charges_of_days,
    positions_of,
    traded_fills_of,
)
from apps.engine.kernel import prices
from apps.engine.kernel.codes import (
    AT_LIMIT,
    AT_MARKET,
    AT_STOP,
    BY_STEP,
    BY_STOP,
    BY_TARGET,
    BY_TRAIL,
    OPEN,
    STOP,
    STOP_LEVEL,
    TARGET,
    TARGET_LEVEL,
)
from apps.engine.kernel.records import RANGES, Array, MarketRows, Plan
from apps.engine.lazy import lazy
from apps.engine.results.fill_quality import (
    LATE_BARS,
    fill_quality_of,
    is_late,
)
from apps.engine.results.trade_bars import Indices, SymbolTrades
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import Contract, plan_of
from apps.engine.units import Unit, rounded, rupees_text

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

FILLS: Final = "fills"
STOP_AND_TARGET, ENTRY_AND_STOP, ENTRY_AND_TARGET = KINDS = (
    "stopAndTarget",
    "entryAndStop",
    "entryAndTarget",
)
_NOT_LOOKED_AT: Final = (
    "Knock-on effects: quantities and all other trades stay the same.",
    "Trailing stops within a candle: they move when it closes (rule 5).",
    "The queue at a limit price: an order that prices reach fills in full.",
)
_stop_distances = np.vectorize(prices.stop_distance, otypes=[np.float64], excluded={2})
_nearer_distances = np.vectorize(prices.nearer_distance, otypes=[np.float64])


class UndecidedBar(NamedTuple):
    """A bar of a trade in which prices reached two levels.

    `change` is the difference that the opposite of the rule makes to the net profit. Prices are NaN
    if missing: `stop` and `target` are those in force in the bar, `order` that of an entry filled
    inside it, from below if `up`.
    """

    kind: str
    symbol: int
    start: int
    side: float
    stop: float
    target: float
    order: float
    up: bool
    order_by: int
    change: float


def opposite_is_true(bars: Candles, p: UndecidedBar) -> bool | None:
    """Return whether finer candles within the bar prove the opposite of the rule; None if they
    leave it open.
    """
    worst, best = (bars.low, bars.high) if p.side > 0 else (bars.high, bars.low)
    stops, targets = (worst - p.stop) * p.side <= 0, (best - p.target) * p.side >= 0
    first = 0
    if not isnan(p.order):
        reached = bars.high >= p.order if p.up else bars.low <= p.order
        if not reached.any():
            return None
        first = int(np.argmax(reached))
        opened, close = float(bars.open[first]), float(bars.close[first])
        if opened < p.order if p.up else opened > p.order:
            # A level on the far side of the order was reached after it, the other one perhaps not.
            if p.order_by == AT_LIMIT and targets[first] and (close - p.target) * p.side < 0:
                return None
            if p.order_by == AT_STOP and stops[first] and (close - p.stop) * p.side > 0:
                return None
    hits = np.flatnonzero(stops[first:] | targets[first:]) + first
    if not len(hits):
        return {STOP_AND_TARGET: None, ENTRY_AND_STOP: True, ENTRY_AND_TARGET: False}[p.kind]
    hit = int(hits[0])
    if stops[hit] and targets[hit]:
        opened = float(bars.open[hit])
        if (opened - p.stop) * p.side <= 0:
            return False
        return True if (opened - p.target) * p.side >= 0 else None
    return bool(targets[hit])


@dataclass(frozen=True, eq=False)
class SymbolFills:
    """The trades of one symbol with the levels for their bars.

    `in_parts` marks trades of several entries or exits, whose levels are not examined.
    """

    trades: SymbolTrades
    plan: Plan
    contract: Contract
    ranges: Floats  # f8[bars, RANGES], or f8[0, RANGES]
    at_close: Floats  # f8[bars, LEVELS], or f8[0, LEVELS]
    exits: Array  # their TRADED_FILL records
    entries: NDArray[np.int64]  # how many fills each has
    steps: NDArray[np.int64]  # how many parts of each left before the last

    @lazy
    def in_parts(self) -> Truths:
        in_parts: Truths = (self.entries > 1) | (self.steps > 0)
        return in_parts

    @lazy
    def side(self) -> Floats:
        return self.trades.trades["side"].astype(np.float64)

    @lazy
    def inside(self) -> Truths:
        """Return the trades that left inside a bar, or at its close, and not at its open."""
        inside: Truths = self.trades.exit == self.trades.entry + self.trades.trades["bars"] - 1
        return inside

    @lazy
    def is_stop(self) -> Truths:
        return np.isin(self.trades.trades["reason"], (BY_STOP, BY_TRAIL))

    @lazy
    def is_target(self) -> Truths:
        is_target: Truths = self.trades.trades["reason"] == BY_TARGET
        return is_target

    @lazy
    def up(self) -> Truths:
        up: Truths = (self.side > 0) != (self.plan.order_by == AT_LIMIT)
        return up

    @lazy
    def orders(self) -> Floats:
        """Return the price of each entry's order; NaN for market orders (rule 12)."""
        signal = self.trades.entry - 1
        if self.plan.order_by == AT_MARKET:
            return np.full(len(signal), nan)
        close = self.trades.candles.close[signal]
        above, below = (prices.offset_price(close, up, self.plan) for up in (True, False))
        return self._rounded(np.where(self.up, above, below), self.up, signal)

    @lazy
    def filled_inside(self) -> Truths:
        opened = self.trades.candles.open[self.trades.entry]
        return np.where(self.up, opened < self.orders, opened > self.orders)

    @lazy
    def levels(self) -> tuple[Floats, Floats]:
        """Return the stop, before it trailed, and the target of each trade; NaN if missing (rule
        3).
        """
        price = np.ascontiguousarray(self.trades.trades["entry_price"])
        signal = self.trades.entry - 1
        ranges = self.ranges[signal] if len(self.ranges) else np.zeros((len(price), RANGES))
        distance = self.stop_distance
        reach = prices.target_distance(price, distance, ranges[:, TARGET], self.plan)
        stop = self._rounded(price - self.side * distance, self.side < 0, self.trades.entry)
        target = self._rounded(price + self.side * reach, self.side > 0, self.trades.entry)
        target = np.where(reach > 0, target, nan)
        if self.plan.targets_at_level:
            target = self._at_level(TARGET_LEVEL, self.side > 0)
        return np.where(distance > 0, stop, nan), target

    @lazy
    def stop_distance(self) -> Floats:
        """Return the distance of each trade's entry to its stop; 0 without one (rule 3)."""
        price = np.ascontiguousarray(self.trades.trades["entry_price"])
        if not len(price):
            return np.zeros(0)
        signal = self.trades.entry - 1
        ranges = self.ranges[signal] if len(self.ranges) else np.zeros((len(price), RANGES))
        distance: Floats = _stop_distances(price, ranges[:, STOP], self.plan)
        if self.plan.stops_at_level:
            to_level = (price - self._at_level(STOP_LEVEL, self.side < 0)) * self.side
            distance = _nearer_distances(distance, to_level)
        return distance

    def _at_level(self, column: int, up: Truths) -> Floats:
        """Return a level of each trade's side, as read at its signal."""
        own = column + (self.side < 0).astype(int)
        return self._rounded(self.at_close[self.trades.entry - 1, own], up, self.trades.entry)

    @lazy
    def first_step(self) -> tuple[Floats, Floats]:
        """Return the level of the first step of each trade, NaN without one before its target, and
        the share of the quantity that it closes (rule 3).
        """
        trades, plan = self.trades.trades, self.plan
        price = np.ascontiguousarray(trades["entry_price"])
        if not plan.steps or not len(price):
            return np.full(len(price), nan), np.zeros(len(price))
        distance = self.stop_distance
        reach = np.asarray(prices.step_distance(price, distance, 0, plan))
        level = self._rounded(price + self.side * reach, self.side > 0, self.trades.entry)
        lots = trades["quantity"] / self.contract.lot
        share = np.floor(lots * plan.step_percent[0] / 100 + 1e-9) / lots
        beyond = (level - self.levels[1]) * self.side >= 0
        return np.where(beyond | (share == 0), nan, level), share

    def _rounded(self, price: Floats, up: Truths, bars: Indices) -> Floats:
        ticks = self.contract.ticks(ist_day(self.trades.candles.time[bars]))
        above: Floats = prices.tick_up(price, ticks)
        below: Floats = prices.tick_down(price, ticks)
        return np.where(up, above, below)

    def undecided(self, evidence: EvidenceInput) -> list[UndecidedBar]:
        """Return the bars of trades with an unknown order of prices."""
        candles, entry, leave = self.trades.candles, self.trades.entry, self.trades.exit
        best = np.where(
            self.side > 0,
            [candles.high[entry], candles.high[leave]],
            [candles.low[entry], candles.low[leave]],
        )
        target, known = self.levels[1], ~self.in_parts
        at_entry, at_exit = ((reach - target) * self.side >= 0 for reach in best)
        inside_by_stop = self.is_stop & self.inside & known
        in_entry = leave == entry
        stop = self.trades.trades["exit_price"] / (1 - self.side * self.plan.slippage)
        close = candles.close[leave]
        leaves_inside = in_entry & self.inside & (self.is_stop | self.is_target)
        of_target = known & self.filled_inside & at_entry & ~leaves_inside
        step, share = self.first_step
        at_step = inside_by_stop & ((best[1] - step) * self.side >= 0)
        both = inside_by_stop & (at_exit | at_step) & ~of_target
        of_stop = (
            inside_by_stop
            & ~both
            & in_entry
            & self.filled_inside
            & (self.plan.order_by == AT_STOP)
            & ((close - stop) * self.side > 0)
        )
        bar = np.where(of_target, entry, leave)
        price = np.where(of_stop, close * (1 - self.side * self.plan.slippage), target)
        left = np.where(at_exit, target, self.trades.trades["exit_price"])
        price = np.where(both & at_step, share * step + (1 - share) * left, price)
        reached = np.where(both & at_step, step, target)
        rows = np.flatnonzero(of_target | both | of_stop)
        changes = self._changes(evidence, rows, price, bar)
        kinds = np.select([of_target, both], [ENTRY_AND_TARGET, STOP_AND_TARGET], ENTRY_AND_STOP)
        filled_inside = self.filled_inside & (bar == entry)
        return [
            UndecidedBar(
                kind=str(kinds[row]),
                symbol=self.trades.symbol,
                start=int(candles.time[bar[row]]),
                side=float(self.side[row]),
                stop=nan if of_target[row] else float(stop[row]),
                target=nan if of_stop[row] else float(reached[row]),
                order=float(self.orders[row]) if filled_inside[row] else nan,
                up=bool(self.up[row]),
                order_by=self.plan.order_by,
                change=change,
            )
            for row, change in zip(rows.tolist(), changes.tolist(), strict=True)
        ]

    def _changes(
        self, evidence: EvidenceInput, rows: Indices, price: Floats, bar: Indices
    ) -> Floats:
        """Return the gains of these trades from leaving at other prices in these bars."""
        trades, exits = self.trades.trades[rows], self.exits[rows].copy()
        days = ist_day(self.trades.candles.time[bar[rows]])
        entry_days = ist_day(np.ascontiguousarray(trades["entry_time"]))
        exits["value"] *= price[rows] / trades["exit_price"]
        exits["special"] = np.where(~exits["bought"] & (entry_days < days), FROM_DEMAT, 0)
        exits["day"] = days
        charges = charges_of_days(exits, evidence.inputs.charges, evidence.data.contracts)
        moved = self.side[rows] * (price[rows] - trades["exit_price"])
        gain = moved * trades["value"] / trades["entry_price"]
        changes: Floats = gain - charges.sum(axis=1) + exits["paid"].sum(axis=1)
        return changes

    @lazy
    def gaps(self) -> tuple[int, float, int, int]:
        """Return the number of stops left at an open beyond them, the rupees lost by that (without
        trailed stops), the number of such targets, and the number of orders filled beyond their
        price.
        """
        trades, candles = self.trades.trades, self.trades.candles
        at_open = ~self.inside
        by_stop = at_open & self.is_stop
        first = by_stop & (trades["reason"] == BY_STOP) & ~self.in_parts
        beyond = (self.levels[0] - candles.open[self.trades.exit]) * self.side
        lost = (beyond * trades["value"] / trades["entry_price"])[first]
        opened = candles.open[self.trades.entry]
        entries = np.where(self.up, opened > self.orders, opened < self.orders)
        targets = at_open & (trades["reason"] == BY_TARGET)
        return int(by_stop.sum()), float(lost.sum()), int(targets.sum()), int(entries.sum())


def symbol_fills(evidence: EvidenceInput) -> list[SymbolFills]:
    """Return the trades of each symbol with trades, and the basis of their levels."""
    strategy, data, fills = evidence.inputs.strategy, evidence.data, evidence.fills
    plan = plan_of(strategy)
    market, _ = data.with_signals(required_inputs(strategy), plan)
    traded = traded_fills_of(fills, data.contracts)
    result = list[SymbolFills]()
    for trades in evidence.result.by_symbol:
        own = np.flatnonzero(fills["symbol"] == trades.symbol)
        reason, position = fills["reason"][own], positions_of(fills[own])
        entries, steps = (
            np.bincount(position[reason == kind], minlength=len(trades.rows))
            for kind in (OPEN, BY_STEP)
        )
        is_last = ~np.isin(reason, (OPEN, BY_STEP))
        result.append(
            SymbolFills(
                trades,
                plan,
                data.contracts[trades.symbol],
                _own(market.atr, market, trades),
                _own(market.levels, market, trades),
                traded[own[is_last]],
                entries,
                steps,
            )
        )
    return result


def _own(columns: Floats, market: MarketRows, trades: SymbolTrades) -> Floats:
    """Return the rows of a symbol's bars, if there are any."""
    if not len(columns):
        return columns
    end = int(market.cells_of(trades.symbol).max()) + 1
    return columns[end - len(trades.candles) : end]


class NetByOrder(NamedTuple):
    """The net profit by the order of prices in undecided bars; `left` is the number that finer
    candles leave undecided.
    """

    worst: float
    rule: float
    best: float
    resolved: float
    left: int


def net_by_order(evidence: EvidenceInput, undecided: Sequence[UndecidedBar]) -> NetByOrder:
    """Return the net profit by the opposite of the rule, where it adds and where it takes."""
    net, left, resolved = evidence.result.net, 0, 0.0
    length = TIMEFRAMES[evidence.inputs.strategy.basicInfo.timeframe]
    for symbol in sorted({bar.symbol for bar in undecided}):
        own = [bar for bar in undecided if bar.symbol == symbol]
        starts = [bar.start for bar in own]
        finer = evidence.finer(evidence.data.symbols[symbol], min(starts), max(starts) + length)
        for bar in own:
            within = finer.between(bar.start, bar.start + length) if finer else None
            is_opposite = opposite_is_true(within, bar) if within else None
            left += is_opposite is None
            resolved += bar.change if is_opposite else 0.0
    changes = np.array([bar.change for bar in undecided])
    worst, best = (float(limit(changes, 0).sum()) for limit in (np.minimum, np.maximum))
    return NetByOrder(net + worst, net, net + best, net + resolved, left)


def fills_section(evidence: EvidenceInput) -> EvidenceSection[FillsFigures]:
    """Return the result by the other order of prices within bars, and the relation of its fills to
    gaps and delays.
    """
    inputs = evidence.inputs
    symbols = [symbol for part in evidence.parts for symbol in symbol_fills(part)]
    undecided = [bar for symbol in symbols for bar in symbol.undecided(evidence)]
    net = net_by_order(evidence, undecided)
    calendars = [history.sessions for history in inputs.histories]
    delays = fill_quality_of(
        evidence.result.by_symbol, calendars, inputs.strategy.basicInfo.timeframe
    )
    stops, lost, targets, entries = np.sum(
        [symbol.gaps for symbol in symbols] or [(0, 0.0, 0, 0)], axis=0
    ).tolist()
    in_parts = int(sum(symbol.in_parts.sum() for symbol in symbols))
    decided = 1 - net.left / len(undecided) if undecided else None
    return EvidenceSection(
        FILLS,
        FillsFigures(
            undecidedBars=UndecidedBars(
                stopAndTarget=sum(bar.kind == "stopAndTarget" for bar in undecided),
                entryAndStop=sum(bar.kind == "entryAndStop" for bar in undecided),
                entryAndTarget=sum(bar.kind == "entryAndTarget" for bar in undecided),
            ),
            shareDecidedByFinerCandles=rounded_figure(decided, Unit.RATIO),
            netProfit=NetProfitByOrder(
                worst=rounded(net.worst, Unit.RUPEES),
                rule=rounded(net.rule, Unit.RUPEES),
                best=rounded(net.best, Unit.RUPEES),
                resolved=rounded(net.resolved, Unit.RUPEES),
            ),
            gaps={
                "stops": int(stops),
                "lostBeyondStops": rounded(lost, Unit.RUPEES),
                "targets": int(targets),
                "entries": int(entries),
            },
            late={
                "afterMoreBarsThan": LATE_BARS,
                "entries": int(is_late(delays.entry_delay_bars).sum()),
                "exits": int(is_late(delays.exit_delay_bars).sum()),
            },
        ),
        _sentence(len(undecided), net, decided) + evidence.simulation_note,
        (
            *_NOT_LOOKED_AT,
            *(
                [f"Stops and targets of {in_parts:,} trades with several entries or exits."]
                if in_parts
                else []
            ),
        ),
        check_of(evidence, net),
    )


def check_of(evidence: EvidenceInput, net: NetByOrder) -> EvidenceCheck:
    """Return the status of the check."""
    if not len(evidence.trades):
        status, reason = CheckStatus.UNKNOWN, "No trades, so no fills to check."
    elif net.rule <= 0:
        status, reason = CheckStatus.UNKNOWN, "No profit that fills could take away."
    elif not net.left and net.resolved <= 0:
        status = CheckStatus.FAIL
        reason = "Finer candles show that prices took the worse order: the profit is gone."
    elif net.left and net.worst <= 0:
        status = CheckStatus.DOUBT
        reason = "The profit depends on the order of prices within candles, which is unknown."
    else:
        status = CheckStatus.PASS
        reason = "Makes money whichever order prices took within candles."
    return EvidenceCheck(FILLS, status, reason)


def _sentence(undecided: int, net: NetByOrder, decided: float | None) -> str:
    if decided is None:
        return "Stop and target never fell into the same candle."
    return (
        f"{undecided:,} candles hit two levels in an unknown order: the profit is between"
        f" {rupees_text(net.worst)} and {rupees_text(net.best)}. Finer candles settle"
        f" {percent_text(decided)} of them, which makes it {rupees_text(net.resolved)}."
    )
