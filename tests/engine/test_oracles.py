"""Trades of other programs on real prices, reproduced through the public `simulate`.

backtesting.py and backtrader trade so: signals at the close, fills at the next open. Their lists
omit a trade that is open after the last bar; here it is one more trade, `end_of_data`.
"""

from math import ceil
from pathlib import Path
from typing import Any

import pytest

from apps.engine.candles import Candles
from apps.engine.results.result_data import ResultData
from apps.engine.results.trade_figures import (
    net_profits,
    system_quality,
    trade_returns,
)
from apps.engine.results.wire_records import trade_dicts
from apps.engine.simulation.simulate import (
    NO_CHARGES,
    ChargeRow,
    Contract,
    History,
    Schedule,
    SimulationResult,
    simulate,
)
from tests.engine.market_files import backtraders_daily, goog_daily, rows_of, sbin_daily
from tests.engine.strategies import sma_cross, strategy

FOREVER = 2**40


def reversing(
    candles: Candles,
    sizing: dict[str, object],
    capital: float,
    schedule: Schedule = NO_CHARGES,
    slow: int = 20,
) -> SimulationResult:
    """Return steps that go long on the cross of SMA 10 above SMA 20, short on the cross below,
    never flat.
    """
    always = strategy(
        basicInfo={"timeframe": "1d"},
        positionSizing={"quantity": None, **sizing},
        entryConditions={"positionType": "both", "conditions": [sma_cross(10, slow)]},
        exitConditions={"stopLoss": None, "exitOnOppositeSignal": True},
    )
    history = History("NSE:TEST", candles)
    return simulate(always, [history], start=0, end=FOREVER, capital=capital, schedule=schedule)


@pytest.fixture(scope="module")
def goog(market_data: Path) -> SimulationResult:
    sizing: dict[str, object] = {"method": "percentage_of_equity", "percentage": 100}
    return reversing(goog_daily(market_data), sizing, 10_000.0)


@pytest.fixture(scope="module")
def sbin(market_data: Path) -> SimulationResult:
    sizing: dict[str, object] = {"method": "fixed_quantity", "quantity": 100}
    return reversing(sbin_daily(market_data), sizing, 10_000_000.0)


def assert_trades(
    result: SimulationResult,
    candles: Candles,
    oracle: list[dict[str, str]],
    reason: str = "opposite_signal",
) -> None:
    """Check the trades against the list; at most one more may still be open."""
    trades = trade_dicts(result.trades, result.symbols, result.excursions)
    assert [trade["exitReason"] for trade in trades[len(oracle) :]] in ([], ["end_of_data"])
    for record, trade, row in zip(result.trades, trades, oracle, strict=False):
        signed = record["quantity"] * record["side"]
        assert signed == float(row["Size"])
        assert record["entry_time"] == candles.time[int(row["EntryBar"])]
        assert record["exit_time"] == candles.time[int(row["ExitBar"])]
        assert trade["entryPrice"] == float(row["EntryPrice"])
        assert trade["exitPrice"] == float(row["ExitPrice"])
        assert trade["profit"] == pytest.approx(float(row["PnL"]), abs=1e-6)
        percent = float(row["ReturnPct"]) * 100
        assert trade["returnPercentage"] == pytest.approx(percent, abs=5e-7)  # six decimals
        assert trade["exitReason"] == reason
        assert trade["bars"] == int(row["ExitBar"]) - int(row["EntryBar"])


def test_goog_all_equity_always_reversing_gives_its_93_trades(
    goog: SimulationResult, market_data: Path
) -> None:
    oracle = rows_of(market_data / "oracle_bt_goog_sma10_20_nocost.csv")
    assert len(oracle) == 93
    assert_trades(goog, goog_daily(market_data), oracle)


def test_sbin_a_hundred_shares_always_reversing_gives_its_241_trades(
    sbin: SimulationResult, market_data: Path
) -> None:
    oracle = rows_of(market_data / "oracle_bt_sbin_daily_sma10_20.csv")
    assert len(oracle) == 241
    assert_trades(sbin, sbin_daily(market_data), oracle)


def test_goog_with_a_commission_buys_as_much_as_its_cash_allows(market_data: Path) -> None:
    """The commission is 0.2 % of each fill.

    Sizes are equal; money differs by the paisa that fills are rounded to.
    """
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


def test_goog_equity_and_drawdown_equal_the_published_figures(goog: SimulationResult) -> None:
    assert goog.performance["finalEquity"] == pytest.approx(81812.37, abs=0.005)
    assert goog.performance["maxDrawdown"] == pytest.approx(32.793662, abs=5e-7)


def test_goog_system_quality_equals_the_published_one(goog: SimulationResult) -> None:
    assert system_quality(net_profits(goog.trades[:-1])) == pytest.approx(1.945456, abs=5e-7)


def test_sbin_equity_and_drawdown_equal_the_published_figures(sbin: SimulationResult) -> None:
    assert sbin.performance["finalEquity"] == pytest.approx(9671680.0, abs=0.005)
    assert sbin.performance["maxDrawdown"] == pytest.approx(4.995112, abs=5e-7)


def test_win_rates_of_the_closed_trades_equal_the_published_figures(
    goog: SimulationResult, sbin: SimulationResult
) -> None:
    """They divide by all trades there; here a trade without profit or loss is on neither side (rule
    15).
    """
    assert published_win_rate(goog) == pytest.approx(54.838710, abs=5e-7)
    assert published_win_rate(sbin) == pytest.approx(36.099585, abs=5e-7)


def published_win_rate(result: SimulationResult) -> float:
    profit = net_profits(result.trades[:-1])
    return float((profit > 0).mean() * 100)


def test_exposure_of_the_closed_trades_equals_the_published_one(goog: SimulationResult) -> None:
    closed = ResultData(goog.trades[:-1], goog.curve, 10_000.0)
    assert closed.exposure == pytest.approx(94.273743, abs=5e-7)


def test_sbin_has_one_trade_that_breaks_even(sbin: SimulationResult) -> None:
    figures = sbin.performance
    assert (figures["breakevenTrades"], figures["totalTrades"]) == (1, 241)


def test_goog_in_the_test_suite_of_backtesting_py(market_data: Path) -> None:
    """With SMA 10 and 30: the list and the comparable figures of its `test_compute_stats`.

    It closes open positions at the last bar's open, and we at its close, so that bar is its open
    here. Its expectancy is our average return, and its profit factor is of returns.
    """
    sizing: dict[str, object] = {"method": "percentage_of_equity", "percentage": 100}
    candles = ended_at_its_open(goog_daily(market_data))
    result = reversing(candles, sizing, 10_000.0, slow=30)
    oracle = rows_of(market_data / "oracle_bt_goog_sma10_30_testsuite.csv")
    *closed, last = oracle
    assert_trades(result, candles, closed)
    assert result.trades[-1]["quantity"] == float(last["Size"])
    assert result.trades[-1]["exit_price"] == float(last["ExitPrice"])
    returns = trade_returns(result.trades)
    metrics: Any = result.performance
    assert returns[returns > 0].sum() / -returns[returns < 0].sum() == pytest.approx(
        2.167945974262033
    )
    assert (returns.max() * 100, returns.min() * 100) == pytest.approx(
        (53.59595229490424, -18.39887353835481)
    )
    assert {name: metrics[name] for name in SUITE} == pytest.approx(SUITE)
    assert ceil(metrics["averageDrawdownDays"]) == 41  # whole days there, rounded up


def ended_at_its_open(candles: Candles) -> Candles:
    prices = {name: getattr(candles, name).copy() for name in ("open", "high", "low", "close")}
    for column in prices.values():
        column[-1] = candles.open[-1]
    return Candles.build(candles.time, volume=candles.volume, **prices)


SUITE = {
    "finalEquity": 51422.98999999996,
    "roi": 414.2298999999996,
    "maxDrawdown": 47.98012705007589,
    "averageDrawdown": 5.925851581948801,
    "maxDrawdownDays": 584,
    "totalTrades": 66,
    "winRate": 46.96969696969697,
    "averageReturn": 3.2748078066748834,
    "systemQuality": 1.0766187356697705,
    "kellyCriterion": 15.18705127029717,
    "exposure": 96.74115456238361,
}


def test_sbin_by_its_relative_strength_gives_the_16_trades_of_another_program(
    market_data: Path,
) -> None:
    """The program enters as RSI 14 rises through 30, and leaves as it falls through 70."""

    def through(operator: str, value: float) -> dict[str, object]:
        of = {"type": "indicator_value", "indicator": {"type": "RSI", "period": 14}}
        return {**of, "operator": operator, "value": value}

    candles = sbin_daily(market_data)
    unhurried = strategy(
        basicInfo={"timeframe": "1d"},
        positionSizing={"quantity": 100},
        entryConditions={"conditions": [through("crosses_above", 30)]},
        exitConditions={"stopLoss": None, "conditions": [through("crosses_below", 70)]},
    )
    history = [History("NSE:TEST", candles)]
    result = simulate(unhurried, history, start=0, end=FOREVER, capital=10_000_000.0)
    oracle = rows_of(market_data / "oracle_bt_sbin_daily_rsi14.csv")
    assert len(oracle) == 16
    assert_trades(result, candles, oracle, reason="signal")
    assert result.performance["finalEquity"] == pytest.approx(9877695.0)
    assert result.performance["maxDrawdown"] == pytest.approx(1.784013, abs=5e-7)
    profit = net_profits(result.trades[: len(oracle)])
    assert (profit > 0).mean() * 100 == pytest.approx(62.5)


BOUGHT = [
    3643.35,
    3801.03,
    3872.37,
    3863.57,
    3845.32,
    3656.43,
    3542.65,
    3639.65,
    3799.86,
    3840.20,
    4047.63,
    4052.55,
]
SOLD = [
    3763.95,
    3811.85,
    3822.35,
    3822.57,
    3829.82,
    3598.58,
    3545.92,
    3766.80,
    3782.15,
    3979.73,
    4045.05,
]


def crossing(
    candles: Candles, contract: Contract, schedule: Schedule = NO_CHARGES
) -> SimulationResult:
    """Return steps that enter as the close crosses above its SMA 15, and leave as it
    crosses below.
    """
    average, price = {"type": "SMA", "period": 15}, {"type": "PRICE"}
    of = {"type": "indicator_indicator", "indicator1": price, "indicator2": average}
    simple = strategy(
        basicInfo={"timeframe": "1d"},
        entryConditions={"conditions": [{**of, "operator": "crosses_above"}]},
        exitConditions={"stopLoss": None, "conditions": [{**of, "operator": "crosses_below"}]},
    )
    history = [History("NSE:TEST", candles, contract=contract)]
    return simulate(simple, history, start=0, end=FOREVER, capital=10_000.0, schedule=schedule)


def test_the_test_suite_of_backtrader_on_a_stock(market_data: Path) -> None:
    """The test compares every fill and the final value of tests/test_strategy_unoptimized.py."""
    result = crossing(backtraders_daily(market_data), Contract())
    assert result.trades["entry_price"].tolist() == BOUGHT
    assert result.trades["exit_price"][:-1].tolist() == SOLD
    assert result.performance["finalEquity"] == pytest.approx(10284.10)
    cash = 10_000 - sum(BOUGHT) + sum(SOLD)
    assert cash == pytest.approx(6164.16)


def test_the_test_suite_of_backtrader_on_a_future(market_data: Path) -> None:
    """The multiplier is ten, and the commission two a unit each way.

    Its margin is 1,000 a unit, and ours a share of the value. It pays nothing for closing the open
    position at the end, and its SQN uses the deviation of a population.
    """
    future, fee = Contract(multiplier=10, margin=0.02), ChargeRow("", 0, brokerage_flat=2.0)
    result = crossing(backtraders_daily(market_data), future, (fee,))
    assert result.trades["entry_price"].tolist() == BOUGHT
    assert result.performance["finalEquity"] == pytest.approx(12795.00 - 2)
    quality = system_quality(net_profits(result.trades[:-1]))
    assert quality is not None
    assert quality * (11 / 10) ** 0.5 == pytest.approx(0.912550316439)
