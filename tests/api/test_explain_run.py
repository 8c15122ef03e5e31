"""GET /api/trading/algorithms/<id>/explain"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms.serializers.explanations import POSITION_MESSAGES
from apps.backtests.running.submissions import read_date_range
from apps.engine.candles import Candles
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, Position, Run, Signal, Trade
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.live.market_day import (
    FIRST,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    step,
    store_bars,
)

SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")
LENGTH = 1800
DAYS = 2
AFTER = FIRST + 7 * 86_400
LOW = {"type": "MIN", "period": 5, "source": "low"}


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def series() -> Mapping[str, Candles]:
    starts = session_starts(5 + DAYS, LENGTH, first=FIRST - 7 * 86_400)
    return {
        symbol: random_candles(seed, starts, wild=0.01, missing=0.1)
        for seed, symbol in enumerate(SYMBOLS)
    }


@pytest.fixture(scope="module")
def run(alice: User, series: Mapping[str, Candles]) -> Run:
    store_bars(series, "30m")
    configuration = crossing_steps(SYMBOLS, "30m")
    configuration["exitConditions"] |= {
        "conditions": [
            {
                "type": "indicator_value",
                "indicator": {"type": "RSI"},
                "operator": "above",
                "value": 70,
            }
        ],
        "trailingStop": {"enabled": True, "type": "level", "price": LOW},
        "steps": [
            {"at": {"type": "points", "points": 1}, "close": 50, "moveStop": "entry"},
            {"at": {"type": "points", "points": 40}, "close": 20},
        ],
    }
    made = started(alice, configuration)
    step(Runner(), SYMBOLS, "30m", AFTER)
    return made


def text_of(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def explained(client: APIClient, run: Run, symbol: str, at: datetime | str) -> Any:
    moment = at if isinstance(at, str) else text_of(at)
    path = f"/api/trading/algorithms/{run.algorithm_id}/explain"
    return client.get(path, {"symbol": symbol, "at": moment})


@pytest.mark.django_db
def test_conditions_say_the_same_as_in_a_backtest_of_the_same_bars(
    api: Api, alice: User, run: Run, series: Mapping[str, Candles]
) -> None:
    backtest = submit(
        alice,
        run.algorithm_id,
        date_range=read_date_range("2026-06-01", "2026-06-02", now=make.NOW),
    )
    run_queued()
    client, reasons, steps = api(alice), set(), list[Any]()
    for symbol in SYMBOLS:
        for time in series[symbol].between(FIRST, AFTER).time.tolist()[1:-1:2]:
            at = datetime.fromtimestamp(time, UTC)
            traded = explained(client, run, symbol, at).json()
            query = {"symbol": symbol, "at": text_of(at)}
            tested = client.get(f"/api/backtests/{backtest.pk}/explain", query).json()
            for field in ("symbol", "timeframe", "candle", "confirmationCandles", "sides"):
                assert traded[field] == tested[field], (symbol, at, field)
            reasons.add(traded["entry"]["reason"])
            if traded["entry"]["reason"] in ("entered", "no_signal", "both_sides"):
                assert traded["entry"]["reason"] == tested["entry"]["reason"], (symbol, at)
            assert [
                (held["reason"], held["levels"], held["conditions"], held["oppositeSignal"])
                for held in traded["positions"]
            ] == [
                (held["reason"], held["levels"], held["conditions"], held["oppositeSignal"])
                for held in tested["positions"]
            ], (symbol, at)
            steps += [step for held in traded["positions"] for step in held["levels"]["steps"]]
    assert {"entered", "no_signal"} <= reasons
    assert {step["taken"] for step in steps} == {False, True}


@pytest.mark.django_db
def test_every_signal_is_explained_by_its_record(api: Api, alice: User, run: Run) -> None:
    client, entries = api(alice), Signal.objects.filter(run=run, action="entry")
    assert entries.count() > 2
    for signal in entries:
        body = explained(client, run, signal.symbol, signal.bar_time).json()
        assert body["runId"] == run.pk
        assert body["entry"]["side"] == signal.side
        assert {side["side"]: side["signal"] for side in body["sides"]}[signal.side] is True
        if signal.followed:
            assert body["entry"]["reason"] == "entered"
            assert body["entry"]["order"]["status"] == "filled"
        else:
            assert body["entry"]["reason"] == signal.reason
        assert body["entry"]["message"]


@pytest.mark.django_db
def test_a_trade_is_explained_where_it_ended(api: Api, alice: User, run: Run) -> None:
    client, trade = api(alice), Trade.objects.filter(run=run).earliest("exit_time")
    positions = explained(client, run, trade.symbol, trade.exit_time).json()["positions"]
    (ended,) = (held for held in positions if held["trade"])
    assert (ended["trade"]["id"], ended["reason"]) == (trade.pk, trade.exit_reason)
    assert ended["message"] == POSITION_MESSAGES[trade.exit_reason]
    (condition,) = {held["conditions"][0]["condition"] for held in positions}
    assert condition == "exitConditions.conditions[0]"


@pytest.mark.django_db
def test_a_blocked_signal_gives_its_reason(api: Api, alice: User, run: Run) -> None:
    signal = Signal.objects.filter(run=run, action="entry").earliest("bar_time")
    Signal.objects.filter(pk=signal.pk).update(followed=False, reason="kill_switch")
    entry = explained(api(alice), run, signal.symbol, signal.bar_time).json()["entry"]
    assert (entry["reason"], entry["message"]) == ("kill_switch", "A kill switch was on.")
    signal.delete()
    Position.objects.filter(run=run).delete()
    entry = explained(api(alice), run, signal.symbol, signal.bar_time).json()["entry"]
    assert (entry["reason"], entry["side"]) == ("not_recorded", signal.side)


@pytest.mark.django_db
def test_moments_without_a_candle_of_the_run_are_refused(api: Api, alice: User, run: Run) -> None:
    client, bar = api(alice), datetime.fromtimestamp(FIRST, UTC)
    for moment in ("2026-05-01T05:00:00Z", "2026-06-01T20:00:00Z"):
        assert_error(explained(client, run, SYMBOLS[0], moment), 404, "NOT_FOUND")
    for symbol, moment, field in (("NSE:TCS", text_of(bar), "symbol"), (SYMBOLS[0], "noon", "at")):
        answer = explained(client, run, symbol, moment)
        assert_error(answer, 400, "VALIDATION_ERROR", field=field)
    BarRow.objects.all().delete()
    assert_error(explained(client, run, SYMBOLS[0], bar), 404, "NOT_FOUND")
    never = make.algorithm(alice, **make.steps())
    path = f"/api/trading/algorithms/{never.pk}/explain"
    answer = client.get(path, {"symbol": "NSE:NIFTY", "at": text_of(bar)})
    assert_error(answer, 404, "NOT_FOUND")
