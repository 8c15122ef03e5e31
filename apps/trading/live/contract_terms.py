"""What the market's rules say of a stream's symbols on one day, for runs that deal alike."""

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
from apps.trading.bar_rows import BarSnapshot, unpacked
from apps.trading.models import BarStream

CLOSE: Final = 3
"""Its place among the prices of a bar."""

_MOST: Final = 500
"""Rows in which the first bar of a symbol is looked for."""


class ExecutionTerms(NamedTuple):
    """What of a strategy decides by which terms it deals."""

    broker: str | None
    product: str
    charges: str | None


class ContractTerms(NamedTuple):
    """Contracts as they are on the day, also as CONTRACT records; RATE records of the charges; the
    hours of each symbol.
    """

    contracts: tuple[Contract, ...]
    units: Array
    rates: Array
    calendars: tuple[Sessions, ...]


def execution_terms_of(strategy: Strategy) -> ExecutionTerms:
    settings = strategy.executionSettings
    return ExecutionTerms(settings.broker, strategy.product, settings.charges)


def contract_terms_for(
    strategy: Strategy, stream: BarStream, row: BarSnapshot, *, first: date
) -> ContractTerms:
    """On the day of a row, by the rules that are loaded. `first` is the day on which the stream's
    stretch began: as in a backtest from that day on, ticks that depend on a price take that of the
    first bar used since.
    """
    rules = market_rules_of(strategy, first=first, last=day_in_india(row.time))
    contracts = []
    for at, symbol in enumerate(stream.symbols):
        price_on = partial(_first_close, stream, at, row)
        contracts.append(rules.contract(symbol, price_on).on(row.day))
    segments = {contract.segment: number for number, contract in enumerate(contracts)}
    return ContractTerms(
        tuple(contracts),
        contract_rows(contracts, segments),
        rate_rows(rules.schedule, segments),
        tuple(rules.sessions(symbol) for symbol in stream.symbols),
    )


def _first_close(stream: BarStream, symbol: int, row: BarSnapshot, since: date) -> float:
    """Of the first bar that a row used from that day on, up to `row`; 0 while there is none."""
    used = stream.rows.filter(time__gte=midnight(since), time__lt=row.time).order_by("time")
    count = len(stream.symbols)
    earlier = (unpacked(bytes(data), count) for data in used.values_list("bars", flat=True)[:_MOST])
    closes = (bars[symbol, CLOSE] for bars in (*earlier, row.bars))
    return next((float(close) for close in closes if not np.isnan(close)), 0.0)
