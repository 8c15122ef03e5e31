"""Prices and charges of one position: its levels, where it is entered and left, what a fill costs.

Compiled into the kernels of `kernel.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numba import njit

from apps.engine.kernel import prices
from apps.engine.kernel.codes import (
    AFTER_SQUARE_OFF,
    AT_LIMIT,
    AT_MARKET,
    BY_HOLDING,
    BY_OPPOSITE,
    BY_SIGNAL,
    BY_SQUARE_OFF,
    BY_STOP,
    BY_TARGET,
    BY_TRAIL,
    CLOSE_LONG,
    CLOSE_SHORT,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    FLATTEN,
    OPEN,
    STOP,
    TARGET,
    TRAIL,
)  # fmt: skip
from apps.engine.kernel.records import Bar, Plan

if TYPE_CHECKING:
    from apps.engine.kernel.records import Array

kernel = njit(nogil=True, error_model="numpy", cache=True)  # a kernel's cache holds its steps

Paise = tuple[float, float, float, float, float, float, float, float]
Function = TypeVar("Function", bound=Callable[..., Any])  # Any: whatever is compiled
Record = Any  # a NumPy record, whose fields compiled code reads as attributes: no type says that


STEP: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}  # Any: options


def step(function: Function) -> Function:
    """Compiled for kernels, never with fastmath: it would cost the equal bits.

    Without Numba's runtime it allocates nothing, and no references to arrays are counted at every
    call and look, for several times the work of the rules. Numba's types do not know that option.
    """
    compiled: Function = njit(**STEP)(function)
    return compiled


tick_down, tick_up = step(prices.tick_down), step(prices.tick_up)
stop_distance, target_distance = step(prices.stop_distance), step(prices.target_distance)
is_armed, trail_distance = step(prices.is_armed), step(prices.trail_distance)
offset_price = step(prices.offset_price)


@step
def paise(rupees: float) -> float:
    """Whole paise, half up; the margin absorbs binary halves such as 0.145 rupees."""
    return np.floor(rupees * 100 + 0.5 + 1e-9)


@step
def charges_on(
    value: float, buying: bool, from_demat: bool, segment: int, day: int, rates: Array
) -> Paise:
    """Return one fill's charges in the order of CHARGE_KINDS, each rounded (rule 10).

    `from_demat` is true of a sale of what was bought on an earlier day.
    """
    k = rates.size - 1  # the last that has begun is in force
    while k >= 0 and (rates[k].segment != segment or rates[k].first_day > day):
        k -= 1
    if k < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    rate = rates[k]
    brokerage = rate.brokerage_flat + min(rate.brokerage * value, rate.brokerage_cap)
    tax = (rate.tax_buy if buying else rate.tax_sell) * value
    exchange, regulator = rate.exchange * value, rate.regulator * value
    stamp = rate.stamp_buy * value if buying else 0.0
    depository = rate.depository if from_demat else 0.0
    gst = rate.gst * (brokerage + exchange + regulator + depository)
    fee, fund = paise(exchange), paise(rate.ipft * value)
    return (
        paise(brokerage), paise(tax), fee, fund, paise(regulator), paise(stamp), paise(gst),
        paise(depository),
    )  # fmt: skip


@step
def pay(account: Record, items: Paise) -> float:
    """Note them by kind; returns the rupees that leave the account."""
    for i in range(len(items)):
        account.paid[i] += items[i]
    return sum(items) / 100


@step
def tell(
    fills: Array, n: int, time: int, symbol: int, side: float, reason: int, quantity: float,
    price: float, items: Paise,
) -> int:  # fmt: skip
    """Write a fill, where anybody asks for them; returns how many there are now."""
    if fills.size == 0:
        return 0
    fill = fills[n]
    fill.time, fill.symbol, fill.side, fill.reason = time, symbol, side, reason
    fill.quantity, fill.price, fill.charges = quantity, price, sum(items) / 100
    for i in range(len(items)):
        fill.paid[i] = items[i]
    return n + 1


@step
def worth(p: Record, price: float) -> float:
    """What a position adds to equity at this price."""
    return p.locked + p.exposure * (price - p.average)


@step
def set_levels(p: Record, plan: Plan, contract: Record) -> None:
    """Stop and target from the average entry, rounded away from it (rules 3 and 7)."""
    tick = contract.tick
    distance = stop_distance(p.average, p.atr[STOP], plan)
    if distance > 0:
        level = p.average - p.side * distance
        level = tick_down(level, tick) if p.side > 0 else tick_up(level, tick)
        # An add never loosens a stop; at the level of the trailing stop it is the stop (rule 5).
        if not (p.stop - level) * p.side > 0:
            p.stop, p.trailed = level, 0
    distance = target_distance(p.average, distance, p.atr[TARGET], plan)
    if distance > 0:
        level = p.average + p.side * distance
        p.target = tick_up(level, tick) if p.side > 0 else tick_down(level, tick)


@step
def trail(p: Record, bar: Bar, plan: Plan, contract: Record) -> None:
    """Move the stop after the extreme of completed bars; it lives from the next bar (rule 5)."""
    best = bar.high if p.side > 0 else bar.low
    if (best - p.extreme) * p.side > 0:
        p.extreme = best
    follow(p, plan, contract)


@step
def trailed(p: Record, extreme: float, plan: Plan, contract: Record) -> float:
    """Where an extreme puts the stop; NaN where it is not armed (rule 5)."""
    if not is_armed(extreme, p.average, p.side, plan):
        return np.nan
    level = extreme - p.side * trail_distance(extreme, p.atr[TRAIL], plan)
    tick = contract.tick
    return tick_down(level, tick) if p.side > 0 else tick_up(level, tick)


@step
def follow(p: Record, plan: Plan, contract: Record) -> None:
    """Put the stop where the extreme says, never looser (rule 5)."""
    level = trailed(p, p.extreme, plan, contract)
    if not (np.isnan(level) or (p.stop - level) * p.side >= 0):
        p.stop, p.trailed = level, 1


@step
def order_price(close: float, signal: int, plan: Plan, contract: Record) -> float:
    """Of a limit order, rounded in our favour, or of a stop order, rounded away (rule 12)."""
    up = (signal & ENTER_LONG != 0) != (plan.order_by == AT_LIMIT)
    price = offset_price(close, up, plan)
    return tick_up(price, contract.tick) if up else tick_down(price, contract.tick)


@step
def filled_at(p: Record, bar: Bar, plan: Plan) -> tuple[float, bool]:
    """(price, inside the bar) of the entry that waits; NaN where it is not reached (rule 12)."""
    if plan.order_by == AT_MARKET:
        return bar.open, False
    price = p.order_price
    up = (p.pending & ENTER_LONG != 0) != (plan.order_by == AT_LIMIT)
    if bar.open >= price if up else bar.open <= price:
        return bar.open, False
    reached = bar.high >= price if up else bar.low <= price
    if not reached or (p.side != 0 and is_beyond(p, price)):  # the stop or the target came first
        return np.nan, False
    return price, True


@step
def is_beyond(p: Record, price: float) -> bool:
    """Whether the position is left before the price is reached."""
    return (price - p.stop) * p.side <= 0 or (price - p.target) * p.side >= 0


@step
def slipped(p: Record, price: float, plan: Plan) -> float:
    """A market or stop exit: slippage works against it (rule 4)."""
    return price * (1 - p.side * plan.slippage)


@step
def ordered_exit(p: Record, plan: Plan) -> int:
    """Why what waits on `p` closes it at the open; OPEN when it does not (rules 1 and 8)."""
    long = p.side > 0
    if p.pending & (CLOSE_LONG if long else CLOSE_SHORT):
        return BY_SIGNAL
    if p.pending & (EXIT_LONG if long else EXIT_SHORT):
        return BY_OPPOSITE
    if plan.reverse and p.pending & (ENTER_SHORT if long else ENTER_LONG):
        return BY_OPPOSITE
    return p.asked if p.pending & FLATTEN else OPEN


@step
def exit_at_open(p: Record, price: float, flag: int, plan: Plan) -> tuple[int, float]:
    """(reason, fill) of an exit at the open; OPEN when there is none (rules 2, 3, 9 and 12)."""
    reason = ordered_exit(p, plan) if p.pending != 0 else OPEN
    if reason != OPEN:
        return reason, slipped(p, price, plan)
    if flag & AFTER_SQUARE_OFF:
        return BY_SQUARE_OFF, slipped(p, price, plan)
    if 0 < plan.max_holding <= p.bars:
        return BY_HOLDING, slipped(p, price, plan)
    if (price - p.stop) * p.side <= 0:
        return BY_TRAIL if p.trailed else BY_STOP, slipped(p, price, plan)
    if (price - p.target) * p.side >= 0:
        return BY_TARGET, price
    return OPEN, price


@step
def exit_inside(p: Record, bar: Bar, plan: Plan) -> tuple[int, float]:
    """(reason, fill) of stop or target inside the bar, the stop first (rule 3)."""
    worst, best = (bar.low, bar.high) if p.side > 0 else (bar.high, bar.low)
    if (worst - p.stop) * p.side <= 0:
        # Slippage can put the stop of a new position beyond the open that it was filled at.
        level = p.stop if (bar.open - p.stop) * p.side > 0 else bar.open
        return BY_TRAIL if p.trailed else BY_STOP, slipped(p, level, plan)
    if (best - p.target) * p.side >= 0:
        return BY_TARGET, p.target
    return OPEN, bar.close


@step
def exit_of_fill_bar(p: Record, bar: Bar, plan: Plan) -> tuple[int, float]:
    """(reason, fill) in the bar that the entry was filled inside: the stop alone (rule 12)."""
    worst = bar.low if p.side > 0 else bar.high
    if (worst - p.stop) * p.side <= 0:
        # Slippage can put the stop of a new position beyond the price of its order.
        level = p.stop if (p.order_price - p.stop) * p.side > 0 else p.order_price
        return BY_TRAIL if p.trailed else BY_STOP, slipped(p, level, plan)
    return OPEN, bar.close
