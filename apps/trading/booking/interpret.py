"""Interpret a step: which orders were filled, rejected and placed, and which signals there were.

The engine reports fills, rejections and what is pending for the next bar; users see the same as
orders. A pending entry or exit is an open order from the close of its signal on. An exit within a
bar (a stop, a target, a square-off) is placed and filled in that bar.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

import numpy as np

from apps.engine.candles import ist_day
from apps.engine.kernel.codes import (
    CLOSE_LONG,
    CLOSE_SHORT,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    FLATTEN,
    OPEN,
)
from apps.engine.kernel.reasons import EXIT_REASONS, REJECTIONS
from apps.engine.kernel.records import State
from apps.trading.models import Intent
from apps.trading.money import ZERO, rupees
from apps.trading.step_result import BarStep, EntryBlock

EngineRecord = Any  # a NumPy record

# Reasons from outside of the strategy: a signal that would have been ignored anyway is not rejected
# for them.
EXTERNAL_REASONS: Final = frozenset(EntryBlock)
# Reasons for which a signal is rejected at its own close; all others arise at an open.
CLOSE_REASONS: Final = EXTERNAL_REASONS | {"both_sides", "daily_loss_limit"}
EXPIRED: Final = "expiry"
# Exits at a level, and which of the position's it is.
LEVEL_FIELDS: Final = {"stop_loss": "stop", "trailing_stop": "stop", "take_profit": "target"}


class OrderSlot(StrEnum):
    """Which of the orders that one bar makes in one symbol."""

    ENTRY = "entry"  # pending from the bar's close on
    EXIT = "exit"  # pending from the bar's close on
    HELD = "held"  # closes what was held when the bar began
    OPENED = "opened"  # closes what the bar itself has opened
    EXPIRY = "expiry"  # settles a contract at its last close


def client_order_id(run_id: str, bar_time: int, symbol: str, slot: OrderSlot) -> str:
    """Return the order's id, which is always the same for the same order: 96 bits of SHA-256."""
    return sha256(f"{run_id} {bar_time} {symbol} {slot}".encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Execution:
    """One fill, and how it changes the money.

    `locked` are the rupees that it locks, or frees when below 0; `gross` is the profit or loss of
    an exit before charges; `paid` are paise by kind of charge. `level` is the price of a stop or a
    target that was reached. `held_since` is the start of the last bar at whose close the symbol was
    held, if any; `was_held` says that an exit closes what the row began with.
    """

    symbol: str
    time: int
    side: str
    intent: Intent
    slot: OrderSlot
    reason: str
    quantity: int
    price: float
    paid: tuple[int, ...]
    locked: Decimal
    gross: Decimal
    level: float | None = None
    held_since: int = 0
    was_held: bool = False

    @property
    def charges(self) -> Decimal:
        return Decimal(sum(self.paid)).scaleb(-2)


@dataclass(frozen=True, slots=True)
class NewOrder:
    """An order that is pending for the symbol's next bar, with its price unless it is at market."""

    symbol: str
    side: str
    intent: Intent
    slot: OrderSlot
    reason: str = ""
    price: float | None = None


@dataclass(frozen=True, slots=True)
class RejectedSignal:
    """A pending entry that was not executed."""

    symbol: str
    side: str
    reason: str
    held_since: int = 0


@dataclass(frozen=True, slots=True)
class SignalRecord:
    """A signal of this close, with the reason if it is not executed."""

    symbol: str
    side: str
    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FractionBooking:
    """A fraction of a share left by a split, settled in cash.

    `locked` (below 0) are the rupees by which its position locks less, `gross` is the fraction's
    profit or loss.
    """

    symbol: str
    locked: Decimal
    gross: Decimal


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of one step; `pending` are (symbol, is exit) of the orders pending after it."""

    step: BarStep
    executions: tuple[Execution, ...]
    rejected: tuple[RejectedSignal, ...]
    new_orders: tuple[NewOrder, ...]
    signals: tuple[SignalRecord, ...]
    pending: frozenset[tuple[str, bool]]
    fractions: tuple[FractionBooking, ...] = ()


def interpret_step(step: BarStep) -> StepOutcome:
    rejected, ignored = _rejections(step)
    return StepOutcome(
        step=step,
        executions=tuple(_executions(step)),
        rejected=tuple(rejected),
        new_orders=tuple(_new_orders(step)),
        signals=(*ignored, *_followed_signals(step)),
        pending=frozenset(_pending_orders(step)),
        fractions=tuple(_fractions(step)),
    )


def _symbol(step: BarStep, index: int) -> str:
    return step.strategy.basicInfo.symbols[index]


# ------------------------------------------------------------------------------------------- fills


def _executions(step: BarStep) -> Iterator[Execution]:
    trades = iter(step.trades)
    fills = list(step.fills)
    last = set({int(fill["symbol"]): number for number, fill in enumerate(fills)}.values())
    held = set(np.flatnonzero(step.before.positions["side"]).tolist())
    locked: dict[int, float] = {}
    for number, fill in enumerate(fills):
        index = int(fill["symbol"])
        before = step.before.positions[index]
        bound = locked.get(index, float(before["locked"]) if before["side"] else 0.0)
        if fill["reason"] == OPEN:
            after = step.state.positions[index]
            now = float(after["locked"]) if number in last else bound + _cost(step, fill)
            yield _entry(step, fill, added=bound > 0, locked=rupees(now) - rupees(bound))
        else:
            now = 0.0
            position = step.state.positions[index] if number in last else before
            was_held = index in held
            yield _exit(step, fill, next(trades), position, was_held, locked=-rupees(bound))
            held.discard(index)
        locked[index] = now


def _fractions(step: BarStep) -> Iterator[FractionBooking]:
    for fraction in step.fractions:
        before, after = map(rupees, fraction.locked)
        yield FractionBooking(
            _symbol(step, fraction.symbol), after - before, rupees(fraction.gross)
        )


def _cost(step: BarStep, fill: EngineRecord) -> float:
    """Return what an entry locks (engine rule 6) whose position was closed in the same row."""
    day = int(ist_day(np.array([fill["time"]]))[0])
    terms = step.contracts[int(fill["symbol"])].on(day)
    return float(fill["quantity"] * fill["price"] * terms.multiplier * terms.margin)


def _entry(step: BarStep, fill: EngineRecord, *, added: bool, locked: Decimal) -> Execution:
    before = step.before.positions[int(fill["symbol"])]
    return Execution(
        **_fill_fields(step, fill),
        intent=Intent.ADD if added else Intent.ENTRY,
        slot=OrderSlot.ENTRY,
        reason="",
        locked=locked,
        gross=ZERO,
        held_since=int(before["time"]),
    )


def _exit(
    step: BarStep,
    fill: EngineRecord,
    trade: EngineRecord,
    position: EngineRecord,
    was_held: bool,
    *,
    locked: Decimal,
) -> Execution:
    reason = EXIT_REASONS[fill["reason"]]
    level = LEVEL_FIELDS.get(reason)
    slot = OrderSlot.HELD if was_held else OrderSlot.OPENED
    return Execution(
        **_fill_fields(step, fill),
        intent=Intent.EXIT,
        slot=OrderSlot.EXPIRY if reason == EXPIRED else slot,
        reason=reason,
        locked=locked,
        gross=rupees(float(trade["gross"])),
        level=float(position[level]) if level else None,
        was_held=was_held,
    )


def _fill_fields(step: BarStep, fill: EngineRecord) -> dict[str, Any]:
    """Return the fields that every execution takes from its fill."""
    return {
        "symbol": _symbol(step, int(fill["symbol"])),
        "time": int(fill["time"]),
        "side": "buy" if fill["side"] > 0 else "sell",
        "quantity": round(float(fill["quantity"])),
        "price": float(fill["price"]),
        "paid": tuple(round(float(paise)) for paise in fill["paid"]),
    }


# -------------------------------------------------------------------------------------- rejections


def _rejections(step: BarStep) -> tuple[list[RejectedSignal], list[SignalRecord]]:
    """Return the pending entries that were rejected, and the rejected signals of this close."""
    rejected: list[RejectedSignal] = []
    ignored: list[SignalRecord] = []
    by_symbol: dict[int, list[str]] = defaultdict(list)
    for refusal in step.refusals:
        reason = REJECTIONS[refusal["reason"]]
        if step.entry_block and reason in EXTERNAL_REASONS:
            reason = step.entry_block
        by_symbol[int(refusal["symbol"])].append(reason)
    for index, reasons in by_symbol.items():
        symbol = _symbol(step, index)
        if _is_of_close(step, index, reasons[-1]):
            reason = reasons.pop()
            sides = _entry_sides(int(step.signals[index]))
            ignored += [SignalRecord(symbol, side, "entry", reason) for side in sides]
        time = int(step.before.positions[index]["time"])
        sides = _entry_sides(_pending(step.before, index))
        for reason, side in zip(reasons, sides, strict=False):
            rejected.append(RejectedSignal(symbol, side, reason, time))
    return rejected, ignored


def _is_of_close(step: BarStep, index: int, reason: str) -> bool:
    """Return whether the last rejection is of this close's signal, not of a pending entry."""
    signal = int(step.signals[index]) & ENTER
    if not signal or reason not in CLOSE_REASONS:
        return False
    return reason not in EXTERNAL_REASONS or not _is_idle(step, index, signal)


def _is_idle(step: BarStep, index: int, signal: int) -> bool:
    """Return whether the position at the close would ignore this entry (engine rule 7)."""
    position = step.state.positions[index]
    if position["side"] == 0 or signal == ENTER:
        return False
    if signal & _own_entry(position):
        pyramiding = step.strategy.positionSizing.pyramiding
        return bool(position["entries"] >= (pyramiding.maxEntries if pyramiding.enabled else 1))
    return not step.strategy.exits_on_opposite_signal


def _own_entry(position: EngineRecord) -> int:
    return ENTER_LONG if position["side"] > 0 else ENTER_SHORT


def _entry_sides(signal: int) -> list[str]:
    """Return the sides of the entries in the signal."""
    return [side for bit, side in ((ENTER_LONG, "long"), (ENTER_SHORT, "short")) if signal & bit]


# ----------------------------------------------------------------------------------- pending orders


def _pending(state: State, index: int) -> int:
    """Return the signal bits that wait for the symbol's next bar."""
    return int(state.orders[index, 0]["pending"])


def _followed_signals(step: BarStep) -> Iterator[SignalRecord]:
    """Yield the signals of this close that led to a pending order."""
    for index in np.flatnonzero(step.signals).tolist():
        position, symbol = step.state.positions[index], _symbol(step, index)
        signal = int(step.signals[index]) & _pending(step.state, index)
        if signal & ENTER and not _is_idle(step, index, signal & ENTER):
            yield SignalRecord(symbol, _entry_sides(signal)[0], "entry")
        if position["side"] > 0 and signal & (CLOSE_LONG | EXIT_LONG):
            yield SignalRecord(symbol, "long", "exit")
        if position["side"] < 0 and signal & (CLOSE_SHORT | EXIT_SHORT):
            yield SignalRecord(symbol, "short", "exit")


def _new_orders(step: BarStep) -> Iterator[NewOrder]:
    """Yield an order for every pending entry and exit, also for exits that have one already."""
    at_market = step.strategy.executionSettings.orderType == "market"
    for index in np.flatnonzero(step.state.orders["pending"][:, 0]).tolist():
        position, symbol = step.state.positions[index], _symbol(step, index)
        if reason := _exit_reason(step, index):
            side = "sell" if position["side"] > 0 else "buy"
            yield NewOrder(symbol, side, Intent.EXIT, OrderSlot.EXIT, reason)
        signal = int(step.signals[index]) & _pending(step.state, index) & ENTER
        if signal and not _is_idle(step, index, signal):
            adds = position["side"] != 0 and signal & _own_entry(position)
            yield NewOrder(
                symbol,
                "buy" if signal & ENTER_LONG else "sell",
                Intent.ADD if adds else Intent.ENTRY,
                OrderSlot.ENTRY,
                price=None if at_market else float(step.state.orders[index, 0]["price"]),
            )


def _pending_orders(step: BarStep) -> Iterator[tuple[str, bool]]:
    """Yield (symbol, is exit) of every pending order."""
    for index in np.flatnonzero(step.state.orders["pending"][:, 0]).tolist():
        symbol = _symbol(step, index)
        if _pending(step.state, index) & ENTER:
            yield symbol, False
        if _exit_reason(step, index):
            yield symbol, True


def _exit_reason(step: BarStep, index: int) -> str:
    reverse = step.strategy.exits_on_opposite_signal
    return pending_exit_reason(
        step.state.positions[index], step.state.orders[index, 0], reverse=reverse
    )


def pending_exit_reason(position: EngineRecord, order: EngineRecord, *, reverse: bool) -> str:
    """Return why a position will be closed at its symbol's next open; empty when it will not.

    This repeats the kernel's `ordered_exit`, which is compiled and so not for web processes.
    """
    if position["side"] == 0:
        return ""
    long, pending = position["side"] > 0, int(order["pending"])
    if pending & (CLOSE_LONG if long else CLOSE_SHORT):
        return "signal"
    if pending & (EXIT_LONG if long else EXIT_SHORT):
        return "opposite_signal"
    if reverse and pending & (ENTER_SHORT if long else ENTER_LONG):
        return "opposite_signal"
    return EXIT_REASONS[order["close_reason"]] if pending & FLATTEN else ""
