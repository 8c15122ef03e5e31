"""GET /api/trading/algorithms/<id>/versions"""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"
SIZINGS = tuple({"method": "fixed_quantity", "quantity": n} for n in range(1, 5))


def resized(owner: User, algorithm: Algorithm, *sizings: dict[str, object]) -> None:
    """Save each change in turn, an hour apart."""
    for hours, sizing in enumerate(sizings, 1):
        services.update(
            owner=owner,
            algorithm_id=algorithm.pk,
            changes={"position_sizing": sizing},
            now=make.NOW + timedelta(hours=hours),
        )


def test_every_configuration_is_there_newest_first(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    resized(alice, algorithm, SIZINGS[0], {})
    response = api(alice).get(f"{PATH}/{algorithm.pk}/versions")
    assert response.status_code == 200
    assert response.json() == {
        "data": [
            {
                "version": 3,
                "current": True,
                **make.steps(positionSizing={}),
                "createdAt": "2026-11-02T06:00:00.000Z",
            },
            {
                "version": 2,
                "current": False,
                **make.steps(positionSizing=SIZINGS[0]),
                "createdAt": "2026-11-02T05:00:00.000Z",
            },
            {
                "version": 1,
                "current": False,
                **make.steps(),
                "createdAt": "2026-11-02T04:00:00.000Z",
            },
        ],
        "pagination": {"page": 1, "limit": 20, "total": 3, "totalPages": 1},
    }


def test_the_current_version_equals_the_algorithm(api: Api, alice: User) -> None:
    client = api(alice)
    created = client.post(PATH, {"basicInfo": {"timeframe": "5m"}}).json()
    [only] = client.get(f"{PATH}/{created['id']}/versions").json()["data"]
    assert only.pop("current")
    assert only == {name: created[name] for name in only}
    in_order = [name for name in created if name in make.steps()]
    assert [name for name in only if name in in_order] == in_order


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Other", "description": "text"},
        {"walkForwardConfig": {"windows": 5}},
        make.steps(),
        {"basicInfo": {"timeframe": "7m"}},
    ],
)
def test_a_save_with_unchanged_steps_makes_no_version(
    api: Api, alice: User, body: dict[str, object]
) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    client = api(alice)
    client.patch(f"{PATH}/{algorithm.pk}", body)
    assert client.get(f"{PATH}/{algorithm.pk}/versions").json()["pagination"]["total"] == 1


def test_pages(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    resized(alice, algorithm, *SIZINGS)
    client, path = api(alice), f"{PATH}/{algorithm.pk}/versions"
    body = client.get(path, {"limit": 2, "page": 2}).json()
    assert [(row["version"], row["current"]) for row in body["data"]] == [(3, False), (2, False)]
    assert body["pagination"] == {"page": 2, "limit": 2, "total": 5, "totalPages": 3}
    assert client.get(path, {"page": 9}).json()["data"] == []


@pytest.mark.parametrize("query", ["page=0", "page=x", "limit=101", "limit=2&limit=3"])
def test_a_query_outside_its_set_is_refused(api: Api, alice: User, query: str) -> None:
    response = api(alice).get(f"{PATH}/{make.algorithm(alice).pk}/versions?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=query.partition("=")[0])


@pytest.mark.parametrize("algorithm_id", ["x", "0" * 24, "A" * 24, "%00", "theirs", "archived"])
def test_unknown_foreign_and_archived_algorithms_get_the_same_answer(
    api: Api, alice: User, bob: User, algorithm_id: str
) -> None:
    stored = make.algorithm(alice if algorithm_id == "theirs" else bob)
    if algorithm_id == "archived":
        services.archive(owner=bob, algorithm_id=stored.pk, now=make.NOW)
    wanted = stored.pk if algorithm_id in ("theirs", "archived") else algorithm_id
    response = api(bob).get(f"{PATH}/{wanted}/versions")
    assert_error(response, 404, "ALGORITHM_NOT_FOUND")


def test_a_list_takes_as_many_queries_however_long(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice)
    resized(alice, algorithm, *SIZINGS)
    client = api(alice)
    with CaptureQueriesContext(connection) as queries:
        client.get(f"{PATH}/{algorithm.pk}/versions")
    assert len(queries) == 3  # the session with its user, the algorithm, a page that is not full


def test_a_list_never_contains_half_of_a_new_version(alice: User) -> None:
    algorithm = make.algorithm(alice)
    rows = services.versions(owner=alice, algorithm_id=algorithm.pk)
    resized(alice, algorithm, SIZINGS[0])
    assert rows.count() == 1
    assert [row.number == row.algorithm.version for row in rows] == [True]
