"""The present state of algorithms, as the API answers it."""

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.core.database import server_clock
from apps.core.times import INDIA
from apps.market.feeds import clock
from apps.trading.models import Run, RunState, Signal
from tests import make
from tests.conftest import Api
from tests.trading.algorithm_states import algorithm_in, hold, start, stopped_algorithm

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice: User) -> Run:
    return start(stopped_algorithm(alice))


def test_an_algorithm_that_has_done_nothing(api: Api, alice: User, run: Run) -> None:
    answer = api(alice).get(f"/api/trading/algorithms/{run.algorithm_id}/standing")
    assert answer.json() == {
        "algorithmId": run.algorithm_id,
        "name": run.algorithm.name,
        "status": "active",
        "profitToday": None,
        "netProfit": 0,
        "openPositions": 0,
        "unrealisedProfit": 0,
        "lastSignal": None,
    }


def test_today_positions_and_the_last_signal(api: Api, alice: User, run: Run) -> None:
    today = clock.market_moment(now=server_clock.now()).astimezone(INDIA).date()
    RunState.objects.filter(run=run).update(equity=1_000_250.5)
    run.sessions.create(day=today, first_row=0, data=b"", equity=1_000_000)
    hold(run, unrealised=1234.5)
    for hours in (1, 0):
        Signal.objects.create(
            run=run,
            algorithm=run.algorithm,
            symbol="NSE:NIFTY",
            side="long",
            action="entry",
            followed=True,
            bar_time=make.NOW - timedelta(hours=hours),
        )
    answer = api(alice).get(f"/api/trading/algorithms/{run.algorithm_id}/standing").json()
    assert (answer["profitToday"], answer["unrealisedProfit"]) == (250.5, 1234.5)
    assert answer["openPositions"] == 1
    assert answer["lastSignal"]["time"] == make.NOW.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    [row] = api(alice).get("/api/trading/standings").json()["data"]
    assert row == answer


def test_the_list_has_the_order_filters_and_pages_of_the_algorithms(
    api: Api, alice: User, bob: User
) -> None:
    names = [
        algorithm_in(alice, status).name for status in ("active", "paused", "stopped", "active")
    ]
    algorithm_in(bob, "active")
    query = "status=active&sort=name&order=asc"
    for path in ("/api/trading/standings", "/api/trading/algorithms"):
        answer = api(alice).get(f"{path}?{query}&limit=1&page=2").json()
        assert answer["pagination"] == {"page": 2, "limit": 1, "total": 2, "totalPages": 2}
        [row] = answer["data"]
        assert row["name"] == sorted([names[0], names[3]])[1]


def test_any_number_of_algorithms_costs_the_same(
    api: Api, alice: User, django_assert_max_num_queries: object
) -> None:
    for _ in range(5):
        start(stopped_algorithm(alice, initialCapital=100_000))
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert len(api(alice).get("/api/trading/standings").json()["data"]) == 5
