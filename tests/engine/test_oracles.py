"""Trades of another program on real prices, reproduced through the public `simulate`.

The other program is backtesting.py: signals at the close, fills at the next open. Its list leaves
out what is open after the last bar; here that is one more trade, `end_of_data`.
"""

from pathlib import Path

import pytest

from apps.engine.candles import Candles
from apps.engine.results import trade_dicts
from apps.engine.simulate import (
    NO_CHARGES,
    ChargeRow,
    History,
    Result,
    Schedule,
    simulate,
)
from apps.engine.trade_figures import exposure, net_profits, system_quality
from tests.engine.market_files import goog_daily, rows_of, sbin_daily
from tests.engine.strategies import sma_cross, strategy

FOREVER = 2**40


def reversing(
    candles: Candles,
    sizing: dict[str, object],
    capital: float,
    schedule: Schedule = NO_CHARGES,
) -> Result:
    """Long on the cross of SMA 10 above SMA 20, short on the cross below, never flat."""
    always = strategy(
        basicInfo={"timeframe": "1d"},
        positionSizing={"quantity": None, **sizing},
        entryConditions={"positionType": "both", "conditions": [sma_cross(10, 20)]},
        exitConditions={"stopLoss": None, "exitOnOppositeSignal": True},
    )
    history = History("NSE:TEST", candles)
    return simulate(always, [history], start=0, end=FOREVER, capital=capital, schedule=schedule)


@pytest.fixture(scope="module")
def goog(market_data: Path) -> Result:
    sizing: dict[str, object] = {"method": "percentage_of_equity", "percentage": 100}
    return reversing(goog_daily(market_data), sizing, 10_000.0)


@pytest.fixture(scope="module")
def sbin(market_data: Path) -> Result:
    sizing: dict[str, object] = {"method": "fixed_quantity", "quantity": 100}
    return reversing(sbin_daily(market_data), sizing, 10_000_000.0)


def assert_trades(result: Result, candles: Candles, oracle: list[dict[str, str]]) -> None:
    trades = trade_dicts(result.trades, result.symbols, result.excursions)
    assert len(trades) == len(oracle) + 1
    assert trades[-1]["exitReason"] == "end_of_data"
    for record, trade, row in zip(result.trades, trades, oracle, strict=False):
        signed = record["quantity"] * record["side"]
        assert signed == float(row["Size"])
        assert record["entry_time"] == candles.time[int(row["EntryBar"])]
        assert record["exit_time"] == candles.time[int(row["ExitBar"])]
        assert trade["entryPrice"] == float(row["EntryPrice"])
        assert trade["exitPrice"] == float(row["ExitPrice"])
        assert trade["profit"] == pytest.approx(float(row["PnL"]), abs=1e-6)
        assert trade["returnPercentage"] == pytest.approx(float(row["ReturnPct"]) * 100)
        assert trade["exitReason"] == "opposite_signal"
        assert trade["bars"] == int(row["ExitBar"]) - int(row["EntryBar"])


def test_goog_all_equity_always_reversing_gives_its_93_trades(
    goog: Result, market_data: Path
) -> None:
    oracle = rows_of(market_data / "oracle_bt_goog_sma10_20_nocost.csv")
    assert len(oracle) == 93
    assert_trades(goog, goog_daily(market_data), oracle)


def test_sbin_a_hundred_shares_always_reversing_gives_its_241_trades(
    sbin: Result, market_data: Path
) -> None:
    oracle = rows_of(market_data / "oracle_bt_sbin_daily_sma10_20.csv")
    assert len(oracle) == 241
    assert_trades(sbin, sbin_daily(market_data), oracle)


def test_goog_with_a_commission_buys_as_much_as_its_cash_pays_with_it(market_data: Path) -> None:
    """0.2 % of each fill. Sizes are equal; money differs by the paisa that fills are rounded to."""
    sizing: dict[str, object] = {"method": "percentage_of_equity", "percentage": 100}
    charged = (ChargeRow("", 0, brokerage=0.002),)
    result = reversing(goog_daily(market_data), sizing, 10_000.0, charged)
    oracle = rows_of(market_data / "oracle_bt_goog_sma10_20_comm002.csv")
    for trade, row in zip(result.trades[:-1], oracle, strict=True):
        assert trade["quantity"] * trade["side"] == float(row["Size"])
        assert trade["charges"] == pytest.approx(float(row["Commission"]), abs=0.01)
        assert trade["gross"] - trade["charges"] == pytest.approx(float(row["PnL"]), abs=0.01)
    figures = result.performance
    assert figures["maxDrawdown"] == pytest.approx(33.931592, abs=1e-3)
    assert figures["averageDrawdown"] == pytest.approx(6.160723, abs=1e-3)
    assert figures["maxDrawdownDays"] == 830
    assert system_quality(net_profits(result.trades[:-1])) == pytest.approx(1.584392, abs=1e-4)


def test_goog_equity_and_drawdown_are_the_published_ones(goog: Result) -> None:
    assert goog.performance["finalEquity"] == pytest.approx(81812.37, abs=0.005)
    assert goog.performance["maxDrawdown"] == pytest.approx(32.793662, abs=5e-7)


def test_goog_system_quality_is_the_published_one(goog: Result) -> None:
    assert system_quality(net_profits(goog.trades[:-1])) == pytest.approx(1.945456, abs=5e-7)


def test_sbin_equity_and_drawdown_are_the_published_ones(sbin: Result) -> None:
    assert sbin.performance["finalEquity"] == pytest.approx(9671680.0, abs=0.005)
    assert sbin.performance["maxDrawdown"] == pytest.approx(4.995112, abs=5e-7)


def test_win_rates_of_the_closed_trades_are_the_published_ones(goog: Result, sbin: Result) -> None:
    """Over all trades there; here a trade without profit or loss is on neither side (rule 15)."""
    assert published_win_rate(goog) == pytest.approx(54.838710, abs=5e-7)
    assert published_win_rate(sbin) == pytest.approx(36.099585, abs=5e-7)


def published_win_rate(result: Result) -> float:
    profit = net_profits(result.trades[:-1])
    return float((profit > 0).mean() * 100)


def test_exposure_of_the_closed_trades_is_the_published_one(goog: Result) -> None:
    assert exposure(goog.trades[:-1], goog.curve["time"]) == pytest.approx(94.273743, abs=5e-7)


def test_sbin_has_one_trade_that_breaks_even(sbin: Result) -> None:
    figures = sbin.performance
    assert (figures["breakevenTrades"], figures["totalTrades"]) == (1, 241)
