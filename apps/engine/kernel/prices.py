"""Formulas of prices: ticks, distances, orders. Plain ones, of numbers or of columns.

`fills` compiles them for the kernel; `simulation/levels` reads them where nothing is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.engine.kernel.codes import DUST, TICKS_PER_RUPEE
from apps.engine.kernel.records import Plan

Price = Any  # a number or a column f8[n], in rupees, which come out as they went in


def tick_down(price: Price, tick: Price) -> Price:
    """To the tick below (rule 3). The quotient is the double that the written decimal is too."""
    return np.floor(price * TICKS_PER_RUPEE / tick + 1e-6) * tick / TICKS_PER_RUPEE


def tick_up(price: Price, tick: Price) -> Price:
    return np.ceil(price * TICKS_PER_RUPEE / tick - 1e-6) * tick / TICKS_PER_RUPEE


def stop_distance(price: float, atr: float, plan: Plan) -> float:
    """From the entry to the stop: the smaller where two are set (rule 3); 0 is no stop."""
    first = plan.stop_rate * price + plan.stop_points + plan.stop_atr * atr
    second = plan.second_stop_rate * price
    if first > 0 and second > 0:
        return min(first, second)
    return max(first, second)


def target_distance(price: Price, stop: Price, atr: Price, plan: Plan) -> Price:
    """From the entry to the target (rule 3), of which the stop is so far away; 0 is no target."""
    distance = plan.target_ratio * stop + plan.target_rate * price + plan.target_points
    return distance + plan.target_atr * atr


def is_armed(extreme: Price, entry: float, side: float, plan: Plan) -> Price:
    """Whether the extreme is as far past the average entry as arms a trailing stop (rule 5)."""
    return (extreme - entry) * side >= plan.trail_from * entry - DUST


def trail_distance(extreme: Price, atr: float, plan: Plan) -> Price:
    """From the extreme to the trailing stop (rule 5)."""
    return plan.trail_rate * extreme + plan.trail_points + plan.trail_atr * atr


def offset_price(close: Price, up: bool, plan: Plan) -> Price:
    """Of an order that stands above a close or below it, before it is rounded (rule 12)."""
    return close * (1 + plan.order_offset) if up else close * (1 - plan.order_offset)
