"""The performance of algorithms is current after every row, and alerts are raised once for each
crossing.
"""

from statistics import mean, stdev
from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import alerts, paper_performance
from apps.engine.kernel.codes import ENTER_LONG
from apps.trading.models import Trade
from apps.webhooks.models import Event
from tests.trading.stepped_run import Stepper, make_stepper, play

SBIN = "NSE:SBIN"
FLAT = {SBIN: (100.0, 101.0, 99.0, 100.0)}
UP, DOWN = {SBIN: (100.0, 105.0, 100.0, 104.0)}, {SBIN: (100.0, 100.0, 97.0, 98.0)}
LONG = {SBIN: ENTER_LONG}
WIN: list[Any] = [(FLAT, LONG), UP]
LOSS: list[Any] = [(FLAT, LONG), DOWN]


def algorithm_of(stepper: Stepper) -> Algorithm:
    return Algorithm.objects.get(pk=stepper.run.algorithm_id)


def test_performance_follows_each_trade(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, *WIN, *WIN, *LOSS)
    algorithm = algorithm_of(stepper)
    profits = [float(trade.profit) for trade in Trade.objects.order_by("exit_time")]
    assert [profit > 0 for profit in profits] == [True, True, False]
    got = algorithm.performance
    won, lost = sum(profits[:2]), -profits[2]
    assert got == pytest.approx(
        {
            "totalTrades": 3,
            "winningTrades": 2,
            "losingTrades": 1,
            "totalProfit": won,
            "totalLoss": lost,
            "winRate": 200 / 3,
            "profitFactor": won / lost,
            "sharpeRatio": mean(profits) / stdev(profits),
            "maxDrawdown": lost / (1_000_000 + won) * 100,
            "averageWin": won / 2,
            "averageLoss": lost,
            "netProfit": won - lost,
            "roi": (won - lost) / 10_000,
            "maxDrawdownAmount": lost,
            "expectancy": (won - lost) / 3,
            "riskRewardRatio": won / 2 / lost,
        },
        rel=1e-3,
    )
    assert algorithm.performance_at == stepper.before


def test_a_fall_counts_before_the_position_is_closed(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, (FLAT, LONG), {SBIN: (100.0, 100.0, 98.5, 99.0)})
    record = algorithm_of(stepper).performance
    assert record["maxDrawdownAmount"] == pytest.approx(10 + 1.53)
    assert record["maxDrawdown"] == pytest.approx(11.53 / 10_000)
    assert (record["totalTrades"], record["winRate"]) == (0, 0)
    play(stepper, {SBIN: (99.0, 103.0, 99.0, 103.0)})
    assert algorithm_of(stepper).performance == record


def test_a_ratio_without_a_denominator_is_unknown(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, *WIN)
    record = algorithm_of(stepper).performance
    names = ("profitFactor", "averageLoss", "riskRewardRatio", "sharpeRatio")
    assert [record[name] for name in names] == [None] * 4


def test_the_last_execution_is_reported(alice: User) -> None:
    stepper = make_stepper(alice)
    play(stepper, *WIN)
    execution = algorithm_of(stepper).last_execution
    assert execution is not None
    assert (execution["status"], execution["result"]["reason"]) == ("success", "take_profit")


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        (
            {"riskParameters": {"maxPositionSize": 50, "maxDailyLoss": 9, "maxOpenPositions": 1}},
            "POSITION_LIMIT_REACHED",
        ),
        (
            {
                "executionSettings": {
                    "mode": "paper",
                    "exchange": "NSE",
                    "orderType": "market",
                    "initialCapital": 50,
                    "productType": "carryforward",
                }
            },
            "INSUFFICIENT_BALANCE",
        ),
    ],
)
def test_a_limit_that_stops_an_entry_is_an_error(
    alice: User, steps: dict[str, Any], error: str
) -> None:
    stepper = make_stepper(alice, **steps)
    play(stepper, (FLAT, LONG), FLAT)
    execution = algorithm_of(stepper).last_execution
    assert execution is not None
    assert (execution["status"], execution["error"]) == ("error", error)


def test_an_alert_calls_once_and_pauses(alice: User) -> None:
    stepper = make_stepper(alice)
    wanted: alerts.Alerts = {
        "winRate": {"threshold": 60, "action": "pause_algorithm"},
        "maxDrawdown": {"threshold": 1e-9, "action": "send_notification"},
    }
    algorithms.set_alerts(
        owner=alice, algorithm_id=stepper.run.algorithm_id, alerts=wanted, now=stepper.now
    )
    play(stepper, *WIN)
    assert algorithm_of(stepper).status == "active"
    play(stepper, *LOSS, *LOSS)
    algorithm = algorithm_of(stepper)
    assert (algorithm.status, algorithm.active) == ("paused", False)
    events = {
        event.data["metric"]: event for event in Event.objects.filter(type="performance.alert")
    }
    assert events.keys() == wanted.keys()
    assert Event.objects.count() == 1 + 6 + 2 + 1
    assert events["winRate"].data == {
        "algorithmId": algorithm.pk,
        "algorithmName": algorithm.name,
        "metric": "winRate",
        "value": 50.0,
        "threshold": 60,
        "action": "pause_algorithm",
    }
    paused = Event.objects.get(type="algorithm.paused")
    assert paused.sequence == events["winRate"].sequence + 1
    assert algorithm.status_changes.latest("id").actor == "system"


@pytest.mark.parametrize(
    ("metric", "before", "after", "calls"),
    [
        ("winRate", 50, 40, True),
        ("winRate", 40, 39, False),
        ("winRate", 40, 50, False),
        ("winRate", None, 45, True),
        ("profitFactor", None, None, False),
        ("maxDrawdown", 40, 45, True),
        ("maxDrawdown", 45, 46, False),
    ],
)
def test_an_alert_calls_at_each_crossing(
    metric: str, before: float | None, after: float | None, calls: bool
) -> None:
    """The threshold is 45."""
    watched: alerts.Alerts = {metric: {"threshold": 45, "action": "send_notification"}}
    earlier = paper_performance.new() | {"totalTrades": before and 1, metric: before}
    later = paper_performance.new() | {"totalTrades": 2, metric: after}
    assert bool(list(alerts.raised_alerts(watched, earlier, later))) is calls
