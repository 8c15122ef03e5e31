"""GET /api/backtests/<id>/chart"""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.backtests.analysis.chart import services
from apps.backtests.models import Backtest
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

SYMBOL = "NSE:NIFTY"


@pytest.fixture
def completed(alice: User) -> Backtest:
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    return backtest


def ask(client: APIClient, backtest: Backtest, **query: str | int) -> Any:
    return client.get(f"/api/backtests/{backtest.pk}/chart", {"symbol": SYMBOL, **query})


def test_every_fill_lies_in_the_candle_that_starts_at_its_time(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    chart = ask(client, completed).json()
    trades = client.get(f"/api/backtests/{completed.pk}/trades?limit=100").json()["data"]
    assert chart["timeframe"] == "15m"
    assert (chart["trades"], chart["shownTrades"]) == (len(trades), len(trades))
    assert len(chart["fills"]) == 2 * len(trades)
    candles = {candle[0]: candle for candle in chart["candles"]}
    for fill in chart["fills"]:
        _, _, high, low, _, _ = candles[fill["time"]]
        assert low - 0.05 <= fill["price"] <= high + 0.05
    entry = next(fill for fill in chart["fills"] if fill["time"] == trades[0]["entryTime"])
    assert entry["side"] == ("buy" if trades[0]["side"] == "long" else "sell")
    times = [fill["time"] for fill in chart["fills"]]
    assert times == sorted(times)


def test_fewer_candles_are_longer_and_cover_the_same_prices(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    own, longer = (ask(client, completed, limit=limit).json() for limit in (3000, 60))
    assert longer["timeframe"] != "15m"
    assert len(longer["candles"]) <= 60
    assert longer["fills"] == own["fills"]
    highest = [max(candle[2] for candle in chart["candles"]) for chart in (own, longer)]
    assert highest[0] == highest[1]


def test_a_part_has_its_candles_and_its_fills(api: Api, alice: User, completed: Backtest) -> None:
    part = ask(api(alice), completed, **{"from": "2024-02-05", "to": "2024-02-06"}).json()
    for time in [candle[0] for candle in part["candles"]] + [row["time"] for row in part["fills"]]:
        assert "2024-02-04T18:30:00.000Z" <= time < "2024-02-06T18:30:00.000Z"
    assert part["candles"]
    outside = ask(api(alice), completed, **{"from": "2031-01-01"}).json()
    assert (outside["candles"], outside["fills"], outside["trades"]) == ([], [], 0)


def test_of_many_trades_the_largest_have_their_fills(
    api: Api, alice: User, completed: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST_TRADES_DRAWN", 1)
    client = api(alice)
    trades = client.get(f"/api/backtests/{completed.pk}/trades?limit=100").json()["data"]
    largest = max(trades, key=lambda trade: abs(trade["profit"]))
    chart = ask(client, completed).json()
    assert (chart["trades"], chart["shownTrades"]) == (len(trades), 1)
    assert [fill["time"] for fill in chart["fills"]] == [largest["entryTime"], largest["exitTime"]]


def test_an_impossible_chart_is_refused(api: Api, alice: User, bob: User) -> None:
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    queued = submit(alice)
    assert_error(ask(api(alice), queued), 422, "UNPROCESSABLE_ENTITY", currentStatus="queued")
    run_queued()
    assert_error(ask(api(bob), queued), 404, "BACKTEST_NOT_FOUND")
    assert_error(ask(api(alice), queued, symbol="NSE:TCS"), 400, "VALIDATION_ERROR", field="symbol")
    backwards = {"from": "2024-02-06", "to": "2024-02-04"}
    assert_error(ask(api(alice), queued, **backwards), 400, "VALIDATION_ERROR", field="to")
    assert_error(ask(api(alice), queued, limit=3001), 400, "VALIDATION_ERROR", field="limit")
