"""The numbers of the kernel from a strategy in its users' words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAMES, Candles, day_start, ist_day
from apps.engine.candles.sessions import Sessions
from apps.engine.errors import EngineError
from apps.engine.kernel import codes
from apps.engine.kernel.codes import (
    AFTER_SQUARE_OFF,
    BEFORE_DELIVERY,
    LAST_OF_SESSION,
    TICKS_PER_RUPEE,
)
from apps.engine.kernel.records import (
    CONTRACT,
    EXIT_STEPS,
    LAST_CLOSE,
    RATE,
    Array,
    Plan,
    Settlement,
    instrument_ids,
)
from apps.engine.language.exits import (
    AtrStop,
    AtrTarget,
    AtrTrail,
    LevelStop,
    LevelTarget,
    LevelTrail,
    PercentageStop,
    PercentageTarget,
    PercentageTrail,
    PointsStop,
    PointsTarget,
    PointsTrail,
    RiskRewardTarget,
    Step,
    StopLoss,
    TakeProfit,
    TrailingStop,
)
from apps.engine.language.fields import seconds_of_day
from apps.engine.language.ranking import RankingRows
from apps.engine.language.steps import (
    AtrDistance,
    FixedAmount,
    FixedQuantity,
    PercentageDistance,
    PercentageOfEquity,
    PointsDistance,
    PositionSizing,
    Pyramiding,
    RiskBased,
    VolatilityBased,
)
from apps.engine.language.strategy import BEFORE_THE_CLOSE, Strategy
from apps.engine.simulation.charges import Schedule

NEVER = 2**62
"""After every moment."""


class MissingCalendar(EngineError):
    """The strategy depends on a session that the calendar is not certain of."""

    def __init__(self, symbol: str, day: int, *, unknown: str, rule: str) -> None:
        date = str(np.datetime64(day, "D"))
        facts = unknown.format(symbol=symbol, date=date)
        super().__init__(f"The {facts} are not known, and this strategy {rule}.")
        self.symbol = symbol
        self.date = date


class InvalidContract(EngineError):
    """Terms that allow no trade or no stop."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The contract of a symbol; the defaults are for an unknown instrument.

    `lot` is the minimum number of units; a unit is worth price x `multiplier` rupees, of which
    `margin` (a fraction) is locked while it is held; prices move in steps of `tick` rupees, whole
    ten-thousandths; `segment` names its rows in a charges schedule. `later` are the next terms,
    each from a day (since 1970 in Asia/Kolkata) on, in order. `ends` is the close of its last
    session (epoch seconds), None without an end. A `delivered` contract is closed before that,
    others settle by `settlement`. A sold option locks `short_margin`, a fraction of its
    underlying's price, or of its `strike` if that is unknown. With `has_bands` prices have daily
    limits (rule 22). Raises InvalidContract.
    """

    lot: float = 1.0
    multiplier: float = 1.0
    margin: float = 1.0
    tick: float = 0.05
    segment: str = ""
    later: tuple[tuple[int, Contract], ...] = ()
    ends: int | None = None
    delivered: bool = False
    settlement: Settlement = LAST_CLOSE
    short_margin: float = 0.0
    strike: float = 0.0
    has_bands: bool = False

    NEVER: ClassVar = NEVER

    def __post_init__(self) -> None:
        for name in ("lot", "multiplier", "margin"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise InvalidContract(f"The {name} of a contract must be above 0, not {value}.")
        ticks = self.tick * TICKS_PER_RUPEE
        if not (ticks >= 0.5 and abs(ticks - round(ticks)) < 1e-6):
            raise InvalidContract(f"A tick is whole ten-thousandths of a rupee, not {self.tick}.")

    def on(self, day: int) -> Contract:
        """Return the terms of a day."""
        begun = [terms for first, terms in self.later if first <= day]
        return begun[-1] if begun else self

    def ticks(self, days: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the tick of each day, in ten-thousandths of a rupee."""
        ticks = np.full(len(days), self.tick)
        for first, terms in self.later:
            ticks[days >= first] = terms.tick
        return np.round(ticks * TICKS_PER_RUPEE)

    def short_margins(self, days: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the fraction of each day."""
        fractions = np.full(len(days), self.short_margin)
        for first, terms in self.later:
            fractions[days >= first] = terms.short_margin
        return fractions

    def until(self, end: int) -> Contract:
        """Return the contract as known before a moment: without an end that comes later."""
        return self if self.ends is None or self.ends <= end else replace(self, ends=None)


_ORDERS = {"market": codes.AT_MARKET, "limit": codes.AT_LIMIT, "stop": codes.AT_STOP}


def plan_of(strategy: Strategy) -> Plan:
    """Return the strategy as numbers."""
    exits, risk, sizing = strategy.exitConditions, strategy.riskParameters, strategy.positionSizing
    plan = Plan(
        order_by=_ORDERS[strategy.executionSettings.orderType],
        order_offset=strategy.executionSettings.limitOffset / 100,
        slippage=strategy.executionSettings.slippage / 100,
        max_entries=sizing.pyramiding.maxEntries if sizing.pyramiding.enabled else 1,
        max_positions=risk.maxOpenPositions,
        max_holding=exits.maxHoldingCandles or 0,
        max_position_value=risk.maxPositionSize,
        max_daily_loss=risk.maxDailyLoss,
        reverse=strategy.exits_on_opposite_signal,
        within_session=ends_with_session(strategy),
        squares_off=squares_off(strategy),
        max_volume_share=(strategy.executionSettings.maxVolumeShare or 0.0) / 100,
        max_entries_a_day=risk.maxEntriesPerDay or 0,
        max_entries_a_symbol=risk.maxEntriesPerSymbol or 0,
        cooldown=risk.cooldown.candles if risk.cooldown else 0,
        cools_after_loss=risk.cooldown is not None and risk.cooldown.after == "loss",
        max_daily_profit=inf if risk.maxDailyProfit is None else risk.maxDailyProfit,
    )
    plan = _with_adds(_with_size(plan, sizing), sizing.pyramiding)
    plan = _with_stop(plan, exits.stopLoss, risk.stopLoss)
    plan = _with_target(plan, exits.takeProfit, risk.takeProfit)
    plan = _with_steps(plan, exits.steps or ())
    return _with_trail(plan, exits.trailingStop)


def _with_size(plan: Plan, sizing: PositionSizing) -> Plan:
    match sizing:
        case FixedQuantity(quantity=quantity):
            return plan._replace(size_by=codes.BY_QUANTITY, size=float(quantity))
        case FixedAmount(amount=amount):
            return plan._replace(size_by=codes.BY_AMOUNT, size=amount)
        case PercentageOfEquity(percentage=float(percent)):
            return plan._replace(size_by=codes.BY_EQUITY, size=percent / 100)
        case PercentageOfEquity():
            return plan._replace(size_by=codes.BY_OPERAND, size=1.0)
        case RiskBased(riskPercentage=percent):
            return plan._replace(size_by=codes.BY_RISK, size=percent / 100)
        case VolatilityBased(riskPercentage=percent, atrMultiplier=multiple):
            by = codes.BY_VOLATILITY
            return plan._replace(size_by=by, size=percent / 100, size_atr=multiple)


def _with_adds(plan: Plan, adds: Pyramiding) -> Plan:
    if not adds.enabled or adds.distance is None:
        return plan
    plan = plan._replace(add_direction=1.0 if adds.distance.direction == "favour" else -1.0)
    match adds.distance:
        case PercentageDistance(percentage=percent):
            return plan._replace(add_rate=percent / 100)
        case PointsDistance(points=points):
            return plan._replace(add_points=points)
        case AtrDistance(atrMultiplier=multiple):
            return plan._replace(add_atr=multiple)


def _with_stop(plan: Plan, stop: StopLoss | None, percent: float | None) -> Plan:
    """Return the plan with both stops: the kernel takes the tighter at each fill (rule 3)."""
    plan = plan._replace(second_stop_rate=(percent or 0.0) / 100)
    match stop:
        case PercentageStop(percentage=rate):
            return plan._replace(stop_rate=rate / 100)
        case PointsStop(points=points):
            return plan._replace(stop_points=points)
        case AtrStop(atrMultiplier=multiple):
            return plan._replace(stop_atr=multiple)
        case LevelStop():
            return plan._replace(stops_at_level=True)
    return plan


def _with_target(plan: Plan, target: TakeProfit | None, percent: float | None) -> Plan:
    """Return the plan with the target of the exits, by default that of the risk parameters (rule
    3).
    """
    match target:
        case RiskRewardTarget(ratio=ratio):
            return plan._replace(target_ratio=ratio)
        case PercentageTarget(percentage=rate):
            return plan._replace(target_rate=rate / 100)
        case PointsTarget(points=points):
            return plan._replace(target_points=points)
        case AtrTarget(atrMultiplier=multiple):
            return plan._replace(target_atr=multiple)
        case LevelTarget():
            return plan._replace(targets_at_level=True)
    return plan._replace(target_rate=(percent or 0.0) / 100)


def _with_steps(plan: Plan, steps: Sequence[Step]) -> Plan:
    """Return the plan with its steps; the numbers of absent ones are 0."""
    padded = (*steps, *[None] * (EXIT_STEPS - len(steps)))
    levels = [None if step is None else step.at for step in padded]
    return plan._replace(
        steps=len(steps),
        step_ratio=tuple(at.ratio if isinstance(at, RiskRewardTarget) else 0.0 for at in levels),
        step_rate=tuple(
            at.percentage / 100 if isinstance(at, PercentageTarget) else 0.0 for at in levels
        ),
        step_points=tuple(at.points if isinstance(at, PointsTarget) else 0.0 for at in levels),
        step_percent=tuple(step.close if step else 0.0 for step in padded),
        step_moves_stop=tuple(int(bool(step and step.moveStop)) for step in padded),
    )


def _with_trail(plan: Plan, trail: TrailingStop | None) -> Plan:
    if trail is None or not trail.enabled:
        return plan
    plan = plan._replace(trail_from=trail.activationThreshold / 100)
    match trail:
        case PercentageTrail(percentage=percent):
            return plan._replace(trail_rate=(percent or 0.0) / 100)
        case PointsTrail(points=points):
            return plan._replace(trail_points=points or 0.0)
        case AtrTrail(atrMultiplier=multiple):
            return plan._replace(trail_atr=multiple)
        case LevelTrail():
            return plan._replace(trails_at_level=True)


def ranges_asked(plan: Plan) -> NDArray[np.bool_]:
    """Return which average true ranges the plan uses: of size, stop, target, trail and the distance
    of adds.
    """
    used = (plan.size_atr, plan.stop_atr, plan.target_atr, plan.trail_atr, plan.add_atr)
    return np.array(used) > 0


def squares_off(strategy: Strategy) -> bool:
    """Return whether positions end with the session (rule 9)."""
    below_a_day = TIMEFRAMES[strategy.basicInfo.timeframe] < DAY
    written = strategy.exitConditions.squareOffTime is not None
    return strategy.is_intraday or (written and below_a_day)


def ends_with_session(strategy: Strategy) -> bool:
    """Return whether an unfilled entry is dropped at the end of its session (rule 9)."""
    return strategy.is_intraday and TIMEFRAMES[strategy.basicInfo.timeframe] < DAY


def square_off_flags(
    strategy: Strategy,
    symbol: str,
    candles: Candles,
    sessions: Sessions | None,
    contract: Contract,
) -> NDArray[np.uint8]:
    """Return the kernel's flags of each bar, u1[n]; empty without square-offs (rule 9) and exits
    before a delivery (rule 13).

    Raises MissingCalendar if a session's hours are needed and unknown.
    """
    length = TIMEFRAMES[strategy.basicInfo.timeframe]
    if not squares_off(strategy):
        return _delivery_flags(strategy, candles, contract)
    if length >= DAY:
        return np.full(len(candles), LAST_OF_SESSION, np.uint8)
    time, day = candles.time, candles.days
    first = np.flatnonzero(np.concatenate(([True], day[1:] != day[:-1])))
    dates, ends = day[first], np.append(first[1:], len(day))
    closes = _closes(symbol, dates, sessions)
    written = strategy.exitConditions.squareOffTime
    late = day_start(dates) + seconds_of_day(written) if written else closes - BEFORE_THE_CLOSE
    flags = np.zeros(len(time), np.uint8)
    for moments, flag in ((late, AFTER_SQUARE_OFF), (closes - length, LAST_OF_SESSION)):
        begins = np.clip(np.searchsorted(time, moments), first, ends)
        lengths = np.stack([begins - first, ends - begins], axis=1).ravel()
        flags |= np.repeat(np.tile(np.array([0, flag], np.uint8), len(dates)), lengths)
    return flags


def _delivery_flags(strategy: Strategy, candles: Candles, contract: Contract) -> NDArray[np.uint8]:
    """Return flags of the bars of the last session in which positions in a delivered contract are
    closed.

    They are empty if the candles do not reach it.
    """
    length, ends = TIMEFRAMES[strategy.basicInfo.timeframe], contract.ends
    if ends is None or not contract.delivered:
        return np.empty(0, np.uint8)
    written = strategy.exitConditions.squareOffTime
    late = ends - BEFORE_THE_CLOSE
    if length >= DAY:
        late = ends - length
    elif written:
        last_day = ist_day(np.array([ends - 1]))
        late = int(day_start(last_day)[0]) + seconds_of_day(written)
    flags = np.where(candles.time >= late, AFTER_SQUARE_OFF | BEFORE_DELIVERY, 0)
    flags |= np.where(candles.time >= ends - length, LAST_OF_SESSION | BEFORE_DELIVERY, 0)
    return flags.astype(np.uint8) if flags.any() else np.empty(0, np.uint8)


def _closes(symbol: str, dates: NDArray[np.int32], sessions: Sessions | None) -> NDArray[np.int64]:
    """Return the close of each date's session."""
    closes = np.full(len(dates), -1) if sessions is None else sessions.certain_closes(dates)
    if (closes < 0).any():
        unknown = int(dates[np.argmax(closes < 0)])
        rule = "squares off positions at the end of the session"
        raise MissingCalendar(symbol, unknown, unknown="hours of {symbol} on {date}", rule=rule)
    return closes


def ranking_bars(
    every: RankingRows, symbol: str, sessions: Sessions | None, days: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return whether symbols are ranked at the closes of bars on each date, by the calendar of the
    first symbol.

    Raises MissingCalendar if it is not certain of the last session of a week or month.
    """
    if every == "candle":
        return np.ones(len(days), np.bool_)
    if sessions is None:
        last = certain = np.zeros(len(days), np.bool_)
    else:
        last, certain = sessions.is_last_session(days, every)
    if not certain.all():
        unknown = int(days[np.argmin(certain)])
        rule = f"ranks its symbols at the last session of each {every}"
        raise MissingCalendar(
            symbol, unknown, unknown="sessions of {symbol} after {date}", rule=rule
        )
    return last


class Terms(NamedTuple):
    """The terms of fills and charges: `instruments` of the symbols; `units` CONTRACT records, the
    first from the beginning, each other from its day in `days` i4, [1 + days, symbols]; `rates`
    RATE records; `ends` i8[symbols] the close of each contract's last session, or NEVER;
    `settlements` how each settles then.
    """

    instruments: NDArray[np.int64]
    days: NDArray[np.int32]
    units: Array
    rates: Array
    ends: NDArray[np.int64]
    settlements: Sequence[Settlement]


def terms_of(symbols: Sequence[str], contracts: Sequence[Contract], schedule: Schedule) -> Terms:
    """Return the contracts, in the order of the symbols, and the rates of their segments."""
    segments = {contract.segment: number for number, contract in enumerate(contracts)}
    days = sorted({first for contract in contracts for first, _ in contract.later})
    later = [[contract.on(day) for contract in contracts] for day in days]
    units = np.stack([contract_rows(dated, segments) for dated in (contracts, *later)])
    ends = [NEVER if contract.ends is None else contract.ends for contract in contracts]
    rates = rate_rows(schedule, segments)
    return Terms(
        instrument_ids(symbols),
        np.array(days, np.int32),
        units,
        rates,
        np.array(ends, np.int64),
        [contract.settlement for contract in contracts],
    )


def contract_rows(contracts: Sequence[Contract], segments: Mapping[str, int]) -> Array:
    """Return CONTRACT records, with segments as numbers."""
    return np.array(
        [
            (c.lot, c.multiplier, c.margin, round(c.tick * TICKS_PER_RUPEE), segments[c.segment])
            for c in contracts
        ],
        CONTRACT,
    )


def rate_rows(schedule: Schedule, segments: Mapping[str, int]) -> Array:
    """Return RATE records of the traded segments, by first day."""
    rows = sorted((row for row in schedule if row.segment in segments), key=lambda r: r.first_day)
    return np.array([(segments[row.segment], *row[1:]) for row in rows], RATE)
