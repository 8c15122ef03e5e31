"""Splits and bonuses between two rows of a live run.

A backtest reads all prices in the terms of one day and never meets a split. A live run trades each
day's prices as they are, so its positions, levels and orders are converted before the first row of
the day from which a split or bonus counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, Final, NamedTuple

from apps.engine.kernel.codes import AT_LIMIT, ENTER_LONG
from apps.engine.kernel.prices import tick_down, tick_up
from apps.engine.kernel.records import Array, Plan, State
from apps.engine.live.rows import OPEN_COLUMN, BarSnapshot

# The fields of a POSITION and of an ORDER record that are in rupees of a share's price.
_POSITION_PRICES: Final = (
    "average",
    "stop",
    "target",
    "extreme",
    "close",
    "last_fill",
    "stop_level",
    "target_level",
    "steps",
    "atr",
)
_ORDER_PRICES: Final = ("price", "stop_level", "target_level", "atr")


class SettledFraction(NamedTuple):
    """The fraction of a share that a split left over, settled in cash.

    `locked` are the rupees that the position locks before and after, `gross` the profit or loss of
    the fraction. There are no charges: the company pays for fractions.
    """

    slot: int
    locked: tuple[float, float]
    gross: float


class Conversion(NamedTuple):
    """The settled fractions.

    For symbols in `too_few` less than one share would be left: they are closed instead of
    converted.
    """

    fractions: Sequence[SettledFraction]
    too_few: Sequence[int]


def convert(
    state: State, plan: Plan, ratios: Mapping[int, Fraction], row: BarSnapshot, contracts: Array
) -> Conversion:
    """Turn each share of a symbol into `ratio` shares at prices divided by it.

    A fraction that is left over is settled at the open of the row, or at the last close where the
    symbol has no bar in it, for longs and shorts alike. Levels and the price of a pending
    order are rounded to the tick again (rules 3 and 12). `contracts` are CONTRACT records.
    """
    fractions, too_few = [], []
    for slot, ratio in ratios.items():
        position, order = state.positions[slot], state.orders[slot, 0]
        held = float(position["quantity"])
        if position["side"] and held * ratio < 1:
            too_few.append(slot)
            _mark_at_open(position, row, slot, ratio)
            continue
        for name in _POSITION_PRICES:
            position[name] /= float(ratio)
        for name in _ORDER_PRICES:
            order[name] /= float(ratio)
        _round_levels(position, order, plan, float(contracts[slot]["tick"]))
        if position["side"]:
            opened = row.bars[slot, OPEN_COLUMN]
            price = float(opened if row.has(slot) else position["close"])
            exact = Fraction(held) * ratio
            whole = floor(exact)
            position["quantity"] = whole
            position["sold"] *= float(ratio)
            if whole != exact:
                locked = float(position["locked"])
                position["locked"] = locked * float(whole / exact)
                exposure = float(position["side"] * position["contract"]["multiplier"])
                gross = exposure * float(exact - whole) * (price - float(position["average"]))
                left = float(position["locked"])
                state.account["cash"] += gross + locked - left
                fractions.append(SettledFraction(slot, (locked, left), gross))
    return Conversion(fractions, too_few)


def _mark_at_open(position: Any, row: BarSnapshot, slot: int, ratio: Fraction) -> None:
    """Close the position at the open of the row, in its old shares."""
    if row.has(slot):
        position["close"] = float(row.bars[slot, OPEN_COLUMN]) * float(ratio)
        position["time"], position["day"] = row.time, row.day


def _round_levels(position: Any, order: Any, plan: Plan, tick: float) -> None:
    """Round as when the levels were set: stops, steps and targets away from the entry, a limit in
    the run's favour, a stop order away.
    """
    long = position["side"] > 0
    for name in ("stop", "stop_level"):
        position[name] = (tick_down if long else tick_up)(position[name], tick)
    for name in ("target", "target_level", "steps"):
        position[name] = (tick_up if long else tick_down)(position[name], tick)
    up = bool(order["pending"] & ENTER_LONG) != (plan.order_by == AT_LIMIT)
    order["price"] = (tick_up if up else tick_down)(order["price"], tick)
