"""The levels of a position at a bar, only from its entry, and whether the order for one is
reached: rules 3, 5 and 12 over columns.

The kernel keeps levels only while it steps; no stored result has them. Both use the formulas of
`kernel/prices.py`, and `tests/engine/test_trade_levels.py` checks that they agree to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple, NotRequired, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.candles.candles import Candles, ist_day
from apps.engine.kernel import prices
from apps.engine.kernel.codes import (
    AT_LIMIT,
    AT_MARKET,
    LOCKED_DOWN,
    LOCKED_UP,
    STOP,
    STOP_LEVEL,
    TARGET,
    TARGET_LEVEL,
    TRAIL,
    TRAIL_LEVEL,
)
from apps.engine.kernel.records import NO_LEVELS, RANGES, Plan
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import atr_columns, level_columns
from apps.engine.simulation.plan import Contract, plan_of
from apps.engine.simulation.timeline import SymbolSeries

Floats = NDArray[np.float64]

NONE = math.nan
SIDES_BY_SIGN: Final[dict[Side, float]] = {"long": 1.0, "short": -1.0}


class HeldPosition(NamedTuple):
    """A position without adds: its plan, contract and candles; long (1) or short (-1); the index of
    its entry bar and its price; the average true ranges of its signal, f8[RANGES], 0 for unused
    ones; the bars in which nobody trades against its exit (rule 22); what operands say at the
    signal and at each bar from the entry on, f8[bars, LEVELS], where a level is read.
    """

    plan: Plan
    contract: Contract
    candles: Candles
    side: float
    entry: int
    price: float
    ranges: Floats
    locked: NDArray[np.intp] = np.empty(0, np.intp)
    levels: Floats = NO_LEVELS

    def level(self, column: int) -> Floats:
        """Return a level of its side at the signal and at each bar from the entry on."""
        level: Floats = self.levels[:, column + (self.side < 0)]
        return level


_Level: TypeAlias = Annotated[float | None, Field(description="Rupees; null without one.")]


class StepLevel(TypedDict):
    """The level at which a part of a position leaves."""

    price: Annotated[float, Field(description="Rupees.")]
    taken: Annotated[bool, Field(description="Whether an earlier candle has reached it.")]


class ExitLevels(TypedDict):
    """The levels of a position for the prices of a candle."""

    stopLoss: _Level
    trailingStop: _Level
    takeProfit: _Level
    steps: NotRequired[
        Annotated[
            list[StepLevel],
            Field(description="In their order. Only for an algorithm with exitConditions.steps."),
        ]
    ]


class Levels(NamedTuple):
    """Levels in rupees; NaN if missing. `stop` is where a step has moved it. `trailed` replaces it
    once it is tighter.
    """

    stop: float
    trailed: float
    target: float
    steps: Sequence[StepLevel] = ()

    def to_wire(self) -> ExitLevels:
        stop, trailed, target = (None if math.isnan(level) else level for level in self[:3])
        levels = ExitLevels(stopLoss=stop, trailingStop=trailed, takeProfit=target)
        if self.steps:
            levels["steps"] = list(self.steps)
        return levels


class Entry(NamedTuple):
    """The entry of a position: its side, the start of its bar, and its price."""

    side: Side
    time: int
    price: float


def levels_of(
    entered: Entry, strategy: Strategy, contract: Contract, symbol_series: SymbolSeries, bar: int
) -> Levels | None:
    """Return the levels of a position at a bar of `symbol_series.used` in its life.

    None if the position may have adds, because no result records their times, and without the
    candle of its entry.
    """
    plan, used = plan_of(strategy), symbol_series.used
    entry = int(np.searchsorted(used.time, entered.time))
    is_known = 0 < entry < len(used) and used.time[entry] == entered.time
    if plan.max_entries > 1 or not is_known:
        return None
    known_ranges = atr_columns(required_inputs(strategy), symbol_series.bars, entry - 1, entry)
    ranges = np.nan_to_num(known_ranges[0]) if len(known_ranges) else np.zeros(RANGES)
    side, price = SIDES_BY_SIGN[entered.side], entered.price
    lock = LOCKED_DOWN if side > 0 else LOCKED_UP
    flags, before = symbol_series.flags, len(used) - len(symbol_series.candles)
    locked = before + np.flatnonzero(flags & lock)
    levels = level_columns(required_inputs(strategy), symbol_series.bars, entry - 1, bar)
    return levels_at(
        HeldPosition(plan, contract, used, side, entry, price, ranges, locked, levels), bar
    )


def levels_at(p: HeldPosition, bar: int) -> Levels:
    """Return the levels for the prices of a bar, of a position held to the end of every bar from
    its entry to the previous one.
    """
    plan, ticks = p.plan, _ticks(p, p.entry, p.entry + 1)
    stop = target = NONE
    distance = prices.stop_distance(p.price, float(p.ranges[STOP]), plan)
    at_stop, at_target = _resting(p)
    distance = prices.nearer_distance(distance, (p.price - at_stop) * p.side)
    if distance > 0:
        stop = float(_rounded(p.price - p.side * distance, -p.side, ticks)[0])
    reach = prices.target_distance(p.price, distance, float(p.ranges[TARGET]), plan)
    if reach > 0:
        target = float(_rounded(p.price + p.side * reach, p.side, ticks)[0])
    if plan.targets_at_level:
        target = at_target
    steps = _step_levels(p, bar, distance, target)
    if any(step["taken"] and plan.step_moves_stop[number] for number, step in enumerate(steps)):
        moved = float(_rounded(p.price, -p.side, ticks)[0])
        stop = stop if (stop - moved) * p.side > 0 else moved
    trails = plan.trail_rate > 0 or plan.trail_points > 0 or plan.trail_atr > 0
    trails = trails or plan.trails_at_level
    trailed = _trailed(p, bar) if trails else NONE
    return Levels(stop, NONE if (stop - trailed) * p.side >= 0 else trailed, target, steps)


def _resting(p: HeldPosition) -> tuple[float, float]:
    """Return the stop and the target that rest at levels read at the signal; NaN for others."""
    ticks, stop, target = _ticks(p, p.entry, p.entry + 1), NONE, NONE
    if p.plan.stops_at_level:
        stop = float(_rounded(float(p.level(STOP_LEVEL)[0]), -p.side, ticks)[0])
    if p.plan.targets_at_level:
        target = float(_rounded(float(p.level(TARGET_LEVEL)[0]), p.side, ticks)[0])
    return stop, target


def sides_beyond_levels(
    strategy: Strategy, contract: Contract, symbol_series: SymbolSeries, signal: int
) -> frozenset[Side]:
    """Return the sides whose fill in the bar after a signal lies at or beyond the level of their
    stop or target (rule 3).
    """
    plan, used, entry = plan_of(strategy), symbol_series.used, signal + 1
    if not (plan.stops_at_level or plan.targets_at_level) or entry >= len(used):
        return frozenset()
    levels = level_columns(required_inputs(strategy), symbol_series.bars, signal, entry)
    beyond = set[Side]()
    for side, sign in SIDES_BY_SIGN.items():
        p = HeldPosition(plan, contract, used, sign, entry, NONE, np.zeros(RANGES), levels=levels)
        price = _order(p)[1] if _filled_inside(p) else float(used.open[entry])
        if plan.order_by != AT_LIMIT:
            price *= 1 + sign * plan.slippage
        stop, target = _resting(p)
        if (price - stop) * sign <= 0 or (target - price) * sign <= 0:
            beyond.add(side)
    return frozenset(beyond)


def _step_levels(
    p: HeldPosition, bar: int, stop_distance: float, target: float
) -> Sequence[StepLevel]:
    """Return the levels of the steps. One at or beyond the target is never taken (rule 3)."""
    plan, ticks = p.plan, _ticks(p, p.entry, p.entry + 1)
    best = (p.candles.high if p.side > 0 else p.candles.low)[p.entry : bar].copy()
    if len(best) and _filled_inside(p):
        best[0] = p.candles.close[p.entry]
    best[p.locked[(p.locked >= p.entry) & (p.locked < bar)] - p.entry] = NONE
    steps, farthest, is_taken = list[StepLevel](), -math.inf, True
    for number in range(plan.steps):
        reach = prices.step_distance(p.price, stop_distance, number, plan)
        level = float(_rounded(p.price + p.side * reach, p.side, ticks)[0])
        farthest = max(farthest, level * p.side)
        is_first = not farthest >= target * p.side
        is_taken = is_taken and is_first and bool((best * p.side >= farthest).any())
        steps.append(StepLevel(price=farthest * p.side, taken=is_taken))
    return steps


def _trailed(p: HeldPosition, bar: int) -> float:
    """Return the trailing stop set by the bars before this one; NaN before it starts."""
    plan = p.plan
    best = (p.candles.high if p.side > 0 else p.candles.low)[p.entry : bar].copy()
    if len(best) and _filled_inside(p):
        best[0] = p.price
    extreme = np.maximum.accumulate(np.append(p.price, best) * p.side)[1:] * p.side
    armed = prices.is_armed(extreme, p.price, p.side, plan)
    distance = prices.trail_distance(extreme, float(p.ranges[TRAIL]), plan)
    levels = extreme - p.side * distance
    if plan.trails_at_level:
        levels = p.level(TRAIL_LEVEL)[1:]
    levels = _rounded(levels, -p.side, _ticks(p, p.entry, bar))[armed & ~np.isnan(levels)]
    return float((levels * p.side).max() * p.side) if len(levels) else NONE


def orders_reached(
    strategy: Strategy, contract: Contract, candles: Candles, signal: int
) -> frozenset[Side]:
    """Return the sides with an order that the bar after a signal reaches, if there is such a bar
    (rule 12).

    Market orders reach both.
    """
    plan, entry = plan_of(strategy), signal + 1
    if plan.order_by == AT_MARKET or entry >= len(candles):
        return frozenset(SIDES_BY_SIGN)
    entries = {
        side: HeldPosition(plan, contract, candles, sign, entry, NONE, np.zeros(RANGES))
        for side, sign in SIDES_BY_SIGN.items()
    }
    return frozenset(side for side, order in entries.items() if _is_reached(order))


def _is_reached(p: HeldPosition) -> bool:
    up, ordered = _order(p)
    high, low = float(p.candles.high[p.entry]), float(p.candles.low[p.entry])
    return high >= ordered if up else low <= ordered


def _filled_inside(p: HeldPosition) -> bool:
    """Return whether a limit or stop order was reached after the open of its bar (rule 12)."""
    if p.plan.order_by == AT_MARKET:
        return False
    up, ordered = _order(p)
    opened = float(p.candles.open[p.entry])
    return opened < ordered if up else opened > ordered


def _order(p: HeldPosition) -> tuple[bool, float]:
    """Return whether prices reach the entry order from below, and its price (rule 12)."""
    plan, signal = p.plan, p.entry - 1
    up = (p.side > 0) != (plan.order_by == AT_LIMIT)
    price = prices.offset_price(float(p.candles.close[signal]), up, plan)
    return up, float(_rounded(price, 1.0 if up else -1.0, _ticks(p, signal, p.entry))[0])


def _ticks(p: HeldPosition, first: int, last: int) -> Floats:
    """Return the tick of each bar's day."""
    return p.contract.ticks(ist_day(p.candles.time[first:last]))


def _rounded(price: Floats | float, way: float, ticks: Floats) -> Floats:
    """Return the price at the tick above (`way` 1) or below (-1)."""
    rounded: Floats = (prices.tick_up if way > 0 else prices.tick_down)(price, ticks)
    return rounded
