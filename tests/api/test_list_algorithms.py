"""GET /api/trading/algorithms"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.performance import paper_performance
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"


def named(owner: User, name: str, *, minute: int = 0, **fields: object) -> Algorithm:
    algorithm = make.algorithm(owner, name=name, **fields)
    moment = make.NOW + timedelta(minutes=minute)
    Algorithm.objects.filter(pk=algorithm.pk).update(created_at=moment, updated_at=moment)
    return algorithm


def names(body: dict[str, Any]) -> list[str]:
    return [item["name"] for item in body["data"]]


def test_an_item_has_the_fields_of_the_list(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, name="Cross", **make.steps())
    body = api(alice).get(PATH).json()
    assert body == {
        "data": [
            {
                "id": algorithm.pk,
                "name": "Cross",
                "status": "stopped",
                "active": False,
                "strategyType": "momentum",
                "timeframe": "15m",
                "symbols": ["NSE:NIFTY"],
                "performance": {
                    "totalTrades": 0,
                    "winRate": 0,
                    "totalProfit": 0,
                    "profitFactor": 0,
                },
                "createdAt": "2026-11-02T04:00:00.000Z",
                "updatedAt": "2026-11-02T04:00:00.000Z",
            }
        ],
        "pagination": {"page": 1, "limit": 20, "total": 1, "totalPages": 1},
    }


def test_an_empty_draft_is_listed_too(api: Api, alice: User) -> None:
    make.algorithm(alice)
    [item] = api(alice).get(PATH).json()["data"]
    assert (item["strategyType"], item["timeframe"], item["symbols"]) == (None, None, [])


def test_only_the_users_own_live_algorithms_are_listed(api: Api, alice: User, bob: User) -> None:
    make.algorithm(bob, name="Bob's")
    gone = make.algorithm(alice, name="Gone")
    services.archive(owner=alice, algorithm_id=gone.pk, now=make.NOW)
    make.algorithm(alice, name="Mine")
    assert names(api(alice).get(PATH).json()) == ["Mine"]


def test_the_newest_come_first_and_pages_follow_on(api: Api, alice: User) -> None:
    for n in range(5):
        named(alice, f"n{n}", minute=n)
    client = api(alice)
    assert names(client.get(PATH, {"limit": 2}).json()) == ["n4", "n3"]
    last = client.get(PATH, {"limit": 2, "page": 3}).json()
    assert names(last) == ["n0"]
    assert last["pagination"] == {"page": 3, "limit": 2, "total": 5, "totalPages": 3}
    beyond = client.get(PATH, {"limit": 2, "page": 9999}).json()
    assert (beyond["data"], beyond["pagination"]["page"]) == ([], 9999)


def test_equal_items_keep_one_order_over_the_pages(api: Api, alice: User) -> None:
    for _ in range(9):
        make.algorithm(alice, name="same")
    pages = [api(alice).get(PATH, {"limit": 3, "page": n, "sort": "name"}) for n in (1, 2, 3)]
    ids = [item["id"] for page in pages for item in page.json()["data"]]
    assert len(set(ids)) == 9


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"sort": "name", "order": "asc"}, ["a", "b", "c"]),
        ({"sort": "name"}, ["c", "b", "a"]),
        ({"sort": "createdAt", "order": "asc"}, ["c", "a", "b"]),
        ({"sort": "updatedAt"}, ["b", "a", "c"]),
        ({"sort": "performance.winRate"}, ["b", "a", "c"]),
        ({"sort": "performance.totalProfit", "order": "asc"}, ["a", "b", "c"]),
        ({"order": "asc"}, ["c", "a", "b"]),
    ],
)
def test_sorting(api: Api, alice: User, query: dict[str, str], expected: list[str]) -> None:
    for name, minute, win_rate, profit in (("a", 1, 40, 1), ("b", 2, 60.5, 9), ("c", 0, 9, 10)):
        algorithm = named(alice, name, minute=minute)
        record = paper_performance.new() | {"winRate": win_rate, "totalProfit": profit}
        Algorithm.objects.filter(pk=algorithm.pk).update(performance=record)
    assert names(api(alice).get(PATH, query).json()) == expected


def test_unknown_figures_come_last_whichever_way(api: Api, alice: User) -> None:
    for name, factor in (("none", None), ("low", 0.5), ("high", 3)):
        algorithm = named(alice, name)
        record = paper_performance.new() | {"profitFactor": factor}
        Algorithm.objects.filter(pk=algorithm.pk).update(performance=record)
    client, sort = api(alice), {"sort": "performance.profitFactor"}
    assert names(client.get(PATH, sort).json()) == ["high", "low", "none"]
    assert names(client.get(PATH, sort | {"order": "asc"}).json()) == ["low", "high", "none"]


def test_filters(api: Api, alice: User) -> None:
    make.algorithm(alice, name="draft")
    make.algorithm(alice, name="momentum", **make.steps())
    basic = {"strategyType": "swing", "timeframe": "1d", "symbols": ["NSE:TCS"]}
    make.algorithm(alice, name="swing", **make.steps(basicInfo=basic))
    client = api(alice)
    assert names(client.get(PATH, {"status": "draft"}).json()) == ["draft"]
    assert names(client.get(PATH, {"strategyType": "swing"}).json()) == ["swing"]
    assert client.get(PATH, {"status": "stopped"}).json()["pagination"]["total"] == 2
    assert names(client.get(PATH, {"status": "active"}).json()) == []


@pytest.mark.parametrize(
    "query",
    """
        page=0 page=-1 page=abc page=1.5 page= page=%201 page=1&page=2 page=1000001 limit=0
        limit=101 limit=1_0 status=archived status=ACTIVE status= status=draft,active
        strategyType=hodl sort=password sort=owner__email sort=-createdAt sort=?
        sort=performance.winRate.x order=ASC order=random
    """.split(),
)
def test_a_query_outside_its_set_is_refused(api: Api, alice: User, query: str) -> None:
    field = query.partition("=")[0]
    assert_error(api(alice).get(f"{PATH}?{query}"), 400, "VALIDATION_ERROR", field=field)


def test_parameters_that_are_not_filters_change_nothing(api: Api, alice: User, bob: User) -> None:
    make.algorithm(alice, name="Mine")
    make.algorithm(bob, name="Bob's")
    query = f"_connector=OR&_negated=1&userId={bob.pk}&owner__email__startswith=b"
    assert names(api(alice).get(f"{PATH}?{query}").json()) == ["Mine"]


def test_a_list_takes_as_many_queries_however_long_and_reads_no_step(api: Api, alice: User) -> None:
    for _ in range(3):
        make.algorithm(alice, **make.steps())
    client = api(alice)
    with CaptureQueriesContext(connection) as queries:
        client.get(PATH)
    assert len(queries) == 2  # the session with its user, a page that is not full
    assert not any("entry_conditions" in query["sql"] for query in queries)
