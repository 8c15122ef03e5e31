"""What the market's rules say of a lane's symbols on one day, for runs that deal alike."""

from datetime import date
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from apps.engine.kernel.records import Array
from apps.engine.language.strategy import Strategy
from apps.engine.sessions import Sessions
from apps.engine.simulation.plan import Contract, contract_rows, rate_rows
from apps.market.contracts import market_rules_of
from apps.market.dates import day_in_india, midnight
from apps.trading.bar_rows import Row, unpacked
from apps.trading.models import Lane

CLOSE: Final = 3
"""Its place among the prices of a bar."""

_MOST: Final = 500
"""Rows in which the first bar of a symbol is looked for."""


class Dealing(NamedTuple):
    """What of a strategy decides by which terms it deals."""

    broker: str | None
    product: str
    charges: str | None


class Terms(NamedTuple):
    """Contracts as they are on the day, also as CONTRACT records; RATE records of the charges; the
    hours of each symbol.
    """

    contracts: tuple[Contract, ...]
    units: Array
    rates: Array
    calendars: tuple[Sessions, ...]


def dealing_of(strategy: Strategy) -> Dealing:
    settings = strategy.executionSettings
    return Dealing(settings.broker, strategy.product, settings.charges)


def terms_of(strategy: Strategy, lane: Lane, row: Row, *, first: date) -> Terms:
    """On the day of a row, by the rules that are loaded. `first` is the day on which the lane's
    stretch began: as in a backtest from that day on, ticks that depend on a price take that of the
    first bar used since.
    """
    rules = market_rules_of(strategy, first=first, last=day_in_india(row.time))
    contracts = []
    for at, symbol in enumerate(lane.symbols):
        price_on = partial(_first_close, lane, at, row)
        contracts.append(rules.contract(symbol, price_on).on(row.day))
    segments = {contract.segment: number for number, contract in enumerate(contracts)}
    return Terms(
        tuple(contracts),
        contract_rows(contracts, segments),
        rate_rows(rules.schedule, segments),
        tuple(rules.sessions(symbol) for symbol in lane.symbols),
    )


def _first_close(lane: Lane, symbol: int, row: Row, since: date) -> float:
    """Of the first bar that a row used from that day on, up to `row`; 0 while there is none."""
    used = lane.rows.filter(time__gte=midnight(since), time__lt=row.time).order_by("time")
    count = len(lane.symbols)
    earlier = (unpacked(bytes(data), count) for data in used.values_list("bars", flat=True)[:_MOST])
    closes = (bars[symbol, CLOSE] for bars in (*earlier, row.bars))
    return next((float(close) for close in closes if not np.isnan(close)), 0.0)
