"""One symbol in a simulation: its bars in the range, and the values that a strategy reads from
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAMES, WARMUP_BARS, Candles, start_of_block
from apps.engine.candles.resampling import bar_ends
from apps.engine.candles.sessions import Sessions, in_session
from apps.engine.errors import LEAST_BARS, InsufficientBars
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource
from apps.engine.kernel.codes import (
    BY_OPERAND,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    SHARE,
    STOP_LEVEL,
    TARGET_LEVEL,
)
from apps.engine.kernel.records import NO_LEVELS, NO_MARGINS, NO_VOLUME, Plan
from apps.engine.language.strategy import Strategy
from apps.engine.results.wire_receipt import ReceiptNote
from apps.engine.signals.alerts import NO_ALERTS, NO_TIMES, AlertTimes, between
from apps.engine.signals.columns import Arrays, ColumnCache, SymbolBars
from apps.engine.signals.required_inputs import RequiredInputs
from apps.engine.signals.signals import (
    NO_RANGES,
    NO_VALUES,
    SignalMask,
    atr_columns,
    level_columns,
    ranked_values,
    signals_of,
)
from apps.engine.simulation.circuits import CLOSE_DAYS, circuit_flags, may_be_locked, with_circuits
from apps.engine.simulation.plan import Contract, ranges_asked, square_off_flags

CLOSES: Final = np.array([0, EXIT_SHORT, EXIT_LONG, 0], np.uint8)
"""By the bits of an entry that is none: what it closes as an opposite signal; of both, nothing."""


@dataclass(frozen=True, slots=True)
class Note:
    """A limit on the trust in a result: `code` names the cause, such as adjusted_prices,
    looks_unadjusted, no_charges, delivery_shorts, ruined.
    """

    code: str
    message: str

    def to_wire(self) -> ReceiptNote:
        return ReceiptNote(code=self.code, message=self.message)


class Payout(NamedTuple):
    """Rupees a share paid to holders before a day (since 1970 in Asia/Kolkata)."""

    day: int
    rupees: float


@dataclass(frozen=True, slots=True, eq=False)
class OtherSymbol:
    """A symbol that conditions read beside the traded one: its hours, and its candles of every
    timeframe in which they read it, each with its warm-up as in `History`. `generated_until` and
    `notes` are as there.
    """

    symbol: str
    candles: Mapping[str, Candles]
    sessions: Sessions | None = None
    generated_until: int | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """One symbol: its candles in the strategy's timeframe, its hours, its contract.

    `candles` reach back before the simulated range: WARMUP_BARS bars in session before the block
    that the range starts in (rule 11), or all there are, with any others among them. `sessions` may
    be None where nothing is squared off; longer timeframes then count from midnight, and all bars
    are in session. `underlying` are those of what an option is on, in the same timeframe, where
    what is locked when it is sold depends on them; `days` the daily candles of a share in a shorter
    timeframe, in the terms of `candles`, from which the limits of its prices are known; `payouts`
    change no price. No candle after `generated_until` is generated, and without it none is. `notes`
    are what a reader of the result must know of the candles, `expiry_notes` where a position was
    held to the contract's last session.
    `higher_timeframes` holds the candles of every higher timeframe that the strategy reads, without
    unfinished ones: from WARMUP_BARS before their block that holds the first day of that block, or
    all there are. `other_symbols` are the ones symbols that it reads. `alerts` are all alerts for
    this symbol or for none, up to the end of the last bar at least (rule 25).
    """

    # The age of the closes that limit prices, and that of closes of an underlying, in days.
    CLOSE_DAYS: ClassVar = CLOSE_DAYS
    UNDERLYING_DAYS: ClassVar = 7
    # The least number of bars of a range.
    LEAST_BARS: ClassVar = LEAST_BARS

    symbol: str
    candles: Candles
    sessions: Sessions | None = None
    contract: Contract = field(default_factory=Contract)
    underlying: Candles | None = None
    days: Candles | None = None
    payouts: tuple[Payout, ...] = ()
    generated_until: int | None = None
    notes: tuple[Note, ...] = ()
    expiry_notes: tuple[Note, ...] = ()
    higher_timeframes: Mapping[str, Candles] = field(default_factory=dict)
    other_symbols: Sequence[OtherSymbol] = ()
    alerts: AlertTimes = field(default_factory=dict)

    def may_be_locked(self, timeframe: str) -> bool:
        """Return whether a price in the timeframe may be locked at a limit of its day (rule 22)."""
        return may_be_locked(self.contract, timeframe, self.candles)


class SymbolSeries(NamedTuple):
    """One symbol in the simulated range, with everything that no number of a strategy changes.

    `used` are the candles that any figure can depend on, warm-up included; `candles` are the last
    of them, those in the range, and `flags` has one row for each. `aligned` are the candles of
    higher timeframes and of other symbols that any figure can depend on, aligned to `used`;
    `sessions` is the symbol's calendar, `month_sessions` its numbers that conditions read at each
    candle, and `unknown_months` counts the candles at which they are not known. `out_of_session`
    counts the bars of the range outside of sessions, included in the candles or not; `after_expiry`
    those after the contract's last session, which never are. `short_margins` and `volume` have one
    row for each candle, or none (rule 6). `alerts` are those received in `used` that conditions
    read.
    """

    symbol: str
    used: Candles
    candles: Candles
    flags: NDArray[np.uint8]
    aligned: Mapping[CandleSource, AlignedCandles]
    sessions: Sessions | None = None
    month_sessions: tuple[NDArray[np.int64], ...] = ()
    unknown_months: int = 0
    out_of_session: int = 0
    after_expiry: int = 0
    short_margins: NDArray[np.float64] = NO_MARGINS
    volume: NDArray[np.float64] = NO_VOLUME
    alerts: AlertTimes = NO_ALERTS

    @property
    def bars(self) -> SymbolBars:
        """The bars as conditions read them."""
        return SymbolBars(self.used, self.aligned, self.sessions, self.alerts)

    @classmethod
    def of(cls, strategy: Strategy, history: History, start: int, end: int) -> SymbolSeries:
        """Return the bars with start <= time < end, without those after the contract's last session
        (rule 13), and without those outside of sessions unless the strategy includes them (rule 9).
        Raises InsufficientBars if none is left.
        """
        timeframe, contract = strategy.basicInfo.timeframe, history.contract
        after_expiry = 0
        if contract.ends is not None and contract.ends < end:
            after_expiry = len(history.candles.between(max(start, contract.ends), end))
            end = contract.ends
        inside = in_session(history.candles.time, timeframe, history.sessions)
        outside = history.candles.time[~inside]
        tradable = history.candles
        if not strategy.executionSettings.includeOutOfSession:
            tradable = tradable.select(inside)
        used = _used(tradable, timeframe, start, end)
        candles = used.between(start, end)
        if not len(candles):
            raise InsufficientBars(history.symbol, held=0, needed=LEAST_BARS)
        flags = with_circuits(
            square_off_flags(strategy, history.symbol, candles, history.sessions, contract),
            circuit_flags(
                contract,
                timeframe,
                used,
                first=len(used) - len(candles),
                days=history.days,
            ),
        )
        aligned = _aligned(strategy, history, used, start)
        out_of_session = int(np.count_nonzero((outside >= start) & (outside < end)))
        return cls(
            history.symbol,
            used,
            candles,
            flags,
            aligned,
            history.sessions,
            *_month_sessions(strategy, history, candles),
            out_of_session,
            after_expiry,
            short_margins_of(strategy, contract, candles, history.underlying),
            candles.volume if strategy.executionSettings.maxVolumeShare else NO_VOLUME,
            _alerts(strategy, history, used),
        )


class SymbolSignals(NamedTuple):
    """Signal bits, average true ranges, levels and the ranked value of a strategy, at each
    bar of a symbol.
    """

    signals: SignalMask
    ranges: NDArray[np.float64]
    levels: NDArray[np.float64] = NO_LEVELS
    values: NDArray[np.float64] = NO_VALUES  # empty without a ranking


def short_margins_of(
    strategy: Strategy, contract: Contract, candles: Candles, underlying: Candles | None
) -> NDArray[np.float64]:
    """Return the rupees locked by each unit of an option sold at the open of a candle (rule 6): by
    the last complete close of the underlying, else by the strike. Empty if nothing is sold.
    """
    fractions = contract.short_margins(candles.days)
    if strategy.entryConditions.positionType == "long" or not fractions.any():
        return NO_MARGINS
    prices = np.full(len(candles), contract.strike)
    if underlying is not None and len(underlying):
        ends = underlying.time + TIMEFRAMES[strategy.basicInfo.timeframe]
        last = np.searchsorted(ends, candles.time, side="right") - 1
        known = (last >= 0) & (candles.time - ends[last] <= History.UNDERLYING_DAYS * DAY)
        prices[known] = underlying.close[last[known]]
    margins: NDArray[np.float64] = fractions * prices
    return margins


def signals_of_series(
    inputs: RequiredInputs,
    plan: Plan,
    symbol_series: SymbolSeries,
    *,
    cache: ColumnCache | None = None,
    into: SignalMask | None = None,
) -> SymbolSignals:
    """Return the signals; `cache` and `into` are as for `signals_of`.

    Raises InsufficientBars if too few bars of the range are warm.
    """
    _require_warm_bars(inputs, symbol_series)
    first = len(symbol_series.used) - len(symbol_series.candles)
    return signals_at_bars(inputs, plan, symbol_series.bars, first, cache=cache, into=into)


def _require_warm_bars(inputs: RequiredInputs, symbol_series: SymbolSeries) -> None:
    """Raise InsufficientBars if too few bars of the range have known values for any trade."""
    used, aligned = symbol_series.used, symbol_series.aligned
    first, last = len(used) - len(symbol_series.candles), len(used)
    warm_from = {source: _warm_from(aligned[source], needed) for source, needed in inputs.aligned}
    count = max(last - max(first, *inputs.warmups, *warm_from.values()), 0)
    if count < LEAST_BARS:
        short = [source.symbol for source in warm_from if last - warm_from[source] < LEAST_BARS]
        symbol = next(filter(None, short), symbol_series.symbol)
        raise InsufficientBars(symbol, held=count, needed=LEAST_BARS)


def signals_at_bars(
    inputs: RequiredInputs,
    plan: Plan,
    bars: SymbolBars,
    first: int,
    *,
    cache: ColumnCache | None = None,
    into: SignalMask | None = None,
) -> SymbolSignals:
    """Return the values read at the bars from `first` on, with any number of warm ones; `cache` and
    `into` are as for `signals_of`.
    """
    cache = cache or ColumnCache(0)
    signals = signals_of(inputs, bars, first, len(bars.candles), cache=cache, into=into)
    ranges, levels = NO_RANGES, level_columns(inputs, bars, first, len(bars.candles), cache=cache)
    if any(inputs.atr_periods):
        ranges, unknown = _ranges_at(inputs, plan, bars, first, cache)
        _take_entries(signals, unknown, ENTER, plan)
    if len(levels):
        for bit, needed in _levels_needed(plan):
            unknown = np.flatnonzero(np.isnan(levels[:, needed]).any(axis=1))
            _take_entries(signals, unknown[signals[unknown] & ENTER == bit], bit, plan)
    values = ranked_values(inputs, bars, first, len(bars.candles), cache=cache)
    return SymbolSignals(signals, ranges, levels, values)


def _levels_needed(plan: Plan) -> list[tuple[int, list[int]]]:
    """Return the columns of levels that an entry needs, for the bit of each side."""
    sides = ((ENTER_LONG, 0), (ENTER_SHORT, 1))
    return [
        (
            bit,
            [STOP_LEVEL + short] * plan.stops_at_level
            + [TARGET_LEVEL + short] * plan.targets_at_level
            + [SHARE] * (plan.size_by == BY_OPERAND),
        )
        for bit, short in sides
    ]


def _take_entries(signals: SignalMask, bars: NDArray[np.intp], entry: int, plan: Plan) -> None:
    """Take the entries of these bars away; as opposite signals they still close (rule 5)."""
    entries = signals[bars] & entry
    signals[bars] ^= entries
    if plan.reverse:
        signals[bars] |= CLOSES[entries]


def _ranges_at(
    inputs: RequiredInputs, plan: Plan, bars: SymbolBars, first: int, cache: ColumnCache
) -> Arrays:
    """Return the kernel's ranges, f8[bars, 4], and the indices of bars with an unknown required
    range, i8.
    """
    asked, last = ranges_asked(plan), len(bars.candles)
    key = (inputs.atr_periods, asked.tobytes(), first, last)
    arrays = cache.get(key)
    if arrays is None:
        ranges = atr_columns(inputs, bars, first, last, cache=cache)
        unknown = np.flatnonzero(~(ranges[:, asked] > 0).all(axis=1))
        arrays = np.where(asked, np.nan_to_num(ranges), 0.0), unknown
        cache.add(key, arrays)
    return arrays


def _used(candles: Candles, timeframe: str, start: int, end: int) -> Candles:
    """Return the range, and the bars that rule 11 reads before it."""
    first, last = np.searchsorted(candles.time, (start, end)).tolist()
    if first == last:
        return candles.slice(first, last)
    block = start_of_block(int(candles.time[first]), timeframe)
    begin = int(np.searchsorted(candles.time, block))
    return candles.slice(max(begin - WARMUP_BARS, 0), last)


def _month_sessions(
    strategy: Strategy, history: History, candles: Candles
) -> tuple[tuple[NDArray[np.int64], ...], int]:
    """Return the numbers of sessions of months that conditions read at each candle, 0 for unknown
    ones, and the number of candles with an unknown one.
    """
    directions, columns = strategy.month_directions, []
    unknown = np.zeros(len(candles), np.bool_)
    for from_the_end in directions:
        if history.sessions is None:
            number, certain = np.zeros(len(candles), np.int64), unknown
        else:
            number, certain = history.sessions.session_of_month(
                candles.days, from_the_end=from_the_end
            )
        columns.append(np.where(certain, number, 0))
        unknown = unknown | ~certain
    return tuple(columns), int(np.count_nonzero(unknown))


def _aligned(
    strategy: Strategy, history: History, used: Candles, start: int
) -> dict[CandleSource, AlignedCandles]:
    """Return the candles of each other source for rule 11, beside the bars `used`."""
    timeframe, selected = strategy.basicInfo.timeframe, {}
    by_name = {other.symbol: other for other in history.other_symbols}
    begins = start_of_block(start, timeframe)
    for source in strategy.aligned_sources:
        name, other = source.timeframe or timeframe, by_name.get(source.symbol)
        candles = other.candles[name] if other else history.higher_timeframes[name]
        sessions = other.sessions if other else history.sessions
        if not strategy.executionSettings.includeOutOfSession:
            candles = candles.select(in_session(candles.time, name, sessions))
        begin = int(np.searchsorted(candles.time, start_of_block(begins, name)))
        candles = candles.slice(max(begin - WARMUP_BARS, 0), len(candles))
        if other:
            aligned = AlignedCandles.of_other(
                used,
                timeframe,
                candles,
                name,
                sessions=history.sessions,
                other_sessions=other.sessions,
            )
        else:
            aligned = AlignedCandles.of(used, timeframe, candles, name, history.sessions)
        last = int(aligned.seen.max())
        selected[source] = aligned._replace(candles=candles.slice(0, last + 1))
    return selected


def _alerts(strategy: Strategy, history: History, used: Candles) -> AlertTimes:
    """Return the alerts that conditions read, those received in the bars `used`."""
    names = strategy.alert_names
    if not names:
        return NO_ALERTS
    end = bar_ends(used.time[-1:], strategy.basicInfo.timeframe, history.sessions)
    edges = np.concatenate((used.time[:1], end))
    return {name: between(history.alerts.get(name, NO_TIMES), edges) for name in names}


def _warm_from(aligned: AlignedCandles, needed: int) -> int:
    """Return the first bar with enough known candles of another source, or the number of bars."""
    warm = aligned.seen >= needed
    return int(warm.argmax()) if warm.any() else len(warm)
