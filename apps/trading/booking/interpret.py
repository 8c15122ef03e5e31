"""Interpret a step as the orders that were filled, rejected and placed, and its signals.

The engine reports fills, rejections and pending work for the next bar; users see these as orders. A
pending entry or exit is an open order from the close of its signal on. An exit within a bar (a
stop, a target, a square-off) is placed and filled in that bar. Where exits are in steps, the steps
and the stop of a position rest at the broker: they are open orders from the close of its first bar
on.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from math import floor
from typing import Any, Final, Literal

import numpy as np

from apps.core.times import moment
from apps.engine.candles import ist_day
from apps.engine.live import OPENED, SignalBits, State
from apps.engine.results import EXIT_REASONS, REJECTIONS
from apps.trading.booking.step_result import BarStep, EntryBlock
from apps.trading.models import Intent, Order, Run, Signal
from apps.trading.models.money import ZERO, price, rupees

EngineRecord = Any  # a NumPy record

# Reasons from outside of the strategy: a signal that would have been ignored anyway is not rejected
# for them.
EXTERNAL_REASONS: Final = frozenset(EntryBlock)
# Reasons for rejecting a signal at its own close; all others arise at an open.
_DAILY_LIMITS: Final = {"daily_loss_limit", "daily_profit_limit"}
CLOSE_REASONS: Final = EXTERNAL_REASONS | _DAILY_LIMITS | {"both_sides", "after_session"}
EXPIRED: Final = "expiry"
LONG_EXITS: Final = SignalBits.CLOSE_LONG | SignalBits.EXIT_LONG
SHORT_EXITS: Final = SignalBits.CLOSE_SHORT | SignalBits.EXIT_SHORT
# Exits at a level: the field of the position that holds the level, and the order type.
LEVEL_FIELDS: Final = {"stop_loss": "stop", "trailing_stop": "stop", "take_profit": "target"}
EXIT_TYPES: Final = {
    "stop_loss": "stop",
    "trailing_stop": "stop",
    "take_profit": "limit",
    "step": "limit",
}
# The reason of an exit that closes a part of a position.
STEP: Final = "step"
# The reason of a stop that rests at the broker, until it is filled.
STOP_LOSS: Final = "stop_loss"


class OrderSlot(StrEnum):
    """The slot of an order among the orders of one bar and symbol."""

    ENTRY = "entry"  # pending from the bar's close on
    EXIT = "exit"  # pending from the bar's close on
    HELD = "held"  # closes the position from before the bar
    OPENED = "opened"  # closes a position that the bar itself opened
    HELD_STEP_1 = "held step 1"  # closes a part of the first, or of the second
    HELD_STEP_2 = "held step 2"
    HELD_STEP_3 = "held step 3"
    OPENED_STEP_1 = "opened step 1"
    OPENED_STEP_2 = "opened step 2"
    OPENED_STEP_3 = "opened step 3"
    STOP = "stop"  # the stop of a position, rests at the broker
    MOVED_STOP = "moved stop"  # the same after a step has moved it
    EXPIRY = "expiry"  # settles a contract


@dataclass(frozen=True, slots=True)
class Execution:
    """A fill, and its effect on the money."""

    symbol: str
    time: int
    side: Literal["buy", "sell"]
    intent: Intent
    quantity: int
    price: float
    paid: tuple[int, ...]  # paise by kind of charge
    locked: Decimal  # rupees that it locks, or releases when below 0
    held_since: int  # start of the last bar at the close of which the symbol was held, if any
    slot: OrderSlot = OrderSlot.ENTRY
    # Only of exits.
    reason: str = ""
    gross: Decimal = ZERO  # profit or loss before charges
    level: float | None = None  # price of the stop, step or target that was reached
    was_held: bool = False  # whether it closes a position from before the row

    @property
    def closes(self) -> bool:
        """Whether it closes a position, and not only a part of it."""
        return self.intent is Intent.EXIT and self.reason != STEP

    @property
    def is_stop(self) -> bool:
        return EXIT_TYPES.get(self.reason) == "stop"

    @property
    def charges(self) -> Decimal:
        return Decimal(sum(self.paid)).scaleb(-2)


@dataclass(frozen=True, slots=True)
class RejectedSignal:
    """A pending entry that was not executed."""

    symbol: str
    side: str
    reason: str
    held_since: int
    by_distance: bool = False  # an add by distance, without a signal


@dataclass(slots=True)
class StepOutcome:
    """The outcome of one step, with unsaved signals and orders."""

    step: BarStep
    executions: list[Execution] = field(default_factory=list)
    rejected: list[RejectedSignal] = field(default_factory=list)
    # Signals of the row's close.
    signals: list[Signal] = field(default_factory=list)
    # An order for each exit that is pending after the row, and each entry that the row has made so.
    orders: list[Order] = field(default_factory=list)
    # (symbol, is exit) of all pending orders.
    pending: set[tuple[str, bool]] = field(default_factory=set)
    # Steps and stops of open positions that rest at the broker.
    resting: list[Order] = field(default_factory=list)


def interpret_step(step: BarStep) -> StepOutcome:
    outcome = StepOutcome(step)
    _interpret_fills(outcome)
    _interpret_rejections(outcome)
    _interpret_pending(outcome)
    outcome.resting += _resting_orders(step)
    return outcome


def client_order_id(run_id: str, bar_time: int, symbol: str, slot: OrderSlot) -> str:
    """Return the order's id, a pure function of the order: 96 bits of SHA-256."""
    return sha256(f"{run_id} {bar_time} {symbol} {slot}".encode()).hexdigest()[:24]


def new_order(
    step: BarStep,
    symbol: str,
    *,
    slot: OrderSlot,
    side: str,
    intent: Intent,
    reason: str = "",
    level: float | None = None,
    bar_time: int | None = None,
) -> Order:
    """Return an unsaved open order, of the row or of the earlier bar at `bar_time`."""
    bar_time = step.time if bar_time is None else bar_time
    entry_type = step.strategy.executionSettings.orderType
    return Order(
        id=client_order_id(step.run.pk, bar_time, symbol, slot),
        run=step.run,
        algorithm_id=step.run.algorithm_id,
        symbol=symbol,
        side=side,
        intent=intent,
        type=EXIT_TYPES.get(reason, "market") if intent is Intent.EXIT else entry_type,
        price=None if level is None else price(level),
        reason=reason,
        bar_time=moment(bar_time),
        placed_at=moment(step.closes),
    )


def new_signal(
    run: Run, symbol: str, bar_time: datetime, *, side: str, action: str, reason: str = ""
) -> Signal:
    """Return an unsaved signal, with the reason if it is not executed."""
    return Signal(
        run=run,
        algorithm_id=run.algorithm_id,
        symbol=symbol,
        bar_time=bar_time,
        side=side,
        action=action,
        followed=not reason,
        reason=reason,
    )


def _interpret_fills(outcome: StepOutcome) -> None:
    step = outcome.step
    before, after = step.before.positions, step.state.positions
    held = set(np.flatnonzero(before["side"]).tolist())
    locked = {index: float(before[index]["locked"]) for index in held}
    parts = {index: _Parts(before[index]) for index in held}
    last_fills = {int(fill["symbol"]): number for number, fill in enumerate(step.fills)}
    trades = _trades_by_fill(step)
    for number, fill in enumerate(step.fills):
        index = int(fill["symbol"])
        is_last, is_entry = last_fills[index] == number, fill["reason"] == OPENED
        is_step = EXIT_REASONS[fill["reason"]] == STEP
        locked_before = locked_after = locked.get(index, 0.0)
        if not is_entry and not is_step:
            locked_after = 0.0
        elif is_last:
            locked_after = float(after[index]["locked"])
        elif is_step:
            locked_after -= locked_before * float(fill["quantity"]) / parts[index].quantity
        else:
            locked_after += _locked_by(step, fill)
        locked[index] = locked_after
        execution = Execution(
            symbol=step.symbols[index],
            time=int(fill["time"]),
            side="buy" if fill["side"] > 0 else "sell",
            intent=Intent.ADD if locked_before > 0 else Intent.ENTRY,
            quantity=round(float(fill["quantity"])),
            price=float(fill["price"]),
            paid=tuple(round(float(paise)) for paise in fill["paid"]),
            locked=rupees(locked_after) - rupees(locked_before),
            held_since=int(before[index]["time"]),
        )
        was_held = index in held
        if is_entry:
            parts.setdefault(index, _Parts()).quantity += float(fill["quantity"])
        elif is_step:
            closing = trades.get(_closing_fill(step, number))
            position = after[index] if closing is None else closing
            execution = _part(execution, step, fill, position, parts[index], was_held=was_held)
        else:
            position = (after if is_last else before)[index]
            gross = rupees(float(trades[number]["gross"])) - rupees(parts.pop(index).gross)
            execution = _exit(execution, fill, position, gross, was_held=was_held)
            held.discard(index)
        outcome.executions.append(execution)


class _Parts:
    """The quantity of a position that is left, the profit or loss of the parts that have left it,
    and the steps taken.
    """

    def __init__(self, position: EngineRecord | None = None) -> None:
        self.quantity = self.gross = 0.0
        self.taken = 0
        if position is not None:
            self.quantity = float(position["quantity"])
            self.gross, self.taken = float(position["sold_gross"]), int(position["taken"])


def _trades_by_fill(step: BarStep) -> dict[int, EngineRecord]:
    """Return the trades, keyed by the number of the fill that closed each."""
    parts = {EXIT_REASONS.index(STEP), OPENED}
    closing = [number for number, fill in enumerate(step.fills) if fill["reason"] not in parts]
    return dict(zip(closing, step.trades, strict=True))


def _closing_fill(step: BarStep, number: int) -> int:
    """Return the number of the fill that closes the position of a fill; -1 if it stays open."""
    symbol, parts = step.fills[number]["symbol"], {EXIT_REASONS.index(STEP), OPENED}
    later = range(number + 1, len(step.fills))
    return next(
        (
            other
            for other in later
            if step.fills[other]["symbol"] == symbol and step.fills[other]["reason"] not in parts
        ),
        -1,
    )


def _part(
    execution: Execution,
    step: BarStep,
    fill: EngineRecord,
    position: EngineRecord,
    parts: _Parts,
    *,
    was_held: bool,
) -> Execution:
    """Return the execution as the exit of a part; `position` is its POSITION record if it is still
    open, else its TRADE record.
    """
    is_open = "average" in position.dtype.names
    average = float(position["average" if is_open else "entry_price"])
    whole = float(position["quantity"]) + (float(position["sold"]) if is_open else 0.0)
    terms = step.contracts[int(fill["symbol"])].on(int(ist_day(np.array([fill["time"]]))[0]))
    quantity, price_ = float(fill["quantity"]), float(fill["price"])
    before = parts.gross
    parts.gross += -float(fill["side"]) * quantity * terms.multiplier * (price_ - average)
    parts.quantity -= quantity
    sizes = _sizes_of_steps(step, whole, terms.lot)
    number = next(n for n in range(parts.taken, len(sizes)) if sizes[n] == quantity)
    parts.taken = number + 1
    kind = "held" if was_held else "opened"
    return replace(
        execution,
        intent=Intent.EXIT,
        slot=OrderSlot(f"{kind} step {number + 1}"),
        reason=STEP,
        gross=rupees(parts.gross) - rupees(before),
        level=price_,
        was_held=was_held,
    )


def _sizes_of_steps(step: BarStep, whole: float, lot: float) -> list[float]:
    """Return the quantity of each step of a position; `whole` is that before the first step."""
    exits = step.strategy.exitConditions.steps or ()
    return [floor(whole / lot * part.close / 100 + 1e-9) * lot for part in exits]


def _resting_orders(step: BarStep) -> Iterator[Order]:
    """Yield the steps that are left of each open position, and its stop. They are orders of the bar
    of its first fill.
    """
    exits = step.strategy.exitConditions.steps or ()
    for index in np.flatnonzero(step.state.positions["side"]).tolist() if exits else ():
        position = step.state.positions[index]
        quantity, taken = float(position["quantity"]), int(position["taken"])
        lot = float(position["contract"]["lot"])
        sizes = _sizes_of_steps(step, quantity + float(position["sold"]), lot)
        levels = [
            (f"held step {number + 1}", STEP, sizes[number], float(position["steps"][number]))
            for number in range(taken, len(exits))
            if 0 < sizes[number] < quantity
        ]
        moved = any(part.moveStop for part in exits[:taken])
        stop = OrderSlot.MOVED_STOP if moved else OrderSlot.STOP
        for slot, reason, size, level in [
            *levels,
            (stop, STOP_LOSS, quantity, float(position["stop"])),
        ]:
            if level > 0:
                order = new_order(
                    step,
                    step.symbols[index],
                    slot=OrderSlot(slot),
                    side="sell" if position["side"] > 0 else "buy",
                    intent=Intent.EXIT,
                    reason=reason,
                    level=level,
                    bar_time=int(position["entry_time"]),
                )
                order.quantity = round(size)
                yield order


def _exit(
    execution: Execution,
    fill: EngineRecord,
    position: EngineRecord,
    gross: Decimal,
    *,
    was_held: bool,
) -> Execution:
    """Return the execution as the exit of a position; `position` has the levels at the fill."""
    reason = EXIT_REASONS[fill["reason"]]
    slot = OrderSlot.HELD if was_held else OrderSlot.OPENED
    return replace(
        execution,
        intent=Intent.EXIT,
        slot=OrderSlot.EXPIRY if reason == EXPIRED else slot,
        reason=reason,
        gross=gross,
        level=float(position[LEVEL_FIELDS[reason]]) if reason in LEVEL_FIELDS else None,
        was_held=was_held,
    )


def _locked_by(step: BarStep, fill: EngineRecord) -> float:
    """Return the rupees locked by an entry (engine rule 6) with a position closed in the
    same row.
    """
    day = int(ist_day(np.array([fill["time"]]))[0])
    index = int(fill["symbol"])
    terms = step.contracts[index].on(day)
    locked = fill["quantity"] * fill["price"] * terms.multiplier * terms.margin
    if fill["side"] < 0 and len(step.short_margins):
        locked += fill["quantity"] * terms.multiplier * step.short_margins[index]
    return float(locked)


def _interpret_rejections(outcome: StepOutcome) -> None:
    """Add the pending entries that were rejected, and the rejected signals of this close."""
    step = outcome.step
    reasons_by_symbol: dict[int, list[str]] = defaultdict(list)
    for refusal in step.refusals:
        reason = REJECTIONS[refusal["reason"]]
        if step.entry_block and reason in EXTERNAL_REASONS:
            reason = step.entry_block
        reasons_by_symbol[int(refusal["symbol"])].append(reason)
    for index, reasons in reasons_by_symbol.items():
        symbol = step.symbols[index]
        if _is_of_close(step, index, reasons[-1]):
            reason = reasons.pop()
            outcome.signals += [
                new_signal(
                    step.run, symbol, moment(step.time), side=side, action="entry", reason=reason
                )
                for side in _entry_sides(int(step.signals[index]))
            ]
        held_since = int(step.before.positions[index]["time"])
        sides = _waiting_sides(step.before, index)
        adds = bool(step.before.orders[index, 0]["pending"] & SignalBits.ADD)
        outcome.rejected += [
            RejectedSignal(symbol, side, reason, held_since, adds)
            for reason, side in zip(reasons, sides, strict=False)
        ]


def _is_of_close(step: BarStep, index: int, reason: str) -> bool:
    """Return whether the last rejection is of this close's signal, rather than of a
    pending entry.
    """
    signal = int(step.signals[index]) & SignalBits.ENTER
    waiting = step.state.orders[index, 0]["pending"]
    if not signal or signal & int(waiting) or reason not in CLOSE_REASONS:
        return False
    is_certain = reason == "both_sides" or reason in _DAILY_LIMITS
    return is_certain or not _is_idle(step, index, signal)


def _is_idle(step: BarStep, index: int, signal: int) -> bool:
    """Return whether the position at the close would ignore this entry (engine rule 7)."""
    position = step.state.positions[index]
    if position["side"] == 0 or signal == SignalBits.ENTER:
        return False
    if signal & _own_entry(position):
        pyramiding = step.strategy.positionSizing.pyramiding
        by_signals = pyramiding.enabled and pyramiding.distance is None
        return bool(position["entries"] >= (pyramiding.maxEntries if by_signals else 1))
    return not step.strategy.exits_on_opposite_signal


def _own_entry(position: EngineRecord) -> int:
    return SignalBits.ENTER_LONG if position["side"] > 0 else SignalBits.ENTER_SHORT


def _entry_sides(signal: int) -> list[str]:
    """Return the sides of the entries in the signal."""
    bits = {"long": SignalBits.ENTER_LONG, "short": SignalBits.ENTER_SHORT}
    return [side for side, bit in bits.items() if signal & bit]


def _waiting_sides(state: State, index: int) -> list[str]:
    """Return the sides of the entry that waits; an add by distance has that of its position."""
    pending, side = int(state.orders[index, 0]["pending"]), state.positions[index]["side"]
    if pending & SignalBits.ADD and side:
        return ["long" if side > 0 else "short"]
    return _entry_sides(pending)


def _interpret_pending(outcome: StepOutcome) -> None:
    """Add the orders that are pending after the row, and the signals of this close behind them."""
    step = outcome.step
    reverse = step.strategy.exits_on_opposite_signal
    for index in np.flatnonzero(step.state.orders["pending"][:, 0]).tolist():
        symbol, position = step.symbols[index], step.state.positions[index]
        order, is_long = step.state.orders[index, 0], position["side"] > 0
        signal = int(step.signals[index]) & int(order["pending"])
        if reason := pending_exit_reason(position, order, reverse=reverse):
            side = "sell" if is_long else "buy"
            outcome.pending.add((symbol, True))
            outcome.orders.append(
                new_order(
                    step, symbol, slot=OrderSlot.EXIT, side=side, intent=Intent.EXIT, reason=reason
                )
            )
        if order["pending"] & (SignalBits.ENTER | SignalBits.ADD):
            outcome.pending.add((symbol, False))
        if order["pending"] & SignalBits.ADD:
            outcome.orders.append(_entry_order(outcome, index, is_long=is_long, adds=True))
        if signal & SignalBits.ENTER and not _is_idle(step, index, signal & SignalBits.ENTER):
            _add_entry(outcome, index, signal & SignalBits.ENTER)
        if position["side"] and signal & (LONG_EXITS if is_long else SHORT_EXITS):
            side = "long" if is_long else "short"
            outcome.signals.append(
                new_signal(step.run, symbol, moment(step.time), side=side, action="exit")
            )


def _add_entry(outcome: StepOutcome, index: int, signal: int) -> None:
    step, symbol = outcome.step, outcome.step.symbols[index]
    position, is_long = step.state.positions[index], bool(signal & SignalBits.ENTER_LONG)
    adds = bool(position["side"] != 0 and signal & _own_entry(position))
    outcome.orders.append(_entry_order(outcome, index, is_long=is_long, adds=adds))
    side = "long" if is_long else "short"
    outcome.signals.append(
        new_signal(step.run, symbol, moment(step.time), side=side, action="entry")
    )


def _entry_order(outcome: StepOutcome, index: int, *, is_long: bool, adds: bool) -> Order:
    step = outcome.step
    at_market = step.strategy.executionSettings.orderType == "market"
    return new_order(
        step,
        step.symbols[index],
        slot=OrderSlot.ENTRY,
        side="buy" if is_long else "sell",
        intent=Intent.ADD if adds else Intent.ENTRY,
        level=None if at_market else float(step.state.orders[index, 0]["price"]),
    )


def pending_exit_reason(position: EngineRecord, order: EngineRecord, *, reverse: bool) -> str:
    """Return the reason why a position will be closed at its symbol's next open; empty if it stays.

    This repeats the kernel's `ordered_exit`, which is compiled into the kernel's loop.
    """
    if position["side"] == 0:
        return ""
    long, pending = position["side"] > 0, int(order["pending"])
    if pending & SignalBits.HELD_UP:
        return EXIT_REASONS[order["close_reason"]]
    if pending & (SignalBits.CLOSE_LONG if long else SignalBits.CLOSE_SHORT):
        return "signal"
    if pending & (SignalBits.EXIT_LONG if long else SignalBits.EXIT_SHORT):
        return "opposite_signal"
    if reverse and pending & (SignalBits.ENTER_SHORT if long else SignalBits.ENTER_LONG):
        return "opposite_signal"
    return EXIT_REASONS[order["close_reason"]] if pending & SignalBits.FLATTEN else ""
