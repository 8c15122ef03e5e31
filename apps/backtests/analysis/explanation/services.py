"""Explain a candle of a completed backtest: the reason for an entry or against it, and the fate of
the positions that were open in it.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running import estimates, results
from apps.backtests.running.histories import load_histories
from apps.core.errors import Code, ServiceError
from apps.core.times import day_in_india, moment, wire_time
from apps.engine import (
    BarExplanation,
    EngineError,
    EntryExplanation,
    PositionExplanation,
    SimulationInput,
    StoredResult,
    StrategyAtBar,
    SymbolSeries,
)
from apps.engine.candles import TIMEFRAMES
from apps.engine.language import Strategy, parse
from apps.engine.results import ClosedTrade, Trades
from apps.market.services import market_rules_of

# The other kinds try many configurations, so their trades do not come from one.
EXPLAINABLE_KINDS: Final = (BacktestKind.BACKTEST, BacktestKind.MONTE_CARLO)


class NotOneConfiguration(ServiceError):
    """The trades of a study come from several configurations."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The trades of a {kind} are not those of one configuration; run a plain backtest."


class NoCandle(ServiceError):
    """The backtest read no candle at that moment."""

    code = Code.NOT_FOUND
    message = "No candle of {symbol} in this backtest holds that moment."


class HistoryGone(ServiceError):
    """Candles or rules that the backtest read are no longer stored."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The history of this backtest cannot be read again: {reason}"


@dataclass(frozen=True, slots=True)
class ExplainedPosition:
    """A position that was open in the candle; `has_ended` is True if it ended there."""

    trade: ClosedTrade
    has_ended: bool
    explanation: PositionExplanation


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a candle; `trade` is the trade of `entry`."""

    bar: BarExplanation
    entry: EntryExplanation
    trade: ClosedTrade | None
    positions: list[ExplainedPosition]


class _Candle(NamedTuple):
    """A candle of one symbol, with the history of the symbol as the backtest read it.

    `number` is the place of the candle in the range of the backtest.
    """

    backtest: Backtest
    at_bar: StrategyAtBar
    number: int

    @property
    def series(self) -> SymbolSeries:
        return self.at_bar.series

    @property
    def symbol_index(self) -> int:
        """The index of the symbol in the backtest's list."""
        return results.symbol_index(self.series.symbol, self.backtest)

    @property
    def time(self) -> int:
        return int(self.series.candles.time[self.number])


def explain_backtest(*, owner: User, backtest_id: str, symbol: str, at: int) -> Explanation:
    """Explain the candle of a symbol at the moment `at` (epoch seconds), computed over the candles
    stored now.

    Raises BacktestNotFound, NotCompleted, NotOneConfiguration, InvalidInput, NoCandle, HistoryGone.
    """
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    if backtest.kind not in EXPLAINABLE_KINDS:
        raise NotOneConfiguration(kind=backtest.kind)
    results.symbol_index(symbol, backtest)
    trades, curve = results.load_result(backtest)
    result = StoredResult(
        trades.records, curve, float(backtest.initial_capital), _rejected_signals(backtest)
    )
    try:
        candle = _read_candle(backtest, symbol, at)
        outcome = result.verdict(candle.at_bar, candle.symbol_index)
        positions = [
            _explain_position(candle, trades, index)
            for index in result.held_at(candle.symbol_index, candle.time)
        ]
    except EngineError as refusal:
        raise HistoryGone(reason=str(refusal)) from refusal
    trade = None if outcome.trade is None else _trade_to_wire(trades, outcome.trade, backtest)
    return Explanation(candle.at_bar.explain(), outcome.to_wire(), trade, positions)


def _read_candle(backtest: Backtest, symbol: str, at: int) -> _Candle:
    """Read the history of the symbol again and find the candle. Raises NoCandle, EngineError."""
    strategy = parse(backtest.configuration)
    symbols = (symbol,) if strategy.entryConditions.rank is None else tuple(backtest.symbols)
    info = strategy.basicInfo.model_copy(update={"symbols": symbols})
    own_strategy = strategy.model_copy(update={"basicInfo": info})
    rules = market_rules_of(
        own_strategy, first=day_in_india(backtest.start), last=day_in_india(backtest.end)
    )
    histories = load_histories(
        rules,
        owner_id=backtest.owner_id,
        start=backtest.start,
        end=backtest.end,
        max_bars=estimates.most_bars_read(BacktestKind(backtest.kind)),
    )
    capital = float(backtest.initial_capital)
    data = SimulationInput(
        backtest.configuration, histories, backtest.start, backtest.end, capital
    ).prepare()
    number = data.symbols.index(symbol)
    series = data.all_series[number]
    index = _candle_index(series, strategy, at)
    bar = len(series.used) - len(series.candles) + index
    at_bar = StrategyAtBar.of(
        strategy, histories[number].contract, series, bar, data.ranking_of(strategy)
    )
    return _Candle(backtest, at_bar, index)


def _candle_index(series: SymbolSeries, strategy: Strategy, at: int) -> int:
    """Return the index, in the range, of the candle at the moment. Raises NoCandle."""
    time = series.candles.time
    index = int(np.searchsorted(time, at, side="right")) - 1
    if index < 0 or at >= time[index] + TIMEFRAMES[strategy.basicInfo.timeframe]:
        near = {"before": time[max(index, 0) : index + 1], "after": time[index + 1 : index + 2]}
        nearest = {
            name: wire_time(moment(int(times[0]))) for name, times in near.items() if len(times)
        }
        raise NoCandle(symbol=series.symbol, nearest=nearest)
    return index


def _explain_position(candle: _Candle, trades: Trades, index: int) -> ExplainedPosition:
    record = trades.records[index]
    return ExplainedPosition(
        trade=_trade_to_wire(trades, index, candle.backtest),
        has_ended=bool(record["exit_time"] == candle.time),
        explanation=candle.at_bar.explain_position(
            "long" if record["side"] > 0 else "short",
            entered=int(record["entry_time"]),
            price=float(record["entry_price"]),
        ),
    )


def _rejected_signals(backtest: Backtest) -> dict[str, int]:
    counts: dict[str, int] = (backtest.performance or {}).get("rejectedSignals", {})
    return counts


def _trade_to_wire(trades: Trades, index: int, backtest: Backtest) -> ClosedTrade:
    return trades.select(slice(index, index + 1)).to_wire(backtest.symbols)[0]
