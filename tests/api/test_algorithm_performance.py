"""GET /api/algorithms/<id>/performance, and its alerts"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import paper_performance
from apps.backtests.models import Backtest
from apps.backtests.running import execution, simulating
from apps.engine.simulation.simulations import ignore_progress
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import begin
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATHS = pytest.mark.parametrize("prefix", ["/api/algorithms", "/api/trading/algorithms"])
ALERTS = {
    "maxDrawdown": {"threshold": 12.5, "action": "pause_algorithm"},
    "winRate": {"threshold": 40, "action": "send_notification"},
}
NOT_A_THRESHOLD: tuple[object, ...] = ("x", "1", True, None, [1], {}, -1)


def alerts(algorithm: Algorithm) -> str:
    return f"/api/algorithms/{algorithm.pk}/performance/alerts"


@PATHS
def test_a_new_algorithm_has_all_fields_at_zero(api: Api, alice: User, prefix: str) -> None:
    algorithm = make.algorithm(alice)
    body = api(alice).get(f"{prefix}/{algorithm.pk}/performance").json()
    fields = set(
        """
        totalTrades winningTrades losingTrades totalProfit totalLoss winRate profitFactor
        sharpeRatio maxDrawdown averageWin averageLoss netProfit roi maxDrawdownAmount expectancy
        riskRewardRatio
    """.split()
    )
    assert body == {
        "performance": dict.fromkeys(fields, 0),
        "lastUpdated": "2026-11-02T04:00:00.000Z",
    }


@PATHS
def test_performance_shows_the_results_and_their_last_change(
    api: Api, alice: User, prefix: str
) -> None:
    algorithm = make.algorithm(alice)
    record = paper_performance.new() | {"totalTrades": 2, "winRate": 100, "profitFactor": None}
    Algorithm.objects.filter(pk=algorithm.pk).update(
        performance=record, performance_at=make.NOW + timedelta(hours=1)
    )
    body = api(alice).get(f"{prefix}/{algorithm.pk}/performance").json()
    assert body == {"performance": record, "lastUpdated": "2026-11-02T05:00:00.000Z"}
    assert list(body["performance"]) == list(paper_performance.new())


def test_a_save_does_not_count_as_performance(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    services.update(
        owner=alice,
        algorithm_id=algorithm.pk,
        changes={"name": "New"},
        now=make.NOW + timedelta(hours=1),
    )
    body = api(alice).get(f"/api/algorithms/{algorithm.pk}/performance").json()
    assert body["lastUpdated"] == "2026-11-02T04:00:00.000Z"


def test_a_backtest_does_not_count_as_performance(api: Api, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    algorithm = make.algorithm(alice, **make.steps())
    before = Algorithm.objects.values().get()
    submit(alice, algorithm.pk)
    backtest = begin()
    output = simulating.run_backtest(backtest, ignore_progress)
    execution.complete(backtest=backtest, output=output, now=make.NOW)
    performance = Backtest.objects.get().performance
    assert performance is not None
    assert performance["totalTrades"] > 0
    assert Algorithm.objects.values().get() == before


@PATHS
@pytest.mark.parametrize("algorithm_id", ["x", "0" * 24, "theirs", "archived"])
def test_another_users_algorithm_is_not_found(
    api: Api, alice: User, bob: User, prefix: str, algorithm_id: str
) -> None:
    stored = make.algorithm(alice if algorithm_id == "theirs" else bob)
    if algorithm_id == "archived":
        services.archive(owner=bob, algorithm_id=stored.pk, now=make.NOW)
    wanted = stored.pk if algorithm_id in ("theirs", "archived") else algorithm_id
    response = api(bob).get(f"{prefix}/{wanted}/performance")
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=wanted)
    for response in (
        api(bob).get(f"/api/algorithms/{wanted}/performance/alerts"),
        api(bob).put(f"/api/algorithms/{wanted}/performance/alerts", {"alerts": {}}),
    ):
        assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=wanted)


def test_reading_takes_two_queries(api: Api, alice: User) -> None:
    algorithm, client = make.algorithm(alice), api(alice)
    for path in (f"/api/algorithms/{algorithm.pk}/performance", alerts(algorithm)):
        with CaptureQueriesContext(connection) as queries:
            client.get(path)
        assert len(queries) == 2  # the session with its user, the algorithm


def test_there_are_no_alerts_until_some_are_set(api: Api, alice: User) -> None:
    assert api(alice).get(alerts(make.algorithm(alice))).json() == {"alerts": {}}


def test_alerts_are_replaced_as_a_whole(api: Api, alice: User) -> None:
    client, path = api(alice), alerts(make.algorithm(alice))
    response = client.put(path, {"alerts": ALERTS})
    assert (response.status_code, response.json()) == (200, {"alerts": ALERTS})
    assert client.get(path).json() == {"alerts": ALERTS}
    other = {"profitFactor": {"threshold": 0, "action": "pause_algorithm"}}
    assert client.put(path, {"alerts": other}).json() == {"alerts": other}
    assert client.put(path, client.get(path).json()).json() == {"alerts": other}
    assert client.put(path, {"alerts": {}}).json() == {"alerts": {}}


@pytest.mark.parametrize("status", ["draft", "active", "paused", "stopped", "error"])
def test_alerts_may_be_set_in_any_state_and_are_no_change_of_the_description(
    api: Api, alice: User, status: str
) -> None:
    algorithm, client = make.algorithm(alice), api(alice)
    Algorithm.objects.filter(pk=algorithm.pk).update(status=status, active=status == "active")
    before = client.get(f"/api/trading/algorithms/{algorithm.pk}")
    assert client.put(alerts(algorithm), {"alerts": ALERTS}).status_code == 200
    after = client.get(f"/api/trading/algorithms/{algorithm.pk}")
    assert (after.json(), after["ETag"]) == (before.json(), before["ETag"])


@pytest.mark.parametrize(
    ("body", "field", "allowed"),
    [
        ({}, "alerts", None),
        ({"alerts": None}, "alerts", None),
        ({"alerts": []}, "alerts", None),
        ({"alerts": {}, "alarms": {}}, "alarms", ["alerts"]),
        (
            {"alerts": {"foo": ALERTS["winRate"]}},
            "alerts.foo",
            ["maxDrawdown", "profitFactor", "winRate"],
        ),
        ({"alerts": {"winRate": None}}, "alerts.winRate", None),
        ({"alerts": {"winRate": 40}}, "alerts.winRate", None),
        (
            {"alerts": {"winRate": {"action": "send_notification"}}},
            "alerts.winRate.threshold",
            None,
        ),
        (
            {"alerts": {"winRate": {"threshold": 1}}},
            "alerts.winRate.action",
            ["pause_algorithm", "send_notification"],
        ),
        (
            {"alerts": {"winRate": {"threshold": 1, "action": "sell_all"}}},
            "alerts.winRate.action",
            ["pause_algorithm", "send_notification"],
        ),
        (
            {"alerts": {"winRate": {"threshold": 1, "action": None}}},
            "alerts.winRate.action",
            ["pause_algorithm", "send_notification"],
        ),
        *(
            (
                {"alerts": {"winRate": {"threshold": threshold, "action": "send_notification"}}},
                "alerts.winRate.threshold",
                None,
            )
            for threshold in NOT_A_THRESHOLD
        ),
        (
            {"alerts": {"winRate": {"threshold": 1, "action": "pause_algorithm", "acton": 1}}},
            "alerts.winRate.acton",
            ["threshold", "action"],
        ),
    ],
)
def test_a_wrong_value_is_refused_and_named(
    api: Api, alice: User, body: dict[str, Any], field: str, allowed: list[str] | None
) -> None:
    client, path = api(alice), alerts(make.algorithm(alice))
    client.put(path, {"alerts": ALERTS})
    error = assert_error(client.put(path, body), 400, "VALIDATION_ERROR", field=field)
    assert error["details"].get("allowedValues") == allowed
    assert client.get(path).json() == {"alerts": ALERTS}


def test_all_faults_are_reported_at_once(api: Api, alice: User) -> None:
    body = {
        "maxDrawdwn": {},
        "winRate": {"threshold": "1", "action": "sell"},
        "profitFactor": {"threshold": 1},
    }
    response = api(alice).put(alerts(make.algorithm(alice)), {"alerts": body})
    error = assert_error(response, 400, "VALIDATION_ERROR", field="alerts.maxDrawdwn")
    assert "did you mean maxDrawdown?" in error["message"]
    assert [fault["field"] for fault in error["details"]["errors"]] == [
        "alerts.maxDrawdwn",
        "alerts.profitFactor.action",
        "alerts.winRate.threshold",
        "alerts.winRate.action",
    ]
