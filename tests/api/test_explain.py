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


LOW = {"type": "MIN", "period": 5, "source": "low"}
BELOW_THE_LOW = {"type": "CALC", "operator": "subtract", "operands": [LOW, 0.5]}


def test_levels_and_steps_are_explained_for_a_position(api: Api, alice: User) -> None:
    """A wave of 20 rupees around 1,000 reaches the first step, 2 points away, and no other."""
    store_candles(SYMBOL, "15m", wave_candles("2024-01-01", 45))
    entry = {**make.steps()["entryConditions"], "positionType": "long"}
    exits = {
        "stopLoss": {"type": "level", "price": BELOW_THE_LOW, "buffer": 1},
        "trailingStop": {"enabled": True, "type": "level", "price": LOW},
        "steps": [
            {"at": {"type": "points", "points": 2}, "close": 40, "moveStop": "entry"},
            {"at": {"type": "points", "points": 500}, "close": 20},
        ],
        "exitOnOppositeSignal": False,
    }
    algorithm = make.algorithm(alice, **make.steps(entryConditions=entry, exitConditions=exits))
    backtest, client = submit(alice, algorithm.pk), api(alice)
    run_queued()
    (trade, *_) = client.get(f"/api/backtests/{backtest.pk}/trades").json()["data"]
    times = wave_candles("2024-01-01", 45).time
    bar = int(times.searchsorted(_seconds(trade["entryTime"])))
    (side,) = ask(client, backtest, at=_moment(int(times[bar - 1]))).json()["sides"]
    read = {operand["operand"]: operand["values"] for operand in side["operands"]}
    assert list(read) == ["exitConditions.stopLoss.price", "exitConditions.trailingStop.price"]
    whole, low = read["exitConditions.stopLoss.price"]
    assert (whole["name"], low["name"]) == ("(MIN(5) of low - 0.5)", "MIN(5) of low")
    assert whole["value"] == pytest.approx(low["value"] - 0.5)
    assert read["exitConditions.trailingStop.price"] == [low]

    levels = []
    for candle in times[bar : bar + 12]:
        positions = ask(client, backtest, at=_moment(int(candle))).json()["positions"]
        levels += [row["levels"] for row in positions if row["trade"] == trade]
    first, last = levels[0], levels[-1]
    assert first["stopLoss"] == pytest.approx(whole["value"] * 0.99, abs=0.05)
    assert first["trailingStop"] is None
    assert [step["taken"] for step in first["steps"]] == [False, False]
    assert [step["taken"] for step in last["steps"]] == [True, False]
    for step, points in zip(first["steps"], (2, 500), strict=True):
        assert step["price"] == pytest.approx(trade["entryPrice"] + points, abs=0.05)
    assert max(row["stopLoss"] for row in levels) == pytest.approx(trade["entryPrice"], abs=0.05)
    assert max(row["trailingStop"] or 0 for row in levels) > first["stopLoss"]


def test_the_places_of_a_ranking_are_explained(api: Api, alice: User) -> None:
    symbols = [SYMBOL, "NSE:TCS", "NSE:INFY"]
    for symbol, first_day in zip(symbols, ("2024-01-01", "2024-01-02", "2024-01-03"), strict=True):
        store_candles(symbol, "15m", wave_candles(first_day, 45))
    change = {"type": "ROC", "period": 3}
    calm = {"type": "CALC", "operator": "divide", "operands": [change, {"type": "ATR"}]}
    rising = {"type": "indicator_value", "indicator": change, "operator": "above", "value": 0}
    steps = make.steps(
        basicInfo={"strategyType": "momentum", "timeframe": "15m", "symbols": symbols},
        entryConditions={
            "positionType": "long",
            "conditions": [rising],
            "rank": {"by": calm, "top": 1, "every": "candle"},
        },
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 5}, "onRank": "leave"},
    )
    backtest, client = submit(alice, make.algorithm(alice, **steps).pk), api(alice)
    run_queued()
    trades = client.get(f"/api/backtests/{backtest.pk}/trades?limit=100").json()["data"]
    left = next(row for row in trades if row["exitReason"] == "signal")
    times = wave_candles("2024-01-01", 45).time
    before = int(times.searchsorted(_seconds(left["exitTime"]))) - 1
    explained = {
        symbol: ask(client, backtest, symbol, _moment(int(times[before]))).json()
        for symbol in symbols
    }
    for symbol, explanation in explained.items():
        assert [row["rank"] for row in explanation["ranking"]] == [1, 2, 3]
        values = {row["symbol"]: row["value"] for row in explanation["ranking"]}
        assert list(values.values()) == sorted(values.values(), reverse=True)
        (by,) = explanation["sides"][0]["operands"]
        assert by["operand"] == "entryConditions.rank.by"
        assert [value["name"] for value in by["values"]] == [
            "(ROC(3) / ATR(14))",
            "ROC(3)",
            "ATR(14)",
        ]
        assert by["values"][0]["value"] == pytest.approx(values[symbol])
        is_first = symbol == explanation["ranking"][0]["symbol"]
        assert (explanation["entry"]["reason"] == "not_ranked") <= (not is_first)
    ranked = next(row for row in explanation["ranking"] if row["symbol"] == left["symbol"])
    assert ranked["rank"] > 1
    closed = ask(client, backtest, left["symbol"], left["exitTime"]).json()["positions"]
    (position,) = (row for row in closed if row["trade"] == left)
    assert position["message"].startswith("Exit conditions were met at the previous candle")


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
