"""Splits and bonuses of shares that a run holds on paper: more or fewer shares, at other prices.

A backtest reads all prices in the terms of one day and never meets one; a run on paper trades each
day's prices as they are, so its positions, levels and orders are converted before the first row of
the day from which a split counts.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, Final, NamedTuple

from apps.engine.kernel.codes import AT_LIMIT, ENTER_LONG
from apps.engine.kernel.prices import tick_down, tick_up
from apps.engine.kernel.records import Array, Plan, State
from apps.trading.bar_rows import BarSnapshot
from apps.trading.step_result import FractionSettlement

_SCALED: Final = (
    "average",
    "stop",
    "target",
    "extreme",
    "order_price",
    "close",
    "atr",
    "order_atr",
)
"""What a position remembers in rupees of a price."""

OPEN: Final = 0
"""The place of the open among the prices of a bar."""


class Conversion(NamedTuple):
    """`too_few` are symbols of which less than one share would be left: they are not converted and
    are to be closed.
    """

    fractions: Sequence[FractionSettlement]
    too_few: Sequence[int]


def convert(
    state: State, ratios: Mapping[int, Fraction], row: BarSnapshot, plan: Plan, contracts: Array
) -> Conversion:
    """Turn each share into `ratio` shares at prices divided by it, by the symbol's index.

    A fraction that is left over is settled at the open of the row, or where the symbol has no bar
    in it at its last close, for longs and shorts alike. Stop, target and the price of an order that
    waits are rounded to the tick again (engine rules 3 and 12). `contracts` are CONTRACT records.
    """
    fractions, too_few = [], []
    for symbol, ratio in ratios.items():
        position = state.positions[symbol]
        held = float(position["quantity"])
        if position["side"] and held * ratio < 1:
            too_few.append(symbol)
            _mark_at_open(position, row, symbol, ratio)
            continue
        for name in _SCALED:
            position[name] /= float(ratio)
        _round_levels(position, plan, float(contracts[symbol]["tick"]))
        if position["side"]:
            fraction = _settle(position, held, ratio, _open_of(row, symbol, position))
            if fraction is not None:
                state.account["cash"] += fraction.gross + fraction.locked[0] - fraction.locked[1]
                fractions.append(fraction._replace(symbol=symbol))
    return Conversion(fractions, too_few)


def _settle(position: Any, held: float, ratio: Fraction, price: float) -> FractionSettlement | None:
    """Give the position its whole shares; returns what became of the rest, if there is any.

    Any: a POSITION record.
    """
    exact = Fraction(held) * ratio
    whole = floor(exact)
    locked, exposure = float(position["locked"]), float(position["exposure"]) / held
    position["quantity"], position["exposure"] = whole, exposure * whole
    if whole == exact:
        return None
    position["locked"] = locked * float(whole / exact)
    gross = exposure * float(exact - whole) * (price - float(position["average"]))
    return FractionSettlement(0, (locked, float(position["locked"])), gross)


def _open_of(row: BarSnapshot, symbol: int, position: Any) -> float:
    """The price of a share in the row, in the new terms. Any: as above."""
    return float(row.bars[symbol, OPEN]) if row.has(symbol) else float(position["close"])


def _mark_at_open(position: Any, row: BarSnapshot, symbol: int, ratio: Fraction) -> None:
    """Let the position be closed at the open of the row, in its old shares. Any: as above."""
    if row.has(symbol):
        position["close"] = float(row.bars[symbol, OPEN]) * float(ratio)
        position["time"], position["day"] = row.time, row.day


def _round_levels(position: Any, plan: Plan, tick: float) -> None:
    """As they were rounded when they were set: a stop and a target away from the entry, a limit in
    our favour, a stop order away. Any: as above.
    """
    long = position["side"] > 0
    position["stop"] = (tick_down if long else tick_up)(position["stop"], tick)
    position["target"] = (tick_up if long else tick_down)(position["target"], tick)
    up = bool(position["pending"] & ENTER_LONG) != (plan.order_by == AT_LIMIT)
    position["order_price"] = (tick_up if up else tick_down)(position["order_price"], tick)
