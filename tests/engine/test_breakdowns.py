"""A result broken down by groups and by periods."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles import IST
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import CURVE, TRADE
from apps.engine.results.breakdowns import (
    Bin,
    BreakdownRow,
    by_hour,
    return_histogram,
    trade_breakdowns,
)

SYMBOLS = ["NSE:SBIN", "NSE:INFY", "NSE:TCS"]


def at(*text: str) -> NDArray[np.int64]:
    """Return moments in India as epoch seconds."""
    moments = [datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() for moment in text]
    return np.array(moments, np.int64) - IST


@pytest.fixture
def groups() -> Any:
    """Return three trades around the turn of a year; the second ends in the new one, in India
    alone.
    """
    trades = np.zeros(3, TRADE)
    trades["entry_time"] = at("2023-12-01T10:00", "2023-12-29T15:00", "2024-02-05T09:15")
    trades["exit_time"] = at("2023-12-01T11:00", "2024-01-01T02:00", "2024-02-06T09:15")
    trades["symbol"], trades["side"] = [0, 2, 0], [1, -1, 1]
    trades["reason"] = [EXIT_REASONS.index(reason) for reason in ("signal", "stop_loss", "signal")]
    trades["gross"], trades["charges"], trades["value"] = [60, -40, 5], [10, 10, 5], 1000
    curve = np.zeros(4, CURVE)
    curve["time"] = at(
        "2023-12-01T11:00", "2023-12-29T15:00", "2024-01-01T02:00", "2024-02-06T09:15"
    )
    curve["equity"] = [1050, 1100, 1000, 1000]
    return trade_breakdowns(trades, curve, symbols=SYMBOLS, capital=1000.0)


def profits(groups: Sequence[BreakdownRow]) -> dict[str, float]:
    return {group["name"]: group["netProfit"] for group in groups}


def test_groups_have_the_trades_of_a_name_and_no_group_is_empty(groups: Any) -> None:
    assert profits(groups["bySymbol"]) == {"NSE:SBIN": 50, "NSE:TCS": -50}
    assert profits(groups["bySide"]) == {"short": -50, "long": 50}
    assert profits(groups["byExitReason"]) == {"stop_loss": -50, "signal": 50}
    assert profits(groups["byWeekday"]) == {"monday": 0, "friday": 0}
    assert groups["bySymbol"][0] == {
        "name": "NSE:SBIN",
        "trades": 2,
        "winningTrades": 1,
        "losingTrades": 0,
        "winRate": 100,
        "grossProfit": 65,
        "charges": 15,
        "netProfit": 50,
        "averageProfit": 25,
    }
    assert groups["byWeekday"][0]["winRate"] is None


def test_periods_have_the_trades_that_ended_in_them_and_the_return_of_equity(groups: Any) -> None:
    assert profits(groups["byMonth"]) == {"2023-12": 50, "2024-01": -50, "2024-02": 0}
    returns = [month["returnPercentage"] for month in groups["byMonth"]]
    assert returns == pytest.approx([10, -100 / 11, 0])
    assert profits(groups["byYear"]) == {"2023": 50, "2024": -50}
    assert [year["returnPercentage"] for year in groups["byYear"]] == pytest.approx([10, -100 / 11])


def test_days_are_indias_and_weeks_are_named_by_their_mondays(groups: Any) -> None:
    days = {"2023-12-01": 50, "2023-12-29": 0, "2024-01-01": -50, "2024-02-06": 0}
    assert profits(groups["byDay"]) == days
    weeks = {"2023-11-27": 50, "2023-12-25": 0, "2024-01-01": -50, "2024-02-05": 0}
    assert profits(groups["byWeek"]) == weeks
    for periods in (groups["byDay"], groups["byWeek"]):
        returns = [period["returnPercentage"] for period in periods]
        assert returns == pytest.approx([5, 100 * (1100 / 1050 - 1), -100 / 11, 0])


def test_a_long_result_lists_its_newest_periods() -> None:
    curve = np.zeros(4_000, CURVE)
    curve["time"] = at("2010-01-04T10:00")[0] + np.arange(4_000) * 86_400
    curve["equity"] = np.arange(1.0, 4_001.0)
    trades = np.zeros(2, TRADE)  # one in a period that is too old, one in the newest
    trades["exit_time"], trades["gross"], trades["value"] = curve["time"][[9, -1]], [5, 7], 100
    groups: Any = trade_breakdowns(trades, curve, symbols=SYMBOLS, capital=1.0)
    newest = [
        (groups[name][0]["name"], len(groups[name])) for name in ("byDay", "byWeek", "byMonth")
    ]
    assert newest == [("2020-04-01", 260), ("2015-12-28", 260), ("2010-01", 132)]
    assert groups["byDay"][-1]["name"] == "2020-12-16"
    assert groups["byDay"][-1]["returnPercentage"] == pytest.approx(100 / 3_999)
    assert [sum(profits(groups[name]).values()) for name in ("byDay", "byMonth")] == [7, 12]


def test_a_result_without_trades_has_only_the_breakdown_by_period() -> None:
    curve = np.zeros(2, CURVE)
    curve["time"], curve["equity"] = at("2024-01-01T10:00", "2024-02-01T10:00"), [0, 10]
    groups: Any = trade_breakdowns(np.empty(0, TRADE), curve, symbols=SYMBOLS, capital=1000.0)
    assert [len(rows) for rows in groups.values()] == [0, 0, 0, 0, 2, 2, 2, 1]
    assert [month["returnPercentage"] for month in groups["byMonth"]] == [-100, 0]
    assert groups["byMonth"][0]["averageProfit"] is None


def test_hours_are_entry_hours_in_india() -> None:
    trades = np.zeros(3, TRADE)
    trades["entry_time"] = at("2024-02-05T09:15", "2024-02-06T09:59", "2024-02-06T23:30")
    trades["gross"], trades["value"] = [10, -4, 1], 1000
    assert profits(by_hour(trades)) == {"09:00": 6, "23:00": 1}


def returns(*percent: float) -> NDArray[Any]:
    trades = np.zeros(len(percent), TRADE)
    trades["gross"], trades["value"] = percent, 100
    return trades


def test_a_histogram_has_round_edges_and_parts_winners_from_losers() -> None:
    assert return_histogram(returns(-0.5, 0, 0.5, 1, 1.2, 3.4), 10) == [
        Bin(-0.5, 0.0, 1),
        Bin(0.0, 0.5, 1),
        Bin(0.5, 1.0, 1),
        Bin(1.0, 1.5, 2),
        Bin(1.5, 2.0, 0),
        Bin(2.0, 2.5, 0),
        Bin(2.5, 3.0, 0),
        Bin(3.0, 3.5, 1),
    ]
    assert return_histogram(returns()) == []
    assert return_histogram(returns(0, 0)) == [Bin(0.0, 0.05, 2)]


def test_a_histogram_has_every_trade_in_few_bins() -> None:
    for seed in range(50):
        dice = np.random.default_rng(seed)
        trades = returns(*dice.standard_t(3, 500) * 10.0 ** dice.integers(-3, 3))
        bins = return_histogram(trades, 40)
        assert len(bins) <= 40
        assert sum(count for _, _, count in bins) == 500
        below = sum(count for _, high, count in bins if high <= 0)
        assert below == np.count_nonzero(trades["gross"] < 0)
