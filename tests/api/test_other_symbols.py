"""Algorithms that read another symbol, and 3m, 75m and 2h candles."""

from typing import Any

import pytest

from apps.accounts.models import User
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import at, flat_candles, store_candles

pytestmark = pytest.mark.django_db

VIX = "NSE:INDIAVIX"
PATH = "/api/backtests"
RANGE = {"startDate": "2024-02-01", "endDate": "2024-02-29"}


def reading(**operand: Any) -> dict[str, Any]:
    """Return steps that compare an operand with a number first."""
    entry: dict[str, Any] = make.steps()["entryConditions"]
    condition = {"type": "indicator_value", "operator": "above", "value": 1, "side": "both"}
    entry["conditions"].insert(0, {**condition, "indicator": operand})
    return entry


@pytest.fixture
def body(alice: User) -> dict[str, Any]:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    steps = make.steps(entryConditions=reading(type="PRICE", on=VIX))
    return {"algorithmId": make.algorithm(alice, **steps).pk, **RANGE}


def test_without_candles_of_a_read_symbol_a_backtest_is_refused(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    error = assert_error(api(alice).post(PATH, body), 422, "INSUFFICIENT_DATA", symbol=VIX)
    assert error["details"]["held"] == []


def test_the_receipt_and_the_explanation_tell_of_the_read_symbol(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    store_candles(VIX, "15m", wave_candles("2024-01-01", 45))
    client = api(alice)
    id = client.post(PATH, body).json()["id"]
    assert run_queued() == 1
    backtest = client.get(f"{PATH}/{id}").json()
    assert backtest["status"] == "completed"
    assert [part["symbol"] for part in backtest["receipt"]["coverage"]] == ["NSE:NIFTY", VIX]
    receipt = client.get(f"{PATH}/{id}/receipt").json()
    assert {series["symbol"] for series in receipt["candleSeries"]} == {"NSE:NIFTY", VIX}
    asked = {"symbol": "NSE:NIFTY", "at": "2024-02-05T10:00:00+05:30"}
    explanation = client.get(f"{PATH}/{id}/explain", asked).json()
    operand = explanation["sides"][0]["conditions"][0]["operands"][0]
    assert operand["name"] == f"PRICE of {VIX}"
    assert operand["candleTime"] == "2024-02-05T04:30:00.000Z"


@pytest.mark.parametrize("timeframe", ["75m", "1d"])
def test_operands_read_candles_made_of_shorter_ones(api: Api, alice: User, timeframe: str) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    steps = make.steps(entryConditions=reading(type="SMA", period=5, timeframe=timeframe))
    id = make.algorithm(alice, **steps).pk
    client = api(alice)
    backtest = client.post(PATH, {"algorithmId": id, **RANGE}).json()["id"]
    assert run_queued() == 1
    assert client.get(f"{PATH}/{backtest}").json()["status"] == "completed"
    receipt = client.get(f"{PATH}/{backtest}/receipt").json()
    assert [series["timeframe"] for series in receipt["candleSeries"]] == ["15m", timeframe]


def test_a_start_warns_of_a_read_symbol_without_candles(api: Api, alice: User) -> None:
    steps = make.steps(entryConditions=reading(type="PRICE", on=VIX))
    client, id = api(alice), make.algorithm(alice, **steps).pk
    reply = client.post(f"/api/trading/algorithms/{id}/start").json()
    assert reply["status"] == "active"
    message = f"No candles of {VIX} are stored that make 15m: load them first."
    assert message in [warning["message"] for warning in reply["warnings"]]
    store_candles(VIX, "15m", wave_candles("2024-01-01", 2))
    client.post(f"/api/trading/algorithms/{id}/pause")
    resumed = client.post(f"/api/trading/algorithms/{id}/resume").json()
    assert message not in [warning["message"] for warning in resumed["warnings"]]


def test_validate_lists_the_coverage_of_read_symbols(api: Api, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    days = [at("2024-01-01 00:00") + 86_400 * day for day in range(5)]
    store_candles(VIX, "1d", flat_candles(days, 15.0))
    steps = make.steps(entryConditions=reading(type="PRICE", on=VIX, timeframe="1d"))
    path = f"/api/trading/algorithms/{make.algorithm(alice, **steps).pk}/validate"
    traded, read = api(alice).post(path).json()["coverage"]
    assert (traded["symbol"], read["symbol"]) == ("NSE:NIFTY", VIX)
    assert (read["bars"], read["heldSessions"]) == (5, 5)
    assert read["sessions"] > 5
