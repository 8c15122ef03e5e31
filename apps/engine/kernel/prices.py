"""Formulas of prices: ticks, distances, orders.

Plain ones, for numbers or columns. `fills` compiles them for the kernel; `simulation/levels` reads
them without compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from apps.engine.kernel.codes import DUST, TICKS_PER_RUPEE
from apps.engine.kernel.records import Plan

Price = Any  # a number or a column f8[n], in rupees; the result has the same form


def tick_down(price: Price, tick: Price) -> Price:
    """Return the tick below (rule 3). The quotient is the double of the written decimal."""
    return np.floor(price * TICKS_PER_RUPEE / tick + 1e-6) * tick / TICKS_PER_RUPEE


def tick_up(price: Price, tick: Price) -> Price:
    return np.ceil(price * TICKS_PER_RUPEE / tick - 1e-6) * tick / TICKS_PER_RUPEE


def stop_distance(price: float, atr: float, plan: Plan) -> float:
    """Return the distance from the entry to the stop: the smaller of two (rule 3); 0 is no stop."""
    first = plan.stop_rate * price + plan.stop_points + plan.stop_atr * atr
    second = plan.second_stop_rate * price
    if first > 0 and second > 0:
        return min(first, second)
    return max(first, second)


def nearer_distance(distance: float, to_level: float) -> float:
    """Return the smaller of the distance to the stop and that to its level (rule 3); 0 is none, and
    a NaN of the level.
    """
    return to_level if to_level > 0 and not 0 < distance < to_level else distance


def target_distance(price: Price, stop: Price, atr: Price, plan: Plan) -> Price:
    """Return the distance from the entry to the target (rule 3), given the stop's; 0 is no
    target.
    """
    distance = plan.target_ratio * stop + plan.target_rate * price + plan.target_points
    return distance + plan.target_atr * atr


def step_distance(price: Price, stop: Price, step: int, plan: Plan) -> Price:
    """Return the distance from the entry to a step (rule 3), given the stop's."""
    distance = plan.step_ratio[step] * stop + plan.step_rate[step] * price
    return distance + plan.step_points[step]


def is_armed(extreme: Price, entry: float, side: float, plan: Plan) -> Price:
    """Return whether the extreme is far enough past the average entry to start a trailing stop
    (rule 5).
    """
    return (extreme - entry) * side >= plan.trail_from * entry - DUST


def trail_distance(extreme: Price, atr: float, plan: Plan) -> Price:
    """Return the distance from the extreme to the trailing stop (rule 5)."""
    return plan.trail_rate * extreme + plan.trail_points + plan.trail_atr * atr


def add_distance(last_fill: float, atr: float, plan: Plan) -> float:
    """Return the distance from the last fill to an add (rule 7)."""
    return plan.add_rate * last_fill + plan.add_points + plan.add_atr * atr


def offset_price(close: Price, up: bool, plan: Plan) -> Price:
    """Return the unrounded price of an order above or below a close (rule 12)."""
    return close * (1 + plan.order_offset) if up else close * (1 - plan.order_offset)
