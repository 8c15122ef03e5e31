"""POST /api/backtests of the kinds walk_forward, monte_carlo and optimization"""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms import study_results
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest
from apps.backtests.running import estimates, execution, shards, simulating
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import begin, never, run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATH = "/api/backtests"
RANGE = {"startDate": "2024-02-01", "endDate": "2024-02-29"}
FAST = "entryConditions.conditions[0].indicator1.period"
SLOW = "entryConditions.conditions[0].indicator2.period"
STOP = "exitConditions.stopLoss.percentage"
PARAMETERS = [
    {"path": FAST, "from": 5, "to": 9, "step": 2},
    {"path": STOP, "from": 0.5, "to": 1, "step": 0.5},
]


@pytest.fixture(scope="module")
def history(kept: None) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))


@pytest.fixture
def body(alice: User, history: None) -> dict[str, Any]:
    return {"algorithmId": make.algorithm(alice, **make.steps()).pk, **RANGE}


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def completed(client: APIClient, body: dict[str, Any]) -> Any:
    created = client.post(PATH, body)
    assert created.status_code == 201, created.json()
    assert created.json()["results"] is None
    run_queued()
    backtest = client.get(f"{PATH}/{created.json()['id']}").json()
    assert backtest["status"] == "completed", backtest["error"]
    return backtest


def test_a_walk_forward_lists_each_window_and_is_kept_with_its_algorithm(
    client: APIClient, body: dict[str, Any]
) -> None:
    """21 session days in 3 windows of 0.7: floor(6.3 / 1.6) = 3 days each."""
    config = {"windows": 3, "parameters": PARAMETERS, "objective": "netProfit"}
    backtest = completed(client, {**body, "kind": "walk_forward", "walkForwardConfig": config})
    assert backtest["config"] == {**config, "trainRatio": 0.7, "anchored": False}
    windows = backtest["results"]["windows"]
    assert len(windows) == 3
    assert set(windows[0]["parameters"]) == {FAST, STOP}
    assert windows[0]["outOfSample"]["from"].startswith("2024-02-19")  # after twelve days
    profit = sum(window["outOfSample"]["performance"]["netProfit"] for window in windows)
    assert backtest["performance"]["netProfit"] == pytest.approx(profit)
    curve = client.get(f"{PATH}/{backtest['id']}/equity?points=5000").json()["points"]
    assert len(curve) == 3 * 3 * 25
    assert curve[-1]["equity"] == backtest["results"]["equity"][-1]["equity"]
    assert len(backtest["receipt"]["study"]) == 64
    algorithm = client.get(f"/api/trading/algorithms/{body['algorithmId']}").json()
    [kept] = algorithm["walkForwardResults"]
    assert kept["backtestId"] == backtest["id"]
    assert kept["windows"] == windows


def test_the_newest_walk_forwards_of_an_algorithm_are_stored(
    client: APIClient, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_results, "MOST_WALK_FORWARDS", 2)
    own = {"windows": 2, "parameters": PARAMETERS[:1], "objective": "netProfit"}
    Algorithm.objects.update(walk_forward_config=own)
    ids = [completed(client, {**body, "kind": "walk_forward"})["id"] for _ in range(3)]
    response = client.get(f"/api/trading/algorithms/{body['algorithmId']}")
    assert [kept["backtestId"] for kept in response.json()["walkForwardResults"]] == ids[1:]


def test_a_monte_carlo_gives_the_spread_of_the_sums_of_trades(
    client: APIClient, body: dict[str, Any]
) -> None:
    tag = client.get(f"/api/trading/algorithms/{body['algorithmId']}")["ETag"]
    config = {"runs": 500, "method": "block_bootstrap", "seed": 7}
    request_body = {**body, "kind": "monte_carlo", "monteCarloConfig": config}
    backtest = completed(client, request_body)
    study = backtest["results"]
    assert study["finalEquity"]["p5"] < study["finalEquity"]["p95"]
    assert study["asTraded"]["finalEquity"] == pytest.approx(backtest["performance"]["finalEquity"])
    assert (study["seed"], backtest["receipt"]["seed"]) == (7, 7)
    algorithm = client.get(f"/api/trading/algorithms/{body['algorithmId']}")
    assert algorithm.json()["monteCarloResults"]["finalEquity"] == study["finalEquity"]
    assert algorithm["ETag"] != tag
    again = completed(client, request_body)
    assert again["receipt"] == backtest["receipt"]
    shuffled = completed(
        client, {**request_body, "monteCarloConfig": {"method": "shuffle", "runs": 9}}
    )
    assert shuffled["results"]["finalEquity"] is None
    algorithm = client.get(f"/api/trading/algorithms/{body['algorithmId']}")
    assert algorithm.json()["monteCarloResults"]["method"] == "shuffle"


def test_a_seed_that_was_drawn_can_be_sent_back(client: APIClient, body: dict[str, Any]) -> None:
    request_body = {**body, "kind": "monte_carlo"}
    drawn = completed(client, {**request_body, "monteCarloConfig": {"runs": 50}})
    config = {"runs": 50, "seed": drawn["results"]["seed"]}
    again = completed(client, {**request_body, "monteCarloConfig": config})
    assert again["results"] == drawn["results"]


def test_an_optimization_ranks_its_sets_and_takes_the_best(
    client: APIClient, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"parameters": PARAMETERS, "objective": "netProfit"}
    request_body = {**body, "kind": "optimization", "optimizationConfig": config}
    backtest = completed(client, request_body)
    study = backtest["results"]
    assert (study["sets"], study["tried"], study["invalid"]) == (6, 6, 0)
    assert [row["rank"] for row in study["ranking"]] == [1, 2, 3, 4, 5, 6]
    assert study["ranking"][0]["objective"] == backtest["performance"]["netProfit"]
    assert 0 <= study["deflation"]["deflatedSharpeRatio"] <= 1
    trades = client.get(f"{PATH}/{backtest['id']}/trades").json()["pagination"]["total"]
    assert (
        trades
        == backtest["performance"]["totalTrades"] + backtest["performance"]["breakevenTrades"]
    )
    monkeypatch.setattr(simulating, "THREADS", 3)
    again = completed(client, request_body)
    assert again["receipt"]["result"] == backtest["receipt"]["result"]


CONFIGS = {
    "walk_forward": "walkForwardConfig",
    "monte_carlo": "monteCarloConfig",
    "optimization": "optimizationConfig",
}


@pytest.mark.parametrize(
    ("kind", "config", "field"),
    [
        ("walk_forward", {}, "parameters"),
        ("walk_forward", {"windows": 51, "parameters": PARAMETERS}, "windows"),
        ("walk_forward", {"parameters": [{**PARAMETERS[0], "path": "a.b"}]}, "parameters[0].path"),
        ("walk_forward", {"parameters": [{**PARAMETERS[1], "to": 101}]}, "parameters[0].to"),
        ("walk_forward", {"parameters": PARAMETERS, "window": 2}, "window"),
        ("monte_carlo", {"runs": 0}, "runs"),
        ("optimization", {"parameters": PARAMETERS, "maxRuns": 5}, "maxRuns"),
        ("optimization", {"parameters": PARAMETERS, "objective": "profit"}, "objective"),
    ],
)
def test_an_error_in_a_configuration_gives_its_place(
    client: APIClient, body: dict[str, Any], kind: str, config: object, field: str
) -> None:
    response = client.post(PATH, {**body, "kind": kind, CONFIGS[kind]: config})
    assert_error(response, 400, "VALIDATION_ERROR", field=f"{CONFIGS[kind]}.{field}")
    assert not Backtest.objects.exists()


def test_an_error_shows_the_value_and_the_allowed_values(
    client: APIClient, body: dict[str, Any]
) -> None:
    config = {"parameters": PARAMETERS, "method": "genetic"}
    sent = {**body, "kind": "optimization", "optimizationConfig": config}
    assert_error(
        client.post(PATH, sent),
        400,
        "VALIDATION_ERROR",
        value="genetic",
        allowedValues=["grid", "random"],
    )


def test_a_configuration_that_would_be_passed_over_is_refused(
    client: APIClient, body: dict[str, Any]
) -> None:
    response = client.post(PATH, {**body, "monteCarloConfig": {"runs": 5}})
    assert_error(response, 400, "VALIDATION_ERROR", field="monteCarloConfig", value={"runs": 5})


@pytest.mark.parametrize(
    ("change", "field", "tried"),
    [
        ({"path": FAST, "from": 5, "to": 9, "step": 0.5}, "step", "5.5 is tried"),
        ({"path": STOP, "from": 90, "to": 100.7, "step": 0.5}, "to", "100.5 is tried"),
        ({"path": FAST, "from": 0, "to": 9, "step": 3}, "from", "must be at least 2"),
    ],
)
def test_an_error_of_a_range_shows_the_value_and_its_possible_steps(
    client: APIClient, body: dict[str, Any], change: dict[str, object], field: str, tried: str
) -> None:
    config = {"parameters": [change]}
    response = client.post(PATH, {**body, "kind": "optimization", "optimizationConfig": config})
    path = f"optimizationConfig.parameters[0].{field}"
    error = assert_error(response, 400, "VALIDATION_ERROR", field=path, value=change[field])
    assert tried in str(error["message"])


def test_too_many_sets_show_the_parameters(client: APIClient, body: dict[str, Any]) -> None:
    many = [
        {"path": FAST, "from": 2, "to": 900, "step": 1},
        PARAMETERS[1] | {"to": 10, "step": 0.05},
        PARAMETERS[0] | {"path": SLOW},
    ]
    config = {"parameters": many}
    response = client.post(PATH, {**body, "kind": "walk_forward", "walkForwardConfig": config})
    assert_error(
        response, 400, "VALIDATION_ERROR", field="walkForwardConfig.parameters", value="list of 3"
    )


@pytest.mark.parametrize(
    ("kind", "config", "field"),
    [
        ("walk_forward", {"parameters": [{**PARAMETERS[0], "path": "a.b"}]}, "parameters[0].path"),
        ("monte_carlo", {"runs": 0}, "runs"),
    ],
)
def test_an_error_of_the_algorithms_own_configuration_says_so(
    client: APIClient, body: dict[str, Any], kind: str, config: object, field: str
) -> None:
    Algorithm.objects.update(**{f"{kind}_config": config})
    response = client.post(PATH, {**body, "kind": kind})
    error = assert_error(response, 400, "VALIDATION_ERROR", field=f"{CONFIGS[kind]}.{field}")
    assert "in the algorithm" in str(error["message"])
    sent = client.post(PATH, {**body, "kind": kind, CONFIGS[kind]: config})
    error = assert_error(sent, 400, "VALIDATION_ERROR", field=f"{CONFIGS[kind]}.{field}")
    assert "in the algorithm," not in str(error["message"])


def test_too_few_session_days_are_refused_at_once(client: APIClient, body: dict[str, Any]) -> None:
    config = {"windows": 30, "parameters": PARAMETERS}
    sent = {**body, "kind": "walk_forward", "walkForwardConfig": config}
    response = client.post(PATH, sent)
    assert_error(response, 422, "INSUFFICIENT_DATA", sessions=21, needed=33, windows=30)


def test_windows_too_short_for_the_objective_are_refused_with_one_that_fits(
    client: APIClient, body: dict[str, Any]
) -> None:
    """21 session days make two windows with tests of a few days; an annual figure needs 21 each."""
    config = {"windows": 2, "parameters": PARAMETERS}
    sent = {**body, "kind": "walk_forward", "walkForwardConfig": config}
    error = assert_error(client.post(PATH, sent), 422, "INSUFFICIENT_DATA", sessions=21, needed=91)
    assert "Choose sharpeRatio instead" in str(error["message"])
    fits = {**config, "objective": "sharpeRatio"}
    assert client.post(PATH, {**sent, "walkForwardConfig": fits}).status_code == 201


def test_too_few_trades_for_a_monte_carlo_fail_it_with_the_reason(
    client: APIClient, alice: User, body: dict[str, Any]
) -> None:
    never = make.steps()["entryConditions"] | {
        "conditions": [
            {
                "type": "indicator_value",
                "indicator": {"type": "RSI"},
                "operator": "above",
                "value": 101,
            }
        ]
    }
    idle = make.algorithm(alice, **make.steps(entryConditions=never)).pk
    created = client.post(PATH, {**body, "algorithmId": idle, "kind": "monte_carlo"}).json()
    run_queued()
    error = client.get(f"{PATH}/{created['id']}").json()["error"]
    assert error["code"] == "UNPROCESSABLE_ENTITY"
    assert error["message"] == "It makes 0 trades; 2 are needed to draw from."


def test_a_search_that_is_cancelled_ends_at_its_next_report(
    client: APIClient, body: dict[str, Any]
) -> None:
    config = {"parameters": PARAMETERS, "objective": "netProfit"}
    sent = {**body, "kind": "optimization", "optimizationConfig": config}
    created = client.post(PATH, sent).json()
    running = begin()
    answers: list[bool] = []

    def cancelled() -> bool:
        answers.append(len(answers) > 2)  # while it searches: it has read, and set its stage
        return answers[-1]

    report = execution.progress_reporter(running, is_stopping=never, is_stale=cancelled)
    with pytest.raises(execution.StaleAttempt):
        shards.run_study(running, report)
    assert client.post(f"{PATH}/{created['id']}/cancel").json()["status"] == "cancelled"


def test_a_search_holds_fewer_bars(
    client: APIClient, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "BYTES_OF_A_SEARCHED_BAR", 12_000_000)
    sent = {**body, "kind": "optimization", "optimizationConfig": {"parameters": PARAMETERS}}
    error = assert_error(client.post(PATH, sent), 422, "UNPROCESSABLE_ENTITY")
    assert error["details"]["fits"] == 99
