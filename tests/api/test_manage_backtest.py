"""PATCH and DELETE /api/backtests/<id>, POST /api/backtests/<id>/cancel"""

import pytest

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestResult, BacktestStatus, TradeBlock
from apps.backtests.running import queue
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import begin, run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATH = "/api/backtests"


@pytest.fixture
def queued(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return submit(alice)


@pytest.fixture
def running(queued: Backtest) -> Backtest:
    return begin()


@pytest.fixture
def completed(queued: Backtest) -> Backtest:
    run_queued()
    return queued


def test_a_waiting_backtest_is_cancelled_and_never_runs(
    api: Api, alice: User, queued: Backtest
) -> None:
    response = api(alice).post(f"{PATH}/{queued.pk}/cancel")
    assert response.status_code == 200
    body = response.json()
    assert (body["status"], body["startedAt"], body["performance"]) == ("cancelled", None, None)
    assert body["completedAt"]
    run_queued()
    assert Backtest.objects.get().status == BacktestStatus.CANCELLED
    assert not BacktestResult.objects.exists()


def test_a_running_backtest_is_cancelled_at_once(api: Api, alice: User, running: Backtest) -> None:
    response = api(alice).post(f"{PATH}/{running.pk}/cancel", {})
    assert (response.status_code, response.json()["status"]) == (200, "cancelled")


def test_a_finished_backtest_cannot_be_cancelled(
    api: Api, alice: User, completed: Backtest
) -> None:
    response = api(alice).post(f"{PATH}/{completed.pk}/cancel")
    assert_error(
        response, 422, "UNPROCESSABLE_ENTITY", backtestId=completed.pk, currentStatus="completed"
    )
    again = api(alice).post(f"{PATH}/{completed.pk}/cancel")
    assert_error(again, 422, "UNPROCESSABLE_ENTITY")


def test_a_finished_backtest_can_be_renamed(api: Api, alice: User, completed: Backtest) -> None:
    client = api(alice)
    response = client.patch(f"{PATH}/{completed.pk}", {"name": "  The good one "})
    assert (response.status_code, response.json()["name"]) == (200, "The good one")
    assert client.get(f"{PATH}/{completed.pk}").json() == response.json()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
        ({"name": None}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"kept": 1}, "kept"),
        ({"name": "x", "status": "completed"}, "status"),
    ],
)
def test_a_bad_name_is_refused(
    api: Api, alice: User, completed: Backtest, body: dict[str, object], field: str
) -> None:
    response = api(alice).patch(f"{PATH}/{completed.pk}", body)
    assert_error(response, 400, "VALIDATION_ERROR", field=field)


def test_a_finished_backtest_is_deleted_with_its_result(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    response = client.delete(f"{PATH}/{completed.pk}")
    assert (response.status_code, response.content) == (204, b"")
    assert_error(client.get(f"{PATH}/{completed.pk}"), 404, "BACKTEST_NOT_FOUND")
    assert_error(client.delete(f"{PATH}/{completed.pk}"), 404, "BACKTEST_NOT_FOUND")
    assert not BacktestResult.objects.exists()
    assert not TradeBlock.objects.exists()


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_waiting_or_running_backtest_is_neither_renamed_nor_deleted(
    api: Api, alice: User, queued: Backtest, status: str
) -> None:
    if status == "running":
        queue.begin_next(now=make.NOW)
    client = api(alice)
    renamed = client.patch(f"{PATH}/{queued.pk}", {"name": "New"})
    kept = client.patch(f"{PATH}/{queued.pk}", {"kept": True})
    deleted = client.delete(f"{PATH}/{queued.pk}")
    for response in (renamed, kept, deleted):
        assert_error(response, 422, "BACKTEST_RUNNING", currentStatus=status)
    assert Backtest.objects.get().name == ""


@pytest.mark.parametrize("backtest_id", ["x", "0" * 24, "hers"])
def test_unknown_and_foreign_backtests_get_the_same_response(
    api: Api, bob: User, completed: Backtest, backtest_id: str
) -> None:
    client, wanted = api(bob), completed.pk if backtest_id == "hers" else backtest_id
    for response in (
        client.patch(f"{PATH}/{wanted}", {"name": "New"}),
        client.delete(f"{PATH}/{wanted}"),
        client.post(f"{PATH}/{wanted}/cancel"),
    ):
        assert_error(response, 404, "BACKTEST_NOT_FOUND", backtestId=wanted)
