"""What the market's masters and hours say against a complete strategy: warnings, not faults."""

from collections.abc import Iterator
from datetime import datetime

import numpy as np

from apps.core.errors import Fault
from apps.engine.candles import DAY, TIMEFRAMES
from apps.engine.language.steps import FixedQuantity
from apps.engine.language.strategy import Strategy
from apps.market.calendars import calendars_of
from apps.market.contracts import rules_of
from apps.market.moments import INDIA
from apps.market.rulebook.dates import day_number
from apps.symbols import services as symbols


def doubts_about(strategy: Strategy, *, now: datetime) -> Iterator[Fault]:
    """As things stand at `now`."""
    yield from _early_square_offs(strategy, now)
    yield from _less_than_lots(strategy, now)
    for index, verdict in enumerate(symbols.check_all(symbols=strategy.basicInfo.symbols, now=now)):
        if reason := _doubt(verdict):
            yield Fault(f"basicInfo.symbols[{index}]", f"{verdict.symbol} {reason}")


def _early_square_offs(strategy: Strategy, now: datetime) -> Iterator[Fault]:
    """Warn of a square-off by which an ordinary session has not opened.

    Nothing is entered from the square-off on (engine rule 9).
    """
    square_off, basic = strategy.exitConditions.squareOffTime, strategy.basicInfo
    if square_off is None or TIMEFRAMES[basic.timeframe] >= DAY:
        return
    today = np.array([day_number(now.astimezone(INDIA).date())], np.int32)
    for symbol, sessions in calendars_of(basic.symbols).items():
        opens = _clock(int(sessions.regular_hours(today)[0][0]))
        if square_off <= opens:
            message = f"{symbol} opens at {opens}, and nothing is entered from {square_off} on."
            yield Fault("exitConditions.squareOffTime", message, square_off)


def _clock(seconds: int) -> str:
    """Return seconds since midnight as HH:MM."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}"


def _less_than_lots(strategy: Strategy, now: datetime) -> Iterator[Fault]:
    """Quantities are rounded down to whole lots, as they are on this day (engine rule 6)."""
    sizing, today = strategy.positionSizing, now.astimezone(INDIA).date()
    if not isinstance(sizing, FixedQuantity):
        return
    rules = rules_of(strategy, first=today, last=today)
    for symbol in strategy.basicInfo.symbols:
        lot = rules.contract(symbol, lambda day: 0.0).lot  # ticks alone go by prices
        if sizing.quantity < lot:
            message = f"{symbol} comes in lots of {lot:g}: every entry would be below_one_lot."
            yield Fault("positionSizing.quantity", message, sizing.quantity)


def _doubt(verdict: symbols.Verdict) -> str:
    if not verdict.tradable:
        return f"cannot be traded: {verdict.reason}"
    return "is an index: it can be simulated, not bought" if verdict.type == "index" else ""
