"""Backtests on the generated sample, without a database."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from apps.backtests.running.histories import symbol_history
from apps.core.times import day_in_india
from apps.engine.candles import Candles
from apps.engine.candles.resampling import resample
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.simulate import SimulationResult, simulate
from apps.market.importers.generated_sample import samples
from apps.market.rulebook.contracts import bundled_market_rules

CAPITAL = 1_000_000.0
Market: TypeAlias = Mapping[tuple[str, str], Candles]
"""Candles keyed by symbol and timeframe."""


def sample_market(seed: int) -> Market:
    return {(sample.symbol, sample.timeframe): sample.candles for sample in samples(seed)}


def backtest_on_sample(strategy: Strategy, market: Market) -> SimulationResult:
    """Return the result over all candles of the strategy's symbol."""
    [symbol], timeframe = strategy.basicInfo.symbols, strategy.basicInfo.timeframe
    source = "1d" if timeframe == "1d" else "1m"
    held = market[symbol, source]
    first, last = (day_in_india(int(time)) for time in held.time[[0, -1]])
    rules = bundled_market_rules(strategy, first=first, last=last)
    candles, *longer = (
        held if name == source else resample(held, source, name, rules.sessions(symbol))
        for name in (timeframe, *strategy.higher_timeframe_warmups)
    )
    start, end = int(candles.time[0]), int(candles.time[-1]) + 1
    history = replace(
        symbol_history(rules, symbol, candles, start=start),
        higher_timeframes=dict(zip(strategy.higher_timeframe_warmups, longer, strict=True)),
    )
    return simulate(strategy, [history], start=start, end=end, capital=CAPITAL)
