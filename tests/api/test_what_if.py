"""POST /api/backtests/<id>/what-if"""

from dataclasses import replace
from typing import Any

import pytest
from django.conf import LazySettings

from apps.accounts.models import User
from apps.backtests.analysis.what_if import services
from apps.backtests.models import Backtest, BacktestKind, TrialRecord
from apps.backtests.running import results
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

WIDER: dict[str, Any] = {
    "exitConditions": {"stopLoss": {"type": "percentage", "percentage": 3}},
    "executionSettings": {"slippage": 0.5},
}


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def original(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    return Backtest.objects.get(pk=backtest.pk)


def path_of(backtest: Backtest) -> str:
    return f"/api/backtests/{backtest.pk}/what-if"


def test_a_change_gives_the_result_of_a_backtest(api: Api, alice: User, original: Backtest) -> None:
    """With `store` the same configuration also runs as a backtest, for comparison."""
    body = api(alice).post(path_of(original), WIDER | {"store": True}).json()
    run_queued()
    stored = results.fetch_completed(owner=alice, backtest_id=body["storedBacktestId"])
    assert stored.configuration["exitConditions"]["stopLoss"]["percentage"] == 3
    assert original.performance
    pairs = {pair["name"]: pair for pair in body["metrics"]}
    shown = api(alice).get(f"/api/backtests/{stored.pk}").json()["performance"]
    assert {name: pair["second"] for name, pair in pairs.items()} == {
        name: shown[name] for name in pairs
    }
    net = pairs["netProfit"]
    assert net["first"] == original.performance["netProfit"] != net["second"]
    assert net["difference"] == pytest.approx(net["second"] - net["first"], abs=0.011)
    assert body["sameCandles"] is True
    assert {change["field"] for change in body["changes"]} >= {"executionSettings.slippage"}


def test_steps_and_levels_may_be_tried(api: Api, alice: User, original: Backtest) -> None:
    low = {"type": "MIN", "period": 5, "source": "low"}
    changed = {
        "exitConditions": {
            "stopLoss": {"type": "level", "price": low, "buffer": 0.5},
            "steps": [{"at": {"type": "risk_reward", "ratio": 0.5}, "close": 40}],
        }
    }
    body = api(alice).post(path_of(original), changed).json()
    net = next(pair for pair in body["metrics"] if pair["name"] == "netProfit")
    assert net["first"] != net["second"]
    fields = {change["field"] for change in body["changes"]}
    assert fields >= {"exitConditions.stopLoss", "exitConditions.steps"}


def test_only_the_trial_is_stored(api: Api, alice: User, original: Backtest) -> None:
    backtests, tried = Backtest.objects.count(), TrialRecord.objects.count()
    for _ in range(2):
        body = api(alice).post(path_of(original), WIDER).json()
        assert body["storedBacktestId"] is None
    assert Backtest.objects.count() == backtests
    assert TrialRecord.objects.count() == tried + 1  # a repeated configuration is one trial
    assert original.configuration == Backtest.objects.get(pk=original.pk).configuration


def test_an_unchanged_algorithm_gives_the_stored_result_and_no_new_trial(
    api: Api, alice: User, original: Backtest
) -> None:
    tried = TrialRecord.objects.count()
    same = {"exitConditions": original.configuration["exitConditions"]}
    body = api(alice).post(path_of(original), same).json()
    assert (body["changes"], body["sameCandles"]) == ([], True)
    assert len(body["metrics"]) > 10
    for pair in body["metrics"]:
        assert (pair["first"], pair["difference"] or 0) == (pair["second"], 0), pair
    assert TrialRecord.objects.count() == tried


@pytest.mark.parametrize("store", [False, True])
def test_a_repeated_request_with_its_key_is_simulated_and_stored_once(
    api: Api, alice: User, original: Backtest, monkeypatch: pytest.MonkeyPatch, store: bool
) -> None:
    client, backtests = api(alice), Backtest.objects.count()
    headers = {"Idempotency-Key": "k"}
    first = client.post(path_of(original), WIDER | {"store": store}, headers=headers)
    monkeypatch.setattr(services, "simulate_changes", pytest.fail)
    again = client.post(path_of(original), WIDER | {"store": store}, headers=headers)
    assert (first.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert first.content == again.content
    assert Backtest.objects.count() == backtests + store
    other = client.post(path_of(original), WIDER | {"store": not store}, headers=headers)
    assert_error(other, 422, "UNPROCESSABLE_ENTITY")


@pytest.mark.parametrize("limits", [{"backtests": 1}, {"backtestBytes": 1}])
def test_a_full_quota_refuses_only_storing(
    api: Api, alice: User, original: Backtest, settings: LazySettings, limits: dict[str, int]
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, **limits}
    client, backtests = api(alice), Backtest.objects.count()
    tried = TrialRecord.objects.count()
    (resource,) = limits
    refused = client.post(path_of(original), WIDER | {"store": True})
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY", resource=resource, limit=1)
    assert Backtest.objects.count() == backtests
    assert TrialRecord.objects.count() == tried  # nothing was answered that anybody could choose by
    assert client.post(path_of(original), WIDER).status_code == 200
    assert TrialRecord.objects.count() == tried + 1


def test_stored_requests_count_in_the_users_queued_seconds(
    api: Api, alice: User, original: Backtest, settings: LazySettings
) -> None:
    settings.QUOTA_BACKTEST_SECONDS = 0
    client = api(alice)
    refused = client.post(path_of(original), WIDER | {"store": True})
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY", limitSeconds=0)
    assert client.post(path_of(original), WIDER).status_code == 200


def test_null_removes_a_field(api: Api, alice: User, original: Backtest) -> None:
    assert "takeProfit" in original.configuration["exitConditions"]
    body = api(alice).post(path_of(original), {"exitConditions": {"takeProfit": None}}).json()
    assert any(
        change["field"].startswith("exitConditions.takeProfit") for change in body["changes"]
    )


def test_changed_candles_are_reported(api: Api, alice: User, original: Backtest) -> None:
    bars = wave_candles("2024-01-01", 45)
    store_candles("NSE:NIFTY", "15m", replace(bars, volume=bars.volume + 1))
    assert api(alice).post(path_of(original), WIDER).json()["sameCandles"] is False


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "exitConditions"),
        ({"exitConditions": {}}, "exitConditions"),
        ({"exitConditions": 5}, "exitConditions"),
        ({"basicInfo": {"symbols": ["NSE:TCS"]}}, "basicInfo"),
        (
            {"exitConditions": {"stopLoss": {"type": "percentage", "percentage": -1}}},
            "exitConditions.stopLoss.percentage",
        ),
        ({"riskParameters": {"maxOpenPosition": 1}}, "riskParameters.maxOpenPosition"),
        (WIDER | {"store": 1}, "store"),
    ],
)
def test_an_invalid_change_is_refused(
    api: Api, alice: User, original: Backtest, body: dict[str, Any], field: str
) -> None:
    tried = TrialRecord.objects.count()
    response = api(alice).post(path_of(original), body)
    error = assert_error(response, 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == field
    assert TrialRecord.objects.count() == tried


def test_a_long_range_is_stored_and_not_simulated_at_once(
    api: Api, alice: User, original: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_BARS_AT_ONCE", 100)
    assert_error(api(alice).post(path_of(original), WIDER), 422, "UNPROCESSABLE_ENTITY", limit=100)
    body = api(alice).post(path_of(original), WIDER | {"store": True}).json()
    assert (body["metrics"], body["sameCandles"]) == (None, None)
    assert Backtest.objects.get(pk=body["storedBacktestId"]).status == "queued"


def test_a_study_has_no_what_if(api: Api, alice: User, original: Backtest) -> None:
    study = submit(
        alice,
        original.algorithm_id,
        kind=BacktestKind.MONTE_CARLO,
        configs={"monteCarloConfig": {"runs": 10}},
    )
    assert_error(api(alice).post(path_of(study), WIDER), 422, "UNPROCESSABLE_ENTITY")
    run_queued()
    assert_error(
        api(alice).post(path_of(study), WIDER), 422, "UNPROCESSABLE_ENTITY", kind="monte_carlo"
    )


def test_another_users_backtest_is_not_found(api: Api, bob: User, original: Backtest) -> None:
    assert_error(api(bob).post(path_of(original), WIDER), 404, "BACKTEST_NOT_FOUND")
