"""GET /api/backtests/<id>/receipt, POST /api/backtests/<id>/reproduce, GET …/reproduction"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests import tasks
from apps.backtests.models import Backtest, BacktestKind
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

SYMBOL = "NSE:NIFTY"


@pytest.fixture
def alice(db: None) -> User:
    return make.user("alice")


@pytest.fixture
def original(alice: User) -> Backtest:
    """Return a completed backtest over two months."""
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    return Backtest.objects.get(pk=backtest.pk)


def reproduced(api: Api, user: User, original: Backtest) -> Any:
    created = api(user).post(f"/api/backtests/{original.pk}/reproduce")
    assert created.status_code == 201
    body = created.json()
    assert (body["reproducesId"], body["status"], body["comparison"]) == (
        original.pk,
        "queued",
        None,
    )
    run_queued()
    return api(user).get(f"/api/backtests/{body['backtestId']}/reproduction").json()


def change_candles(*, month: int) -> None:
    """Store the candles again, with another volume for each of that month of 2024."""
    bars = wave_candles("2024-01-01", 45)
    months = bars.time.astype("M8[s]").astype("M8[M]").astype(int) % 12 + 1
    volume = np.where(months == month, bars.volume + 1, bars.volume)
    store_candles(SYMBOL, "15m", replace(bars, volume=volume))


def test_the_receipt_names_candles_by_month(api: Api, alice: User, original: Backtest) -> None:
    body = api(alice).get(f"/api/backtests/{original.pk}/receipt").json()
    assert body["configuration"] == original.configuration
    assert original.receipt
    assert body["receipt"]["result"] == original.receipt["result"]
    [series] = body["candleSeries"]
    assert (series["symbol"], series["timeframe"]) == (SYMBOL, "15m")
    assert list(series["months"]) == ["2024-01", "2024-02"]


def test_an_unchanged_backtest_gives_the_same_bytes(
    api: Api, alice: User, original: Backtest
) -> None:
    # Neither the algorithm nor its steps as they are now matter: the configuration was frozen.
    Algorithm.objects.filter(pk=original.algorithm_id).update(name="Another")
    body = reproduced(api, alice, original)
    assert body["status"] == "completed"
    comparison = body["comparison"]
    assert comparison["isEqual"]
    assert comparison["differences"] == []
    assert {pair["name"]: pair["isEqual"] for pair in comparison["hashes"]} == dict.fromkeys(
        ("engineVersion", "configuration", "study", "rulebook", "alerts", "candles", "result"), True
    )


def test_changed_candles_are_named_by_month(api: Api, alice: User, original: Backtest) -> None:
    change_candles(month=2)
    comparison = reproduced(api, alice, original)["comparison"]
    assert comparison["differences"] == [f"Candles of {SYMBOL} (15m) differ in 2024-02."]
    assert [pair["name"] for pair in comparison["hashes"] if not pair["isEqual"]] == ["candles"]


def certified(api: Api, user: User, backtest_id: str) -> None:
    api(user).get(f"/api/backtests/{backtest_id}/evidence")
    tasks.run_evidence_job(backtest_id)


def test_the_decisions_of_both_certificates_are_compared(
    api: Api, alice: User, original: Backtest
) -> None:
    certified(api, alice, original.pk)
    body = reproduced(api, alice, original)
    (pair,) = (pair for pair in body["comparison"]["hashes"] if pair["name"] == "lookAhead")
    assert pair["isEqual"] is None  # nobody has asked for the evidence of the reproduction
    certified(api, alice, body["backtestId"])
    path = f"/api/backtests/{body['backtestId']}/reproduction"
    (pair,) = (
        pair
        for pair in api(alice).get(path).json()["comparison"]["hashes"]
        if pair["name"] == "lookAhead"
    )
    assert pair["isEqual"]
    assert pair["original"] == pair["reproduced"]
    original.refresh_from_db()
    changed = {**(original.receipt or {})["lookAhead"], "hash": "0" * 64}
    original.receipt = {**(original.receipt or {}), "lookAhead": changed}
    original.save(update_fields=["receipt"])
    comparison = api(alice).get(path).json()["comparison"]
    assert comparison["isEqual"]
    assert comparison["differences"] == [
        "The strategy decides otherwise than it did in the original."
    ]


def test_a_reproduction_names_the_engine_of_the_original(
    api: Api, alice: User, original: Backtest
) -> None:
    assert original.receipt
    Backtest.objects.filter(pk=original.pk).update(receipt=original.receipt | {"engineVersion": 12})
    comparison = reproduced(api, alice, original)["comparison"]
    pairs = {pair["name"]: pair for pair in comparison["hashes"]}
    assert pairs["engineVersion"]["isEqual"] is False
    assert comparison["differences"] == [
        "Engine version 12 made the original, version 13 this one: the changelog says what changed."
    ]


def test_only_a_completed_backtest_can_be_reproduced(api: Api, alice: User) -> None:
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    queued = submit(alice)
    client = api(alice)
    for call in ("receipt", "reproduce", "reproduction"):
        send = client.post if call == "reproduce" else client.get
        assert_error(send(f"/api/backtests/{queued.pk}/{call}"), 422, "UNPROCESSABLE_ENTITY")


def test_a_reproduction_outlives_its_original(api: Api, alice: User, original: Backtest) -> None:
    body = reproduced(api, alice, original)
    assert api(alice).delete(f"/api/backtests/{original.pk}").status_code == 204
    path = f"/api/backtests/{body['backtestId']}"
    assert api(alice).get(path).json()["status"] == "completed"
    assert_error(api(alice).get(f"{path}/reproduction"), 422, "UNPROCESSABLE_ENTITY")


def test_a_reproduced_study_leaves_the_algorithms_results_alone(api: Api, alice: User) -> None:
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    study = submit(alice, kind=BacktestKind.MONTE_CARLO)
    run_queued()
    original = Backtest.objects.get(pk=study.pk)
    before = Algorithm.objects.get(pk=original.algorithm_id).monte_carlo_results
    comparison = reproduced(api, alice, original)["comparison"]
    assert comparison["isEqual"]
    assert Algorithm.objects.get(pk=original.algorithm_id).monte_carlo_results == before


def test_repeated_by_an_idempotency_key(api: Api, alice: User, original: Backtest) -> None:
    headers = {"Idempotency-Key": "again"}
    path = f"/api/backtests/{original.pk}/reproduce"
    first, second = (api(alice).post(path, headers=headers) for _ in range(2))
    assert first.json()["backtestId"] == second.json()["backtestId"]
    assert original.reproductions.count() == 1
