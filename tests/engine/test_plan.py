"""The words of a strategy as the kernel's numbers."""

from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.kernel import codes as c
from apps.engine.kernel.codes import AFTER_SQUARE_OFF, LAST_OF_SESSION
from apps.engine.kernel.records import Plan
from apps.engine.simulation.charges import ChargeRow, has_rates
from apps.engine.simulation.plan import (
    Contract,
    InvalidContract,
    MissingCalendar,
    contract_rows,
    plan_of,
    rate_rows,
    square_off_flags,
)
from tests.engine.strategies import strategy

NINE_FIFTEEN, HALF_PAST_THREE = 33300, 55800
SESSIONS = Sessions.build([Regime(0, 100, NINE_FIFTEEN, HALF_PAST_THREE)])


@pytest.mark.parametrize(
    ("sizing", "numbers"),
    [
        ({"method": "fixed_quantity", "quantity": 5}, {"size_by": c.BY_QUANTITY, "size": 5.0}),
        ({"method": "fixed_amount", "amount": 5e4}, {"size_by": c.BY_AMOUNT, "size": 5e4}),
        (
            {"method": "percentage_of_equity", "percentage": 40},
            {"size_by": c.BY_EQUITY, "size": 0.4},
        ),
        ({"method": "risk_based", "riskPercentage": 2}, {"size_by": c.BY_RISK, "size": 0.02}),
        (
            {"method": "volatility_based", "riskPercentage": 2, "atrMultiplier": 3},
            {"size_by": c.BY_VOLATILITY, "size": 0.02, "size_atr": 3.0},
        ),
    ],
)
def test_sizing(sizing: dict[str, Any], numbers: dict[str, float]) -> None:
    plan = plan_of(strategy(positionSizing={"quantity": None, **sizing}))
    assert {name: getattr(plan, name) for name in numbers} == numbers


@pytest.mark.parametrize(
    ("exits", "numbers"),
    [
        ({"stopLoss": {"type": "percentage", "percentage": 2}}, {"stop_rate": 0.02}),
        ({"stopLoss": {"type": "points", "points": 3}}, {"stop_points": 3.0, "stop_rate": 0.0}),
        ({"stopLoss": {"type": "atr", "atrMultiplier": 1.5}}, {"stop_atr": 1.5}),
        ({"takeProfit": {"type": "risk_reward", "ratio": 3}}, {"target_ratio": 3.0}),
        ({"takeProfit": {"type": "percentage", "percentage": 4}}, {"target_rate": 0.04}),
        ({"takeProfit": {"type": "points", "points": 5}}, {"target_points": 5.0}),
        ({"takeProfit": {"type": "atr", "atrMultiplier": 2}}, {"target_atr": 2.0}),
        (
            {"trailingStop": {"enabled": True, "percentage": 1, "activationThreshold": 2}},
            {"trail_rate": 0.01, "trail_from": 0.02},
        ),
        (
            {"trailingStop": {"enabled": True, "type": "points", "points": 2}},
            {"trail_points": 2.0, "trail_from": 0.0},
        ),
        ({"trailingStop": {"enabled": True, "type": "atr"}}, {"trail_atr": 2.0}),
        ({"trailingStop": {"enabled": False, "percentage": 1}}, {"trail_rate": 0.0}),
        ({"maxHoldingCandles": 9}, {"max_holding": 9}),
        ({"exitOnOppositeSignal": True}, {"reverse": True}),
        ({}, {"reverse": False, "max_holding": 0, "target_rate": 0.0, "trail_rate": 0.0}),
    ],
)
def test_exits(exits: dict[str, Any], numbers: dict[str, float]) -> None:
    plan = plan_of(strategy(exitConditions=exits))
    assert {name: getattr(plan, name) for name in numbers} == numbers


def test_orders() -> None:
    for written, order in (("market", c.AT_MARKET), ("limit", c.AT_LIMIT), ("stop", c.AT_STOP)):
        settings = {"orderType": written, "limitOffset": 0.5}
        plan = plan_of(strategy(executionSettings=settings))
        assert (plan.order_by, plan.order_offset) == (order, 0.005)


def test_a_plan_has_the_stops_of_both_risk_parameters_and_exits() -> None:
    plan = plan_of(strategy(riskParameters={"stopLoss": 1.0}))
    assert (plan.stop_rate, plan.second_stop_rate) == (0.02, 0.01)


def test_a_target_of_the_risk_parameters_holds_if_the_exits_set_none() -> None:
    assert plan_of(strategy(riskParameters={"takeProfit": 5.0})).target_rate == 0.05
    both = strategy(
        exitConditions={"takeProfit": {"type": "points", "points": 5}},
        riskParameters={"takeProfit": 5.0},
    )
    assert (plan_of(both).target_points, plan_of(both).target_rate) == (5.0, 0.0)


def test_limits_slippage_and_adds() -> None:
    plan = plan_of(
        strategy(
            positionSizing={"pyramiding": {"enabled": True, "maxEntries": 4}},
            riskParameters={"maxPositionSize": 1e5, "maxDailyLoss": 2e3, "maxOpenPositions": 3},
            executionSettings={"slippage": 0.5},
        )
    )
    assert (plan.max_entries, plan.max_positions, plan.slippage) == (4, 3, 0.005)
    assert (plan.max_position_value, plan.max_daily_loss) == (1e5, 2e3)
    assert plan_of(strategy()).max_entries == 1


def test_every_field_of_a_plan_is_plain_numbers() -> None:
    """Any other type would compile the kernel again."""
    kinds = {name: type(value) for name, value in plan_of(strategy())._asdict().items()}
    assert kinds == {name: type(value) for name, value in Plan()._asdict().items()}


def candles(*hours: str, day: int = 1) -> Candles:
    """Return bars that start at these times in Asia/Kolkata."""
    seconds = [int(hour[:2]) * 3600 + int(hour[3:]) * 60 for hour in hours]
    prices = np.ones(len(hours))
    times = [day * 86400 - 19800 + second for second in seconds]
    return Candles.build(times, open=prices, high=prices, low=prices, close=prices, volume=prices)


def flags(given: Any, *hours: str, sessions: Sessions | None = SESSIONS, day: int = 1) -> list[int]:
    squared: list[int] = square_off_flags(
        given, "NSE:TEST", candles(*hours, day=day), sessions, Contract()
    ).tolist()
    return squared


def intraday(timeframe: str, **exits: Any) -> Any:
    return strategy(
        basicInfo={"timeframe": timeframe},
        exitConditions=exits,
        executionSettings={"productType": "intraday"},
    )


LATE, LAST = AFTER_SQUARE_OFF, LAST_OF_SESSION


def test_rule_9_intraday_squares_off_fifteen_minutes_before_the_close() -> None:
    hours = ("09:15", "15:10", "15:15", "15:20", "15:25")
    assert flags(intraday("5m"), *hours) == [0, 0, LATE, LATE, LATE | LAST]


def test_rule_9_a_written_time_holds_for_every_product() -> None:
    written = strategy(basicInfo={"timeframe": "5m"}, exitConditions={"squareOffTime": "14:00"})
    assert flags(written, "13:55", "14:00", "15:25") == [0, LATE, LATE | LAST]


def test_rule_9_the_nominal_end_of_the_last_bar_reaches_the_close() -> None:
    assert flags(intraday("4h"), "09:15", "13:15") == [0, LAST]
    late = intraday("5m", squareOffTime="15:29")
    assert flags(late, "15:20", "15:25") == [0, LAST]


def test_rule_9_daily_bars_of_an_intraday_product_are_closed_at_their_close() -> None:
    assert flags(intraday("1d"), "00:00", sessions=None) == [LAST]


def test_rule_9_without_a_square_off_no_hours_are_asked_for() -> None:
    assert flags(strategy(), "09:15", sessions=None) == []
    daily = strategy(basicInfo={"timeframe": "1d"}, exitConditions={"squareOffTime": "14:00"})
    assert flags(daily, "00:00", sessions=None) == []


def test_rule_9_a_square_off_without_known_hours_is_an_error_that_names_the_date() -> None:
    for sessions, day in ((None, 1), (SESSIONS, 200)):
        with pytest.raises(MissingCalendar, match=r"NSE:TEST on 1970-0"):
            flags(intraday("5m"), "09:15", sessions=sessions, day=day)


def test_contracts_count_ticks_in_ten_thousandths_of_a_rupee() -> None:
    rows = contract_rows([Contract(), Contract(50, 2, 0.2, 0.0025, "b")], {"": 0, "b": 1})
    assert rows.tolist() == [(1, 1, 1, 500, 0), (50, 2, 0.2, 25, 1)]


@pytest.mark.parametrize(
    "terms",
    [{"lot": 0}, {"lot": -1}, {"multiplier": 0}, {"margin": 0}, {"tick": 0}, {"tick": 0.00005}],
)
def test_a_contract_without_a_possible_stop_is_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(InvalidContract):
        Contract(**terms)


def test_rates_are_sorted_by_day_and_limited_to_traded_segments() -> None:
    schedule = (ChargeRow("a", 9, 0.1), ChargeRow("b", 1), ChargeRow("a", 3, 0.2))
    rows = rate_rows(schedule, {"a": 0})
    assert rows["first_day"].tolist() == [3, 9]
    assert rows["brokerage"].tolist() == [0.2, 0.1]
    assert has_rates(schedule, "a", 3)
    assert not has_rates(schedule, "a", 2)
