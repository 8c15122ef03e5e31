"""What a step means: which orders were filled, refused and placed, and what was signalled.

The engine tells of fills, of refusals and of what waits for the next bar; orders are how users see
the same. An entry that waits is an open order from the close that signalled it on, and so is an
exit that waits. An exit that a bar makes (a stop, a target, a square-off) is placed and filled in
it.
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
from apps.engine.language.strategy import Strategy
from apps.trading.models import Intent
from apps.trading.money import NOTHING, rupees
from apps.trading.step_result import BarStep, EntryBlock

Record = Any
"""A NumPy record, whose fields no type knows."""

EXTERNAL_REASONS: Final = frozenset(EntryBlock)
"""Why a signal is refused that pass over in silence what would have been ignored anyway."""
CLOSE_REASONS: Final = EXTERNAL_REASONS | {"both_sides", "daily_loss_limit"}
"""Why a signal is refused at the close that heard it; every other reason is met at an open."""
EXPIRED: Final = "expiry"
BY_LEVEL: Final = {"stop_loss": "stop", "trailing_stop": "stop", "take_profit": "target"}
"""Exits at a level, and which of the position's it is."""


class OrderSlot(StrEnum):
    """Which of the orders that one bar makes of one symbol."""

    ENTRY = "entry"  # waits from the bar's close on
    EXIT = "exit"  # waits from the bar's close on
    HELD = "held"  # closes what was held when the bar began
    OPENED = "opened"  # closes what the bar itself has opened
    EXPIRY = "expiry"  # settles a contract at its last close


def client_order_id(run_id: str, bar_time: int, symbol: str, slot: OrderSlot) -> str:
    """The same order has the same id, however often it is made; 96 bits of SHA-256, as an id."""
    return sha256(f"{run_id} {bar_time} {symbol} {slot}".encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Execution:
    """One fill, and what it does to the money.

    `locked` are the rupees that it binds, below 0 those that it frees; `gross` is what an exit has
    won or lost before charges; `paid` are paise by kind of charge. `level` is the price of a stop
    or a target that was reached. `held_since` is the start of the last bar at whose close the
    symbol was held, if there was one; `was_held` is true of an exit of what the row began with.
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
    """An order that waits for the symbol's next bar; `price` where it is not at market."""

    symbol: str
    side: str
    intent: Intent
    slot: OrderSlot
    reason: str = ""
    price: float | None = None


@dataclass(frozen=True, slots=True)
class RejectedSignal:
    """An entry that waited and was not traded."""

    symbol: str
    side: str
    reason: str
    held_since: int = 0


@dataclass(frozen=True, slots=True)
class SignalRecord:
    """A signal of this close; one that is not followed says why."""

    symbol: str
    side: str
    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FractionPaid:
    """A part of a share that a split left over, settled in cash: the rupees that its position locks
    less (below 0), and what the fraction has won or lost.
    """

    symbol: str
    locked: Decimal
    gross: Decimal


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """All of one step. `waiting` are the symbols and intents for which an order waits after it."""

    step: BarStep
    executions: tuple[Execution, ...]
    refused: tuple[RejectedSignal, ...]
    placed: tuple[NewOrder, ...]
    heard: tuple[SignalRecord, ...]
    waiting: frozenset[tuple[str, bool]]
    fractions: tuple[FractionPaid, ...] = ()


def interpret_step(step: BarStep) -> StepOutcome:
    refused, ignored_signals = _refusals(step)
    placed = tuple(_placed(step))
    return StepOutcome(
        step=step,
        executions=tuple(_executions(step)),
        refused=tuple(refused),
        placed=placed,
        heard=(*ignored_signals, *_followed(step)),
        waiting=frozenset(_waiting(step)),
        fractions=tuple(_fractions(step)),
    )


def _symbol(step: BarStep, index: int) -> str:
    return step.strategy.basicInfo.symbols[index]


# ------------------------------------------------------------------------------------------- fills


def _executions(step: BarStep) -> Iterator[Execution]:
    trades = iter(step.trades)
    fills = list(step.fills)
    last = set({int(fill["symbol"]): place for place, fill in enumerate(fills)}.values())
    held = set(np.flatnonzero(step.before.positions["side"]).tolist())
    locked: dict[int, float] = {}
    for place, fill in enumerate(fills):
        index = int(fill["symbol"])
        before = step.before.positions[index]
        bound = locked.get(index, float(before["locked"]) if before["side"] else 0.0)
        if fill["reason"] == OPEN:
            after = step.state.positions[index]
            now = float(after["locked"]) if place in last else bound + _cost(step, fill)
            yield _entry(step, fill, added=bound > 0, locked=rupees(now) - rupees(bound))
        else:
            now = 0.0
            position = step.state.positions[index] if place in last else before
            was_held = index in held
            yield _exit(step, fill, next(trades), position, was_held, locked=-rupees(bound))
            held.discard(index)
        locked[index] = now


def _fractions(step: BarStep) -> Iterator[FractionPaid]:
    for fraction in step.fractions:
        before, after = map(rupees, fraction.locked)
        yield FractionPaid(_symbol(step, fraction.symbol), after - before, rupees(fraction.gross))


def _cost(step: BarStep, fill: Record) -> float:
    """What an entry locks (engine rule 6), where its position did not live to say it."""
    day = int(ist_day(np.array([fill["time"]]))[0])
    terms = step.contracts[int(fill["symbol"])].on(day)
    return float(fill["quantity"] * fill["price"] * terms.multiplier * terms.margin)


def _entry(step: BarStep, fill: Record, *, added: bool, locked: Decimal) -> Execution:
    before = step.before.positions[int(fill["symbol"])]
    return Execution(
        **_facts(step, fill),
        intent=Intent.ADD if added else Intent.ENTRY,
        slot=OrderSlot.ENTRY,
        reason="",
        locked=locked,
        gross=NOTHING,
        held_since=int(before["time"]),
    )


def _exit(
    step: BarStep, fill: Record, trade: Record, position: Record, was_held: bool, *, locked: Decimal
) -> Execution:
    reason = EXIT_REASONS[fill["reason"]]
    level = BY_LEVEL.get(reason)
    slot = OrderSlot.HELD if was_held else OrderSlot.OPENED
    return Execution(
        **_facts(step, fill),
        intent=Intent.EXIT,
        slot=OrderSlot.EXPIRY if reason == EXPIRED else slot,
        reason=reason,
        locked=locked,
        gross=rupees(float(trade["gross"])),
        level=float(position[level]) if level else None,
        was_held=was_held,
    )


def _facts(step: BarStep, fill: Record) -> dict[str, Any]:
    """What every fill tells by itself. Any: of several types."""
    return {
        "symbol": _symbol(step, int(fill["symbol"])),
        "time": int(fill["time"]),
        "side": "buy" if fill["side"] > 0 else "sell",
        "quantity": round(float(fill["quantity"])),
        "price": float(fill["price"]),
        "paid": tuple(round(float(paise)) for paise in fill["paid"]),
    }


# ---------------------------------------------------------------------------------------- refusals


def _refusals(step: BarStep) -> tuple[list[RejectedSignal], list[SignalRecord]]:
    """Of entries that waited, and of signals of this very close."""
    refused: list[RejectedSignal] = []
    ignored_signals: list[SignalRecord] = []
    by_symbol: dict[int, list[str]] = defaultdict(list)
    for one in step.refusals:
        by_symbol[int(one["symbol"])].append(_reason(step, one))
    for index, reasons in by_symbol.items():
        symbol = _symbol(step, index)
        if _is_of_close(step, index, reasons[-1]):
            reason = reasons.pop()
            sides = _sides(int(step.signals[index]))
            ignored_signals += [SignalRecord(symbol, side, "entry", reason) for side in sides]
        before = step.before.positions[index]
        for reason, side in zip(reasons, _sides(int(before["pending"])), strict=False):
            refused.append(RejectedSignal(symbol, side, reason, int(before["time"])))
    return refused, ignored_signals


def _reason(step: BarStep, refusal: Record) -> str:
    reason = REJECTIONS[refusal["reason"]]
    return step.entry_block if step.entry_block and reason in EXTERNAL_REASONS else reason


def _is_of_close(step: BarStep, index: int, reason: str) -> bool:
    """Whether the last refusal of a symbol is of the signal just heard, not of one that waited."""
    heard = int(step.signals[index]) & ENTER
    if not heard or reason not in CLOSE_REASONS:
        return False
    return reason not in EXTERNAL_REASONS or not _is_idle(step, index, heard)


def _is_idle(step: BarStep, index: int, signal: int) -> bool:
    """Whether the position at the close would ignore this entry (engine rule 7)."""
    position = step.state.positions[index]
    if position["side"] == 0 or signal == ENTER:
        return False
    if signal & _own_entry(position):
        return bool(position["entries"] >= _most_entries(step.strategy))
    return not step.strategy.exits_on_opposite_signal


def _own_entry(position: Record) -> int:
    return ENTER_LONG if position["side"] > 0 else ENTER_SHORT


def _most_entries(strategy: Strategy) -> int:
    pyramiding = strategy.positionSizing.pyramiding
    return pyramiding.maxEntries if pyramiding.enabled else 1


def _sides(signal: int) -> list[str]:
    """Of the entries in it."""
    return [side for bit, side in ((ENTER_LONG, "long"), (ENTER_SHORT, "short")) if signal & bit]


# ----------------------------------------------------------------------------------- what waits now


def _followed(step: BarStep) -> Iterator[SignalRecord]:
    """Signals of this close that something waits for now."""
    for index in np.flatnonzero(step.signals).tolist():
        position, symbol = step.state.positions[index], _symbol(step, index)
        signal = int(step.signals[index]) & int(position["pending"])
        if signal & ENTER and not _is_idle(step, index, signal & ENTER):
            yield SignalRecord(symbol, _sides(signal)[0], "entry")
        if position["side"] > 0 and signal & (CLOSE_LONG | EXIT_LONG):
            yield SignalRecord(symbol, "long", "exit")
        if position["side"] < 0 and signal & (CLOSE_SHORT | EXIT_SHORT):
            yield SignalRecord(symbol, "short", "exit")


def _placed(step: BarStep) -> Iterator[NewOrder]:
    """An order for all that waits; an exit that has one already is not to have another."""
    for index in np.flatnonzero(step.state.positions["pending"]).tolist():
        position, symbol = step.state.positions[index], _symbol(step, index)
        if reason := exit_that_waits(position, reverse=step.strategy.exits_on_opposite_signal):
            side = "sell" if position["side"] > 0 else "buy"
            yield NewOrder(symbol, side, Intent.EXIT, OrderSlot.EXIT, reason)
        signal = int(step.signals[index]) & int(position["pending"]) & ENTER
        if signal and not _is_idle(step, index, signal):
            adds = position["side"] != 0 and signal & _own_entry(position)
            yield NewOrder(
                symbol,
                "buy" if signal & ENTER_LONG else "sell",
                Intent.ADD if adds else Intent.ENTRY,
                OrderSlot.ENTRY,
                price=_price(step, position),
            )


def _price(step: BarStep, position: Record) -> float | None:
    at_market = step.strategy.executionSettings.orderType == "market"
    return None if at_market else float(position["order_price"])


def _waiting(step: BarStep) -> Iterator[tuple[str, bool]]:
    """(symbol, whether it is an exit)."""
    for index in np.flatnonzero(step.state.positions["pending"]).tolist():
        position, symbol = step.state.positions[index], _symbol(step, index)
        if position["pending"] & ENTER:
            yield symbol, False
        if exit_that_waits(position, reverse=step.strategy.exits_on_opposite_signal):
            yield symbol, True


def exit_that_waits(position: Record, *, reverse: bool) -> str:
    """Why a position will be closed at its symbol's next open; empty when it will not.

    As `engine.kernel.fills.ordered_exit` has it, which is compiled and so not for web processes.
    """
    if position["side"] == 0:
        return ""
    long, pending = position["side"] > 0, int(position["pending"])
    if pending & (CLOSE_LONG if long else CLOSE_SHORT):
        return "signal"
    if pending & (EXIT_LONG if long else EXIT_SHORT):
        return "opposite_signal"
    if reverse and pending & (ENTER_SHORT if long else ENTER_LONG):
        return "opposite_signal"
    return EXIT_REASONS[position["asked"]] if pending & FLATTEN else ""
