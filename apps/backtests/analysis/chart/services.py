"""The candles of a backtest with its fills, reduced to what a chart can show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np

from apps.accounts.models import User
from apps.backtests.analysis.report.charts import legible_candles
from apps.backtests.running import results
from apps.engine.results import Trades
from apps.market.candles import AdjustedCandles, read_adjusted
from apps.market.rulebook import calendars_of

# Of more trades those with the largest results are shown.
MOST_TRADES_DRAWN: Final = 150


@dataclass(frozen=True, slots=True)
class Chart:
    """Candles of one symbol in `timeframe`, which is longer than the backtest's own if these would
    be too many. `trades` counts the trades that touch the candles, and `shown_trades` those with
    fills in the chart.
    """

    symbol: str
    timeframe: str
    priced: AdjustedCandles
    fills: list[dict[str, Any]]
    trades: int
    shown_trades: int


def chart(
    *,
    owner: User,
    backtest_id: str,
    symbol: str,
    start: int | None,
    end: int | None,
    max_candles: int,
) -> Chart:
    """Return the candles stored now of a symbol, within the backtest and the moments `start` and
    `end` (epoch seconds), with the fills in them.

    Raises BacktestNotFound, NotCompleted, InvalidInput.
    """
    backtest = results.fetch_completed(owner=owner, backtest_id=backtest_id)
    index = results.symbol_index(symbol, backtest)
    start = backtest.start if start is None else max(start, backtest.start)
    end = backtest.end if end is None else min(end, backtest.end)
    read = read_adjusted(symbol, backtest.timeframe, start=start, end=end, warmup=False)
    timeframe, candles = legible_candles(
        read.candles, backtest.timeframe, calendars_of([symbol])[symbol], max_candles=max_candles
    )
    trades, _ = results.load_result(backtest)
    records = trades.records
    is_touched = (records["entry_time"] < end) & (records["exit_time"] >= start)
    touched = np.flatnonzero((records["symbol"] == index) & is_touched)
    profits = trades.select(touched).net_profits
    largest = np.argsort(-np.abs(profits), kind="stable")[:MOST_TRADES_DRAWN]
    return Chart(
        symbol=symbol,
        timeframe=timeframe,
        priced=AdjustedCandles(candles, read.actions, generated_until=read.generated_until),
        fills=_fills(trades.select(touched[largest]), backtest.symbols, start, end),
        trades=len(touched),
        shown_trades=len(largest),
    )


def _fills(trades: Trades, symbols: Sequence[str], start: int, end: int) -> list[dict[str, Any]]:
    """Return the entries and exits from `start` to `end`, in the order of their times."""
    fills = []
    closed: Sequence[Mapping[str, object]] = trades.to_wire(symbols)
    for record, trade in zip(trades.records, closed, strict=True):
        sides = {"entry": "buy", "exit": "sell"}
        if trade["side"] == "short":
            sides = {"entry": "sell", "exit": "buy"}
        fills += [
            {
                "time": trade[f"{intent}Time"],
                "side": side,
                "intent": intent,
                "quantity": trade["quantity"],
                "price": trade[f"{intent}Price"],
            }
            for intent, side in sides.items()
            if start <= record[f"{intent}_time"] < end
        ]
    return sorted(fills, key=itemgetter("time"))
