"""The outcome of the signal at a bar, and the positions held in it, as a stored result shows them.

It has its trades, its curve and its counts of rejected signals by reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.candles.candles import day_start, ist_day
from apps.engine.kernel.codes import (
    AFTER_SQUARE_OFF,
    DUST,
    LAST_OF_SESSION,
    LOCKED_DOWN,
    LOCKED_UP,
)
from apps.engine.kernel.reasons import EXIT_REASONS, REJECTIONS
from apps.engine.kernel.records import Array
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.plan import ends_with_session
from apps.engine.simulation.strategy_at_bar import StrategyAtBar

CERTAIN = (
    "entered",
    "no_signal",
    "both_sides",
    "unknown_ranges",
    "position_held",
    "daily_loss_limit",
    "daily_profit_limit",
    "after_session",
    "outside_session",
    "entry_limit",
    "cooldown",
    "position_limit",
    "end_of_data",
    "ruined",
    "insufficient_cash",
    "below_one_lot",
    "limit_not_reached",
    "circuit",
    "level_beyond_entry",
    "not_ranked",
)
UNCERTAIN = "not_traded"
"""One of the reasons that the result counted, and it does not say which."""

SQUARES_OFF = AFTER_SQUARE_OFF | LAST_OF_SESSION


class StoredResult(NamedTuple):
    """A stored result: TRADE and CURVE records, rupees, and counts of rejected signals by
    reason.
    """

    trades: Array
    curve: Array
    capital: float
    rejected: Mapping[str, int]

    def held_at(self, symbol: int, time: int) -> list[int]:
        """Return the indices of the symbol's trades that were held for any part of its bar of this
        time, or were closed at its open, in the order of entry.
        """
        trades = self.trades
        of_symbol = (trades["symbol"] == symbol) & (trades["entry_time"] <= time)
        held = np.flatnonzero(of_symbol & (trades["exit_time"] >= time))
        indices: list[int] = held[np.argsort(trades["entry_time"][held], kind="stable")].tolist()
        return indices

    def verdict(self, at_bar: StrategyAtBar, symbol: int) -> Verdict:
        """Return the outcome of the signal at a bar of the symbol with this index."""
        bar = SignalBar.of(at_bar, symbol)
        signals, known = at_bar.signals, at_bar.ranges_known
        return verdict(at_bar.strategy, bar, signals, self, ranges_known=known)


class SignalBar(NamedTuple):
    """The bar of a signal: the index of its symbol, its start, its flags, the start of its symbol's
    next bar (None without one), the flags of that one, the sides with an order that it reaches, the
    starts of all bars of its symbol, the symbols with entries that are tried before its own, the
    sides with a fill at or beyond a level, and whether the ranking lets its entry count.
    """

    symbol: int
    time: int
    flag: int
    next_time: int | None
    next_flag: int
    reached: Set[Side]
    times: NDArray[np.int64]
    tried_before: Set[int]
    beyond: Set[Side] = frozenset()
    is_picked: bool = True

    def is_tried_before(self, trades: Array) -> NDArray[np.bool_]:
        """Return a mask of the trades in symbols that are tried before its own."""
        return np.isin(trades["symbol"], list(self.tried_before))

    @classmethod
    def of(cls, at_bar: StrategyAtBar, symbol: int) -> SignalBar:
        series = at_bar.series
        time, flags = series.candles.time, series.flags
        number = at_bar.bar - (len(series.used) - len(series.candles))
        after = number + 1
        next_time = int(time[after]) if after < len(time) else None
        tried_before = set(range(symbol))
        if at_bar.ranking is not None and next_time is not None:
            tried_before = at_bar.ranking.tried_before(symbol, at_bar.time, next_time)
        return cls(
            symbol,
            int(time[number]),
            int(flags[number]) if len(flags) else 0,
            next_time,
            int(flags[after]) if after < len(flags) else 0,
            at_bar.orders_reached,
            time,
            tried_before,
            at_bar.beyond_levels,
            at_bar.is_picked,
        )


class EntryExplanation(TypedDict):
    """The reason for an entry at the candle, or against it."""

    reason: Annotated[
        str,
        Field(
            description="The outcome; `message` is the same in words.",
            json_schema_extra={"enum": [*CERTAIN, UNCERTAIN]},
        ),
    ]
    side: Annotated[Side | None, Field(description="Null without a signal of one side.")]
    possibleReasons: Annotated[
        list[Annotated[str, Field(json_schema_extra={"enum": list(REJECTIONS)})]],
        Field(
            description="For `not_traded`: the possible reasons; the result does not distinguish"
            " them."
        ),
    ]


class Verdict(NamedTuple):
    """The outcome of a signal.

    `reason` is one of CERTAIN, or UNCERTAIN with the `possible` reasons; `trade` is the index of
    the trade that was entered, or that blocked the entry.
    """

    reason: str
    side: Side | None = None
    trade: int | None = None
    possible: tuple[str, ...] = ()

    def to_wire(self) -> EntryExplanation:
        return EntryExplanation(
            reason=self.reason, side=self.side, possibleReasons=list(self.possible)
        )


def verdict(
    strategy: Strategy,
    bar: SignalBar,
    signals: Sequence[Side],
    result: StoredResult,
    *,
    ranges_known: bool,
) -> Verdict:
    """Return the outcome; `signals` are from `explain.signals_at`."""
    if not len(result.curve) or result.curve["time"][-1] < bar.time:
        return Verdict("ruined")
    if not signals:
        return Verdict("no_signal")
    if not ranges_known:
        return Verdict("unknown_ranges")
    if not bar.is_picked:
        return Verdict("not_ranked", signals[0] if len(signals) == 1 else None)
    if len(signals) > 1:
        return Verdict("both_sides")
    (side,) = signals
    if ends_with_session(strategy) and bar.flag & LAST_OF_SESSION:
        return _after_session(strategy, bar, side, result, bar.time + 1)
    if bar.next_time is None:
        return Verdict("end_of_data", side)
    if result.curve["time"][-1] < bar.next_time:
        return Verdict("ruined", side)
    entered = _entered(result.trades, bar, bar.next_time, side)
    if entered is not None:
        return Verdict("entered", side, entered)
    midnight = int(day_start(ist_day(np.array([bar.time])) + 1)[0])
    if ends_with_session(strategy) and bar.next_time >= midnight:
        return _after_session(strategy, bar, side, result, midnight)
    if (dropped := _dropped(strategy, bar, side, result, bar.next_time)) is not None:
        return dropped
    held = _held(strategy, result.trades, bar, bar.next_time, side)
    if held is not None:
        return Verdict("position_held", side, held)
    if bar.next_flag & AFTER_SQUARE_OFF:
        return Verdict("outside_session", side)
    if _is_entry_limit_reached(strategy, result.trades, bar, bar.next_time):
        return Verdict("entry_limit", side)
    if _is_cooling(strategy, result.trades, bar, bar.next_time):
        return Verdict("cooldown", side)
    if _others_held(result.trades, bar, bar.next_time) >= strategy.riskParameters.maxOpenPositions:
        return Verdict("position_limit", side)
    if side in bar.reached and bar.next_flag & (LOCKED_UP if side == "long" else LOCKED_DOWN):
        return Verdict("circuit", side)
    if side in bar.reached and side in bar.beyond:
        return Verdict("level_beyond_entry", side)
    possible = _possible(strategy, bar, bar.next_time, side, result)
    if len(possible) == 1:
        return Verdict(possible[0], side)
    return Verdict(UNCERTAIN, side, None, possible)


def _after_session(
    strategy: Strategy, bar: SignalBar, side: Side, result: StoredResult, until: int
) -> Verdict:
    """Return the verdict on an entry after the end of its session (rule 9); a limit of the day that
    is reached until then drops it.
    """
    return (
        _dropped(strategy, bar, side, result, until)
        or _ignored(strategy, bar, side, result)
        or Verdict("after_session", side)
    )


def _dropped(
    strategy: Strategy, bar: SignalBar, side: Side, result: StoredResult, until: int
) -> Verdict | None:
    """Return the verdict on an entry that a limit of the day, reached before `until`, drops, if
    there is one (rule 8).
    """
    limit = _limit_reached(strategy, bar, result, until)
    if limit is None:
        return None
    return _ignored(strategy, bar, side, result) or Verdict(limit, side)


def _is_entry_limit_reached(
    strategy: Strategy, trades: Array, bar: SignalBar, next_time: int
) -> bool:
    """Return whether as many positions as allowed were opened on the day before this entry's turn
    (rule 8).
    """
    risk = strategy.riskParameters
    if not (risk.maxEntriesPerDay or risk.maxEntriesPerSymbol):
        return False
    midnight = day_start(ist_day(np.array([next_time])))[0]
    earlier = (trades["entry_time"] >= midnight) & (trades["entry_time"] < next_time)
    earlier |= (trades["entry_time"] == next_time) & bar.is_tried_before(trades)
    of_symbol = earlier & (trades["symbol"] == bar.symbol)
    return bool(
        0 < (risk.maxEntriesPerDay or 0) <= np.count_nonzero(earlier)
        or 0 < (risk.maxEntriesPerSymbol or 0) <= np.count_nonzero(of_symbol)
    )


def _is_cooling(strategy: Strategy, trades: Array, bar: SignalBar, next_time: int) -> bool:
    """Return whether the entry was in the cooldown after an exit of its symbol (rule 8)."""
    cooldown = strategy.riskParameters.cooldown
    if cooldown is None:
        return False
    exits = (trades["symbol"] == bar.symbol) & (trades["entry_time"] <= bar.time)
    exits &= (trades["exit_time"] <= next_time) & ~_left_for({"end_of_data"}, trades)
    if cooldown.after == "loss":
        exits &= trades["gross"] - trades["charges"] < -DUST
    bars = np.searchsorted(bar.times, next_time) - np.searchsorted(
        bar.times, trades["exit_time"][exits]
    )
    return bool((bars <= cooldown.candles).any())


def _possible(
    strategy: Strategy, bar: SignalBar, next_time: int, side: Side, result: StoredResult
) -> tuple[str, ...]:
    """Return the counted reasons that can apply to an unfilled entry.

    If its order is not reached, that is the only one, unless too many positions were held before
    (rule 12).
    """
    most = strategy.riskParameters.maxOpenPositions
    if side in bar.reached:
        names = {"position_limit", "insufficient_cash", "below_one_lot"}
    elif _others_perhaps_held(result.trades, bar, next_time) < most:
        names = {"limit_not_reached"}
    else:
        names = {"limit_not_reached", "position_limit"}
    return tuple(name for name, n in result.rejected.items() if n and name in names)


def _entered(trades: Array, bar: SignalBar, next_time: int, side: Side) -> int | None:
    is_side = trades["side"] > 0 if side == "long" else trades["side"] < 0
    return _first((trades["symbol"] == bar.symbol) & (trades["entry_time"] == next_time) & is_side)


def _held(
    strategy: Strategy, trades: Array, bar: SignalBar, next_time: int, side: Side
) -> int | None:
    """Return the trade that was still open when the next bar's entries were examined or, if an
    opposite signal is ignored, at its signal.
    """
    early = (trades["exit_time"] == next_time) & _at_the_open(trades, bar)
    ignored = _is_opposite(trades, side) & (not strategy.exits_on_opposite_signal)
    return _first(_held_at_close(trades, bar) & (ignored | ~early))


def _ignored(
    strategy: Strategy, bar: SignalBar, side: Side, result: StoredResult
) -> Verdict | None:
    """Return the verdict with the trade at the close of the signal that ignored it (rule 7): by
    choice, or because it allowed no add. Trades do not record how many adds were left.
    """
    opposite = _is_opposite(result.trades, side)
    by_choice = opposite & (not strategy.exits_on_opposite_signal)
    adds = strategy.positionSizing.pyramiding
    full = ~opposite & (not adds.enabled or adds.distance is not None)
    held = _held_at_close(result.trades, bar) | _left_open(result.trades, bar)
    trade = _first(held & (by_choice | full))
    return None if trade is None else Verdict("position_held", side, trade)


def _held_at_close(trades: Array, bar: SignalBar) -> NDArray[np.bool_]:
    of_symbol = trades["symbol"] == bar.symbol
    held = (trades["entry_time"] <= bar.time) & (trades["exit_time"] > bar.time)
    return np.asarray(of_symbol & held)


def _left_open(trades: Array, bar: SignalBar) -> NDArray[np.bool_]:
    """Return a mask of the trades left open by a session without a last bar.

    They end at this close (rule 9).
    """
    of_symbol = (trades["symbol"] == bar.symbol) & (trades["exit_time"] == bar.time)
    return np.asarray(of_symbol & _left_for({"square_off"}, trades) & (bar.flag & SQUARES_OFF == 0))


def _is_opposite(trades: Array, side: Side) -> NDArray[np.bool_]:
    return np.asarray(trades["side"] < 0 if side == "long" else trades["side"] > 0)


def _at_the_open(trades: Array, bar: SignalBar) -> NDArray[np.bool_]:
    """Return a mask of the trades that were closed at the open of their last bar: they did not live
    through it.
    """
    entry, leave = (
        np.searchsorted(bar.times, np.ascontiguousarray(trades[name]))
        for name in ("entry_time", "exit_time")
    )
    return np.asarray(trades["bars"] == leave - entry)


def _left_for(reasons: Set[str], trades: Array) -> NDArray[np.bool_]:
    return np.isin(trades["reason"], [EXIT_REASONS.index(name) for name in reasons])


def _others_held(trades: Array, bar: SignalBar, next_time: int) -> int:
    """Count the positions that were certainly open at this entry's turn.

    They were open before the next row, or belong to symbols tried before it that entered in it.
    """
    through = (trades["entry_time"] < next_time) & (trades["exit_time"] > next_time)
    before = (trades["entry_time"] == next_time) & bar.is_tried_before(trades)
    return int(np.count_nonzero(through | before))


def _others_perhaps_held(trades: Array, bar: SignalBar, next_time: int) -> int:
    """Count the positions that may have been open then.

    They were certainly open, or exited in that row, or were squared off earlier and end in their
    symbol's next row, at any later time (rule 9).
    """
    through = (trades["entry_time"] < next_time) & (trades["exit_time"] >= next_time)
    before = (trades["entry_time"] == next_time) & bar.is_tried_before(trades)
    ended = (trades["exit_time"] < next_time) & _left_for({"square_off"}, trades)
    perhaps = (through | before | ended) & (trades["symbol"] != bar.symbol)
    return len(np.unique(trades["symbol"][perhaps]))


def _limit_reached(
    strategy: Strategy, bar: SignalBar, result: StoredResult, next_time: int
) -> str | None:
    """Return the limit that the result of a day reached first, at a close from the beginning of the
    bar's day to the last one before its next bar (rule 8).
    """
    time, equity = result.curve["time"], result.curve["equity"]
    day = ist_day(time)
    begins = np.flatnonzero(np.diff(day, prepend=day[0] - 1))
    marks = np.concatenate([[result.capital], equity])[begins]  # the last before each day
    gains = equity - np.repeat(marks, np.diff(begins, append=len(day)))
    risk = strategy.riskParameters
    most = np.inf if risk.maxDailyProfit is None else risk.maxDailyProfit
    reached = (-gains >= risk.maxDailyLoss - DUST) | (gains >= most - DUST)
    reached &= (day >= ist_day(np.array([bar.time]))[0]) & (time < next_time)
    first = _first(reached)
    if first is None:
        return None
    return "daily_loss_limit" if gains[first] < 0 else "daily_profit_limit"


def _first(chosen: Array) -> int | None:
    matches = np.flatnonzero(chosen)
    return int(matches[0]) if len(matches) else None
