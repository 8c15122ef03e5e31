"""GET /api/backtests/compare"""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.backtests.models import Backtest
from apps.engine.results.table import METRICS
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

PATH = "/api/backtests/compare"


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def pair(alice: User) -> tuple[Backtest, Backtest]:
    """Return two backtests of one algorithm; the second has a wider stop."""
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    steps = make.steps()
    wide = {**steps["exitConditions"], "stopLoss": {"type": "percentage", "percentage": 3}}
    algorithms = [
        make.algorithm(alice, **steps),
        make.algorithm(alice, **steps | {"exitConditions": wide}),
    ]
    first, second = (submit(alice, algorithm.pk) for algorithm in algorithms)
    run_queued()
    return Backtest.objects.get(pk=first.pk), Backtest.objects.get(pk=second.pk)


def compared(api: Api, user: User, *backtests: Backtest) -> Any:
    ids = ",".join(backtest.pk for backtest in backtests)
    return api(user).get(f"{PATH}?ids={ids}").json()


def test_two_stand_side_by_side(api: Api, alice: User, pair: tuple[Backtest, Backtest]) -> None:
    body = compared(api, alice, *pair)
    assert [backtest["id"] for backtest in body["backtests"]] == [row.pk for row in pair]
    metrics = {row.pop("name"): row for row in body["metrics"]}
    assert list(metrics) == [name for name in METRICS if name in metrics]
    performances = [
        api(alice).get(f"/api/backtests/{row.pk}").json()["performance"] for row in pair
    ]
    for name in ("netProfit", "totalTrades", "maxDrawdown"):
        first, second = (performance[name] for performance in performances)
        difference = pytest.approx(second - first, abs=1e-4)
        assert metrics[name] == {"first": first, "second": second, "difference": difference}
    [change] = body["changes"]
    assert change["field"] == "exitConditions.stopLoss"
    assert change["after"] == ["Stop loss 3 % from the average entry."]


def test_a_sentence_compares_both_results(
    api: Api, alice: User, pair: tuple[Backtest, Backtest]
) -> None:
    body = compared(api, alice, *pair)
    share = body["returns"]["probability"]
    assert body["returns"]["days"] >= 20
    assert f"{share:.1%} of 2,000" in body["verdict"]
    assert body["notExamined"] == ["How many other configurations were tried before these two."]
    assert compared(api, alice, *reversed(pair))["returns"]["meanReturn"]["value"] == (
        -body["returns"]["meanReturn"]["value"]
    )


@pytest.mark.parametrize("ids", ["", "x", "{0}", "{0},{0}", "{0},{1},{0}", "{0};{1}", "{0},"])
def test_anything_but_two_ids_is_refused(
    api: Api, alice: User, pair: tuple[Backtest, Backtest], ids: str
) -> None:
    query = ids.format(*(row.pk for row in pair))
    assert_error(api(alice).get(PATH, {"ids": query}), 400, "VALIDATION_ERROR", field="ids")


def test_another_users_backtest_is_not_found_in_either_place(
    api: Api, alice: User, bob: User, pair: tuple[Backtest, Backtest]
) -> None:
    own = Backtest.objects.get(pk=pair[0].pk)
    own.pk, own.owner = "0" * 24, bob
    own.save(force_insert=True)
    for ids in (f"{own.pk},{pair[1].pk}", f"{pair[1].pk},{own.pk}"):
        response = api(bob).get(PATH, {"ids": ids})
        assert_error(response, 404, "BACKTEST_NOT_FOUND", backtestId=pair[1].pk)


def test_an_unfinished_backtest_is_refused(
    api: Api, alice: User, pair: tuple[Backtest, Backtest]
) -> None:
    queued = submit(alice)
    response = api(alice).get(PATH, {"ids": f"{pair[0].pk},{queued.pk}"})
    assert_error(response, 422, "UNPROCESSABLE_ENTITY", currentStatus="queued")
