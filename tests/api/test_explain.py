"""GET /api/backtests/<id>/explain"""

from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms.serializers.explanations import HELD, OUTCOME_MESSAGES, POSITION_MESSAGES
from apps.backtests.models import Backtest
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.simulation.verdict import CERTAIN, UNCERTAIN
from apps.market.candles import corporate_actions
from apps.market.candles.corporate_actions import ActionRow
from apps.market.models import CandleChunk
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

SYMBOL = "NSE:NIFTY"
NOON = "2024-02-05T06:30:00Z"


@pytest.fixture
def completed(alice: User) -> Backtest:
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    return backtest


def ask(client: APIClient, backtest: Backtest, symbol: str = SYMBOL, at: str = NOON) -> Any:
    query = urlencode({"symbol": symbol, "at": at})
    return client.get(f"/api/backtests/{backtest.pk}/explain?{query}")


def test_every_entry_is_explained_by_the_candle_before_it(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    trades = client.get(f"/api/backtests/{completed.pk}/trades?limit=100").json()["data"]
    assert len(trades) > 3
    times = wave_candles("2024-01-01", 45).time
    for trade in trades[:4]:
        entry = int(times.searchsorted(_seconds(trade["entryTime"])))
        explanation = ask(client, completed, at=_moment(int(times[entry - 1]) + 60)).json()
        assert explanation["entry"]["reason"] == "entered"
        assert explanation["entry"]["side"] == trade["side"]
        assert explanation["entry"]["trade"] == trade
        signals = {side["side"]: side["signal"] for side in explanation["sides"]}
        assert signals.pop(trade["side"]) is True
        assert list(signals.values()) == [False]
        assert explanation["candle"]["time"] == _moment(int(times[entry - 1]))


def test_each_position_is_explained_with_its_levels_and_its_exit(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    trades = client.get(f"/api/backtests/{completed.pk}/trades?limit=100").json()["data"]
    for trade in trades[:4]:
        entered = ask(client, completed, at=trade["entryTime"]).json()["positions"]
        assert trade in [position["trade"] for position in entered]
        closed = ask(client, completed, at=trade["exitTime"]).json()["positions"]
        (explanation,) = (explained for explained in closed if explained["trade"] == trade)
        assert explanation["reason"] == trade["exitReason"]
        away = 0.99 if trade["side"] == "long" else 1.01
        stop = explanation["levels"]["stopLoss"]
        assert stop == pytest.approx(trade["entryPrice"] * away, abs=0.05)
        assert (explanation["levels"]["trailingStop"], explanation["conditions"]) == (None, [])
    night = ask(client, completed, at="2024-02-01T03:45:00Z").json()
    assert night["positions"] == []


def test_every_outcome_of_a_position_or_signal_has_words() -> None:
    assert set(POSITION_MESSAGES) == {HELD, *EXIT_REASONS} - {"", "step"}
    assert set(OUTCOME_MESSAGES) == {*CERTAIN, UNCERTAIN}


def test_exit_conditions_are_explained_for_open_positions(api: Api, alice: User) -> None:
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    high = {"type": "indicator_value", "indicator": {"type": "RSI"}, "operator": "above"}
    exits = {
        "stopLoss": {"type": "percentage", "percentage": 5},
        "exitOnOppositeSignal": False,
        "conditions": [{**high, "value": 70}],
    }
    algorithm = make.algorithm(alice, **make.steps(exitConditions=exits))
    backtest = submit(alice, algorithm.pk)
    run_queued()
    client = api(alice)
    trades = client.get(f"/api/backtests/{backtest.pk}/trades?limit=100").json()["data"]
    trade = next(row for row in trades if row["exitReason"] == "signal")
    times = wave_candles("2024-01-01", 45).time
    left = int(times.searchsorted(_seconds(trade["exitTime"])))
    for back, signal, reason in ((2, False, "held"), (1, True, "held"), (0, None, "signal")):
        positions = ask(client, backtest, at=_moment(int(times[left - back]))).json()["positions"]
        (position,) = (explained for explained in positions if explained["trade"] == trade)
        (condition,) = position["conditions"]
        assert (position["reason"], position["oppositeSignal"]) == (reason, None)
        assert condition["condition"] == "exitConditions.conditions[0]"
        assert signal in {None, position["signal"]}
        assert position["signal"] is condition["holds"]
        level = 70 if trade["side"] == "long" else 30
        assert condition["text"].endswith(f" {level}")


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _moment(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%dT%H:%M:%S}.000Z"


def test_each_condition_gives_its_place_its_values_and_its_result(
    api: Api, alice: User, completed: Backtest
) -> None:
    explanation = ask(api(alice), completed).json()
    assert (explanation["symbol"], explanation["timeframe"]) == (SYMBOL, "15m")
    long, short = explanation["sides"]
    assert [condition["condition"] for condition in long["conditions"]] == [
        "entryConditions.conditions[0]",
        "entryConditions.conditions[1]",
    ]
    assert [condition["text"] for condition in short["conditions"]] == [
        "EMA(9) crosses below EMA(21)",
        "RSI(14) below 50",
    ]
    (rsi,) = long["conditions"][1]["operands"]
    assert long["conditions"][1]["holds"] is (rsi["value"] > 50)


def test_candle_prices_are_adjusted_as_in_trades(
    api: Api, alice: User, completed: Backtest
) -> None:
    client = api(alice)
    before = ask(client, completed).json()["candle"]
    row = ActionRow(SYMBOL, date(2024, 2, 6), "split", 1, 3, "NSE circular")
    corporate_actions.store_actions(rows=[row], now=make.NOW)
    candle = ask(client, completed).json()["candle"]
    for name in ("open", "high", "low", "close"):
        assert candle[name] == round(before[name] / 3, 4)


def test_a_wrong_symbol_or_moment_is_named(api: Api, alice: User, completed: Backtest) -> None:
    client = api(alice)
    for symbol in ("nifty", "NSE:TCS", ""):
        assert_error(ask(client, completed, symbol), 400, "VALIDATION_ERROR", field="symbol")
    for at in ("yesterday", "2024-02-05T06:30:00", ""):
        assert_error(ask(client, completed, at=at), 400, "VALIDATION_ERROR", field="at")


def test_a_time_without_a_candle_gives_the_nearest_ones(
    api: Api, alice: User, completed: Backtest
) -> None:
    night = {"before": "2024-02-05T09:45:00.000Z", "after": "2024-02-06T03:45:00.000Z"}
    answer = ask(api(alice), completed, at="2024-02-05T18:00:00Z")
    assert_error(answer, 404, "NOT_FOUND", symbol=SYMBOL, nearest=night)
    early = ask(api(alice), completed, at="2023-01-01")
    assert_error(early, 404, "NOT_FOUND", nearest={"after": "2024-02-01T03:45:00.000Z"})


def test_only_a_completed_backtest_of_one_configuration_is_explained(
    api: Api, alice: User, completed: Backtest
) -> None:
    queued = submit(alice, completed.algorithm_id)
    states = {"currentStatus": "queued", "requiredStatus": "completed"}
    assert_error(ask(api(alice), queued), 422, "UNPROCESSABLE_ENTITY", **states)
    Backtest.objects.filter(pk=completed.pk).update(kind="optimization", study={}, study_results={})
    refused = ask(api(alice), completed)
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY", kind="optimization")


def test_deleted_history_is_reported(api: Api, alice: User, completed: Backtest) -> None:
    CandleChunk.objects.all().delete()
    assert_error(ask(api(alice), completed), 422, "UNPROCESSABLE_ENTITY")
