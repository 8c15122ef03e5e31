"""Contract terms: the market's rules for a stream's symbols on one day."""

from datetime import date
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from apps.core.times import day_in_india, midnight
from apps.engine.candles import Candles
from apps.engine.language import Strategy
from apps.engine.live import BarSnapshot, ContractTerms
from apps.market.services import market_rules_of
from apps.trading.models import BarStream
from apps.trading.runs.bar_rows import unpack_bars

# The number of rows to search for the first bar of a symbol.
_MAX_ROWS: Final = 500


class ExecutionTerms(NamedTuple):
    """The settings of a strategy that select its contract terms."""

    broker: str | None
    product: str
    charges: str | None


def execution_terms_of(strategy: Strategy) -> ExecutionTerms:
    settings = strategy.executionSettings
    return ExecutionTerms(settings.broker, strategy.product, settings.charges)


def contract_terms_for(
    strategy: Strategy, stream: BarStream, row: BarSnapshot, *, first: date
) -> ContractTerms:
    """Return the terms on the day of a row, by the loaded rules.

    `first` is the first day of the stream's segment. As in a backtest from that day on, ticks that
    depend on a price use the first bar since then.
    """
    last = day_in_india(row.time)
    rules = market_rules_of(strategy, first=first, last=last, until=row.closes)
    contracts = []
    for index, symbol in enumerate(stream.symbols):
        price_on = partial(_first_close, stream, index, row)
        contracts.append(rules.contract(symbol, price_on).on(row.day))
    calendars = [rules.sessions(symbol) for symbol in stream.symbols]
    return ContractTerms.of(contracts, rules.schedule, calendars)


def _first_close(stream: BarStream, symbol: int, row: BarSnapshot, since: date) -> float:
    """Return the close of the first bar used since that day, up to `row`; 0 if there is
    none yet.
    """
    used = stream.rows.filter(time__gte=midnight(since), time__lt=row.time).order_by("time")
    first_rows = used.values_list("bars", flat=True)[:_MAX_ROWS]
    earlier = (unpack_bars(bytes(data), len(stream.symbols)) for data in first_rows)
    column = Candles.NUMBERS.index("close")
    closes = (bars[symbol, column] for bars in (*earlier, row.bars))
    return next((float(close) for close in closes if not np.isnan(close)), 0.0)
