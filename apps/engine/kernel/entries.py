"""Entries: which signals become one, how large it is, how it is filled, and why it is refused.

Compiled into the kernels of `kernel.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.engine.kernel.codes import (
    AFTER_SQUARE_OFF,
    AT_LIMIT,
    BELOW_ONE_LOT,
    BOTH_SIDES,
    BY_AMOUNT,
    BY_EQUITY,
    BY_QUANTITY,
    BY_RISK,
    CLOSE_LONG,
    CLOSE_SHORT,
    DAILY_LOSS_LIMIT,
    DUST,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    IGNORED,
    INSUFFICIENT_CASH,
    OPEN,
    OUTSIDE_SESSION,
    POSITION_LIMIT,
    SIZE,
    STOP,
    TRADED,
)  # fmt: skip
from apps.engine.kernel.fills import (
    Paise,
    Record,
    charges_on,
    pay,
    set_levels,
    step,
    stop_distance,
    tell,
)  # fmt: skip
from apps.engine.kernel.records import Plan

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array


@step
def reject(
    account: Record, refusals: Array, n: int, time: int, symbol: int, reason: int, signal: int
) -> int:
    """Count an entry that is not traded, and write it where anybody asks; how many are written."""
    account.rejected[reason] += 1
    if refusals.size == 0:
        return 0
    one = refusals[n]
    one.time, one.symbol, one.reason = time, symbol, reason
    one.side = (signal & ENTER_LONG != 0) - (signal & ENTER_SHORT != 0)
    return n + 1


@step
def refusal(p: Record, flag: int, n_open: int, plan: Plan) -> int:
    """Why the entry that waits may not trade before any price is known; TRADED when it may."""
    long = p.pending & ENTER_LONG != 0
    if p.side != 0 and (p.entries >= plan.max_entries or (p.side > 0) != long):
        return IGNORED
    if flag & AFTER_SQUARE_OFF:
        return OUTSIDE_SESSION
    if p.side == 0 and n_open >= plan.max_positions:
        return POSITION_LIMIT
    return TRADED


@step
def cost(
    lots: float, price: float, side: float, day: int, contract: Record, rates: Array
) -> tuple[float, Paise]:
    """(money locked, charges) of an entry of so many lots."""
    value = lots * contract.lot * price * contract.multiplier
    return value * contract.margin, charges_on(value, side > 0, False, contract.segment, day, rates)


@step
def affordable(
    lots: float, cash: float, price: float, side: float, day: int, contract: Record, rates: Array
) -> float:
    """The most lots, at most `lots`, that `cash` pays with their own charges; by bisection."""
    paid, beyond = 0.0, lots + 1.0
    middle = lots
    while beyond - paid > 1:
        locked, items = cost(middle, price, side, day, contract, rates)
        if locked + sum(items) / 100 <= cash + DUST:
            paid = middle
        else:
            beyond = middle
        middle = np.floor((paid + beyond) / 2)
    return paid


@step
def lots_for(
    p: Record, price: float, side: float, atr: Array, equity: float, cash: float, day: int,
    plan: Plan, contract: Record, rates: Array,
) -> tuple[int, float]:  # fmt: skip
    """(reason, lots): the wanted, then the position's limit, then what cash pays (rule 6)."""
    unit = price * contract.multiplier
    if plan.size_by == BY_QUANTITY:
        wanted = plan.size
    elif plan.size_by == BY_AMOUNT:
        wanted = plan.size / unit
    elif plan.size_by == BY_EQUITY:
        wanted = equity * plan.size / unit
    elif plan.size_by == BY_RISK:
        distance = stop_distance(price, atr[STOP], plan)
        wanted = equity * plan.size / (distance * contract.multiplier)
    else:
        wanted = equity * plan.size / (plan.size_atr * atr[SIZE] * contract.multiplier)
    lots = np.floor(wanted / contract.lot + 1e-9)
    if not lots >= 1:
        return BELOW_ONE_LOT, 0.0
    room = np.floor((plan.max_position_value / unit - p.quantity) / contract.lot + 1e-9)
    lots = min(lots, room)
    if lots < 1:
        return POSITION_LIMIT, 0.0
    lots = affordable(lots, cash, price, side, day, contract, rates)
    if lots < 1:
        return INSUFFICIENT_CASH, 0.0
    return TRADED, lots


@step
def enter(
    account: Record, p: Record, symbol: int, price: float, equity: float, time: int, day: int,
    plan: Plan, contract: Record, rates: Array, fills: Array, n_fills: int,
) -> tuple[int, int]:  # fmt: skip
    """Fill the entry that waits on `p` at `price`, or say why not (rules 3 to 7).

    Returns that, and how many fills are told.
    """
    side = 1.0 if p.pending & ENTER_LONG else -1.0
    if plan.order_by != AT_LIMIT:
        price = price * (1 + side * plan.slippage)
    atr = p.order_atr if p.side == 0 else p.atr
    cash = account.cash
    reason, lots = lots_for(p, price, side, atr, equity, cash, day, plan, contract, rates)
    if reason != TRADED:
        return reason, n_fills
    locked, items = cost(lots, price, side, day, contract, rates)
    quantity, fee = lots * contract.lot, pay(account, items)
    n_fills = tell(fills, n_fills, time, symbol, side, OPEN, quantity, price, items)
    account.cash -= locked + fee
    if p.side == 0:
        p.side, p.average, p.quantity, p.locked, p.charges = side, price, quantity, locked, fee
        p.entry_time, p.extreme, p.stop, p.target = time, price, np.nan, np.nan
        p.entry_day, p.entries, p.bars, p.trailed = day, 1, 0, 0
        for i in range(p.atr.size):
            p.atr[i] = p.order_atr[i]
    else:
        p.average = (p.average * p.quantity + price * quantity) / (p.quantity + quantity)
        p.quantity += quantity
        p.locked += locked
        p.charges += fee
        p.entries += 1
    p.exposure = side * p.quantity * contract.multiplier
    set_levels(p, plan, contract)
    return TRADED, n_fills


@step
def idle_signal(p: Record, plan: Plan) -> int:
    """The entry that the next bar ignores: in the held direction, with no add left (rule 7)."""
    if p.entries < plan.max_entries:
        return 0
    return ENTER_LONG if p.side > 0 else ENTER_SHORT


@step
def is_ignored(p: Record, signal: int, plan: Plan) -> bool:
    """Whether what is held ignores this entry (rule 7): no add is left in its direction, or the
    strategy chose to ignore opposite signals.
    """
    if p.side == 0:
        return False
    if signal & (ENTER_LONG if p.side > 0 else ENTER_SHORT):
        return bool(p.entries >= plan.max_entries)
    return not plan.reverse


@step
def drop(
    account: Record, p: Record, symbol: int, signal: int, time: int, plan: Plan,
    refusals: Array, n_refused: int,
) -> tuple[int, int]:  # fmt: skip
    """A signal without its entry, which is barred; one that would reverse still closes (rule 20).

    Returns it and how many refusals are written: none for an entry that would be ignored.
    """
    if not is_ignored(p, signal, plan):
        against = ENTER_SHORT if p.side > 0 else ENTER_LONG
        if p.side != 0 and signal & against:
            signal |= EXIT_LONG if p.side > 0 else EXIT_SHORT
        reason = account.barred - 1
        n_refused = reject(account, refusals, n_refused, time, symbol, reason, signal)
    return signal & ~ENTER, n_refused


@step
def is_both(signal: int) -> bool:
    """Whether an entry and its opposite are true at one close, which are neither then (rule 12)."""
    long, short = ENTER_LONG | EXIT_LONG, ENTER_SHORT | EXIT_SHORT
    return signal & ENTER == ENTER or signal & long == long or signal & short == short


@step
def admit(
    account: Record, p: Record, symbol: int, signal: int, time: int, plan: Plan,
    refusals: Array, n_refused: int,
) -> tuple[int, int]:  # fmt: skip
    """A signal less both sides, entries after a breach or while they are barred, those that what is
    held ignores, and exits that nothing held answers to; and how many refusals are written.
    """
    signal &= ~(CLOSE_LONG if p.side <= 0 else 0) & ~(CLOSE_SHORT if p.side >= 0 else 0)
    if is_both(signal):
        n_refused = reject(account, refusals, n_refused, time, symbol, BOTH_SIDES, signal)
        signal &= ~(ENTER | EXIT_LONG | EXIT_SHORT)
    if signal & ENTER and account.halted:
        if not is_ignored(p, signal, plan):
            n_refused = reject(account, refusals, n_refused, time, symbol, DAILY_LOSS_LIMIT, signal)
        signal &= ~ENTER
    if signal & ENTER and account.barred:
        return drop(account, p, symbol, signal, time, plan, refusals, n_refused)
    if p.side != 0 and not plan.reverse:
        signal &= ~(ENTER_SHORT if p.side > 0 else ENTER_LONG)
    return signal, n_refused
