"""The note on results of engines with missed trailing stops, wherever such a result is shown."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest, BacktestKind
from apps.engine.kernel.records import ENGINE_VERSION
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.market.bars import store_candles

TRAIL = {"type": "percentage", "percentage": 3, "enabled": True}
CODE = "trailing_stops"


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


def completed(owner: User, trail: dict[str, Any], **options: Any) -> Backtest:
    steps = make.steps()
    steps["exitConditions"] = {**steps["exitConditions"], "trailingStop": trail}
    backtest = submit(owner, make.algorithm(owner, **steps).pk, **options)
    run_queued()
    return Backtest.objects.get(pk=backtest.pk)


def made_by(version: int, backtest: Backtest) -> Backtest:
    backtest.receipt = {**(backtest.receipt or {}), "engineVersion": version}
    backtest.save()
    return backtest


@pytest.fixture(scope="module")
def old(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return made_by(12, completed(alice, TRAIL))


def codes(notes: list[dict[str, str]]) -> list[str]:
    return [note["code"] for note in notes]


def test_every_answer_with_the_result_has_the_note(api: Api, alice: User, old: Backtest) -> None:
    client = api(alice)
    path = f"/api/backtests/{old.pk}"
    whole = client.get(path).json()
    note, *_ = whole["receipt"]["notes"]
    assert note["code"] == CODE
    assert "engine version 12 made it" in note["message"]
    [listed] = client.get(f"/api/backtests?algorithmId={old.algorithm_id}").json()["data"]
    assert note in listed["receipt"]["notes"]
    assert note in client.get(f"{path}/receipt").json()["receipt"]["notes"]
    assert client.get(f"{path}/evidence").json()["notes"] == [note]
    changes = {"executionSettings": {"slippage": 0.5}}
    assert client.post(f"{path}/what-if", changes).json()["notes"] == [note]
    assert note["message"] in client.get(f"{path}/report").content.decode()


def test_pages_of_the_console_have_the_note(client: Client, alice: User, old: Backtest) -> None:
    client.post("/app/sign-in", {"email": alice.email, "password": make.PASSWORD})
    for page in (
        f"/app/backtests/{old.pk}",
        "/app/backtests",
        f"/app/backtests/compare?id={old.pk}&id={old.pk}",
    ):
        assert "engine version 12 made it" in client.get(page).content.decode(), page


def test_a_comparison_has_the_note_for_its_backtest(api: Api, alice: User, old: Backtest) -> None:
    new = completed(alice, TRAIL)
    answer = api(alice).get(f"/api/backtests/compare?ids={old.pk},{new.pk}").json()
    assert [codes(row["notes"]) for row in answer["backtests"]] == [[CODE], []]


@pytest.mark.parametrize(
    ("version", "trail"), [(12, {**TRAIL, "enabled": False}), (ENGINE_VERSION, TRAIL)]
)
def test_a_run_without_a_trail_or_of_a_later_engine_has_no_notes(
    api: Api, alice: User, old: Backtest, version: int, trail: dict[str, Any]
) -> None:
    backtest = made_by(version, completed(alice, trail))
    notes = api(alice).get(f"/api/backtests/{backtest.pk}").json()["receipt"]["notes"]
    assert CODE not in codes(notes)


def test_stored_walk_forwards_of_an_algorithm_have_the_note(
    api: Api, alice: User, old: Backtest
) -> None:
    """Results of release 1.0 do not name their engine; their steps are those of their version."""
    steps = make.steps()
    steps["exitConditions"] = {**steps["exitConditions"], "trailingStop": TRAIL}
    algorithm = make.algorithm(alice, **steps)
    config = {"windows": 2, "parameters": [], "objective": "netProfit"}
    config["parameters"] = [
        {"path": "exitConditions.stopLoss.percentage", "from": 1, "to": 2, "step": 1}
    ]
    submit(
        alice, algorithm.pk, kind=BacktestKind.WALK_FORWARD, configs={"walkForwardConfig": config}
    )
    run_queued()
    path = f"/api/trading/algorithms/{algorithm.pk}"
    [kept] = api(alice).get(path).json()["walkForwardResults"]
    assert (kept["engineVersion"], "notes" in kept) == (ENGINE_VERSION, False)
    del kept["engineVersion"]
    rows = Algorithm.objects.filter(pk=algorithm.pk)
    rows.update(walk_forward_results=[kept], monte_carlo_results=make.kept_monte_carlo(), version=2)
    shown = api(alice).get(path).json()
    assert codes(shown["walkForwardResults"][0]["notes"]) == [CODE]
    assert codes(shown["monteCarloResults"]["notes"]) == [CODE]
