"""POST /api/backtests/<id>/what-if"""

from dataclasses import replace
from typing import Any

import pytest

from apps.accounts.models import User
from apps.backtests import results
from apps.backtests.models import Backtest, BacktestKind, TrialRecord
from apps.backtests.what_if import services
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.waves import waves
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.envelope import assert_error
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
    store_candles("NSE:NIFTY", "15m", waves("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    return Backtest.objects.get(pk=backtest.pk)


def path_of(backtest: Backtest) -> str:
    return f"/api/backtests/{backtest.pk}/what-if"


def test_a_change_gives_what_a_backtest_of_it_gives(
    api: Api, alice: User, original: Backtest
) -> None:
    """With `store` the same configuration runs as a backtest too, which is the judge."""
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


def test_nothing_is_stored_but_that_it_was_tried(api: Api, alice: User, original: Backtest) -> None:
    backtests, tried = Backtest.objects.count(), TrialRecord.objects.count()
    for _ in range(2):
        body = api(alice).post(path_of(original), WIDER).json()
        assert body["storedBacktestId"] is None
    assert Backtest.objects.count() == backtests
    assert TrialRecord.objects.count() == tried + 1  # what is tried again is one trial
    assert original.configuration == Backtest.objects.get(pk=original.pk).configuration


def test_null_takes_a_field_away(api: Api, alice: User, original: Backtest) -> None:
    assert "takeProfit" in original.configuration["exitConditions"]
    body = api(alice).post(path_of(original), {"exitConditions": {"takeProfit": None}}).json()
    assert any(
        change["field"].startswith("exitConditions.takeProfit") for change in body["changes"]
    )


def test_candles_that_have_changed_since_are_told(
    api: Api, alice: User, original: Backtest
) -> None:
    bars = waves("2024-01-01", 45)
    store_candles("NSE:NIFTY", "15m", replace(bars, volume=bars.volume + 1))
    assert api(alice).post(path_of(original), WIDER).json()["sameCandles"] is False


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "exitConditions"),
        ({"exitConditions": {}}, "exitConditions"),
        ({"exitConditions": 5}, "exitConditions"),
        ({"basicInfo": {"symbols": ["NSE:TCS"]}}, "basicInfo"),
        ({"exitConditions": {"stopLoss": {"type": "percentage", "percentage": -1}}},
         "exitConditions.stopLoss.percentage"),
        ({"riskParameters": {"maxOpenPosition": 1}}, "riskParameters.maxOpenPosition"),
        (WIDER | {"store": 1}, "store"),
    ],
)  # fmt: skip
def test_a_change_that_is_not_valid_is_refused(
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


def test_of_a_study_there_is_none(api: Api, alice: User, original: Backtest) -> None:
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


def test_anothers_is_not_there(api: Api, bob: User, original: Backtest) -> None:
    assert_error(api(bob).post(path_of(original), WIDER), 404, "BACKTEST_NOT_FOUND")
