"""Backtests on the generated sample, without a database."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from apps.backtests.running.histories import symbol_history
from apps.core.times import day_in_india
from apps.engine import History, OtherSymbol
from apps.engine.candles import Candles
from apps.engine.candles.resampling import resample
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.simulate import SimulationResult, simulate
from apps.market.importers.generated_sample import samples
from apps.market.rulebook.contracts import bundled_market_rules
from apps.market.rulebook.sessions import sessions_of

CAPITAL = 1_000_000.0
Market: TypeAlias = Mapping[tuple[str, str], Candles]
"""Candles keyed by symbol and timeframe."""


def sample_market(seed: int) -> Market:
    return {(sample.symbol, sample.timeframe): sample.candles for sample in samples(seed)}


def backtest_on_sample(strategy: Strategy, market: Market) -> SimulationResult:
    """Return the result over all candles of the strategy's symbols."""
    histories, start, end = sample_histories(strategy, market)
    return simulate(strategy, histories, start=start, end=end, capital=CAPITAL)


def sample_candles(market: Market, symbol: str, timeframe: str) -> Candles:
    if held := market.get((symbol, timeframe)):
        return held
    return resample(market[symbol, "1m"], "1m", timeframe, sessions_of(symbol))


def sample_histories(strategy: Strategy, market: Market) -> tuple[list[History], int, int]:
    """Return the histories of the strategy's symbols, and the start and end of their candles."""
    symbols, timeframe = strategy.basicInfo.symbols, strategy.basicInfo.timeframe
    time = market[symbols[0], "1d" if timeframe == "1d" else "1m"].time
    first, last = (day_in_india(int(moment)) for moment in time[[0, -1]])
    rules = bundled_market_rules(strategy, first=first, last=last)
    start, end = int(time[0]), int(time[-1]) + 1

    read = [
        OtherSymbol(
            symbol,
            {name: sample_candles(market, symbol, name) for name in names},
            sessions_of(symbol),
        )
        for symbol, names in strategy.read_symbols.items()
    ]
    longer = strategy.higher_timeframe_warmups
    histories = [
        replace(
            symbol_history(rules, symbol, sample_candles(market, symbol, timeframe), start=start),
            higher_timeframes={name: sample_candles(market, symbol, name) for name in longer},
            other_symbols=read,
        )
        for symbol in symbols
    ]
    return histories, start, end
