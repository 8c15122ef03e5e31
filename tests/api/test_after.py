"""`after=<id>`: reading a growing list without gaps and without repeats."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/algorithms"


def read_all(client: APIClient, path: str, limit: int) -> list[str]:
    """Return the ids of the whole list, read page by page, each after the last id of the previous
    page.
    """
    ids: list[str] = []
    while True:
        after = f"&after={ids[-1]}" if ids else ""
        answer = client.get(f"{path}?limit={limit}{after}").json()
        pagination = answer["pagination"]
        assert (pagination["page"], pagination["limit"]) == (1, limit)
        if not answer["data"]:
            return ids
        ids += [item["id"] for item in answer["data"]]
        assert pagination["total"] >= len(ids)


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def algorithms(alice: User) -> list[str]:
    """Return the ids of 25 algorithms, the newest first; several have the same time."""
    rows = [make.algorithm(alice) for _ in range(25)]
    return [row.pk for row in sorted(rows, key=lambda row: (row.created_at, row.pk), reverse=True)]


def test_every_item_comes_once(api: Api, alice: User, algorithms: list[str]) -> None:
    assert read_all(api(alice), PATH, 10) == algorithms
    assert read_all(api(alice), PATH, 1) == algorithms


def test_an_added_item_moves_no_other(api: Api, alice: User, algorithms: list[str]) -> None:
    client = api(alice)
    first = client.get(f"{PATH}?limit=10").json()["data"]
    client.post(PATH, {})
    second = client.get(f"{PATH}?limit=10&after={first[-1]['id']}").json()
    assert [item["id"] for item in first + second["data"]] == algorithms[:20]
    assert second["pagination"] == {"page": 1, "limit": 10, "total": 26, "totalPages": 3}


def test_an_item_that_no_longer_fits_the_filter_still_leads_on(
    api: Api, alice: User, algorithms: list[str]
) -> None:
    Algorithm.objects.filter(pk=algorithms[0]).update(status="paused")
    answer = api(alice).get(f"{PATH}?status=draft&limit=3&after={algorithms[0]}").json()
    assert [item["id"] for item in answer["data"]] == algorithms[1:4]
    assert answer["pagination"]["total"] == 24


def test_the_default_order_may_be_spelled_out(api: Api, alice: User, algorithms: list[str]) -> None:
    path = f"{PATH}?sort=createdAt&order=desc&after={algorithms[-1]}"
    assert api(alice).get(path).json()["data"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [("sort=name", "after"), ("order=asc", "after"), ("page=2", "page"), ("page=1", "page")],
)
def test_another_order_or_a_page_is_refused(
    api: Api, alice: User, algorithms: list[str], query: str, field: str
) -> None:
    refused = api(alice).get(f"{PATH}?{query}&after={algorithms[3]}")
    assert_error(refused, 400, "VALIDATION_ERROR", field=field)


def test_a_cursor_without_an_item_is_refused(
    api: Api, alice: User, bob: User, algorithms: list[str]
) -> None:
    client, foreign = api(alice), make.algorithm(bob).pk
    client.delete(f"{PATH}/{algorithms[4]}")
    errors: list[dict[str, Any]] = []
    for item_id in (foreign, algorithms[4], "0" * 24, "x", ""):
        refused = client.get(f"{PATH}?after={item_id}")
        error = assert_error(refused, 400, "VALIDATION_ERROR", field="after", value=item_id)
        errors.append({key: error[key] for key in ("message", "code")})
    assert all(error == errors[0] for error in errors)


@pytest.mark.parametrize("path", ["/api/auth/keys", "/api/trading/indicators", "/api/webhooks"])
def test_a_list_that_does_not_grow_takes_no_cursor(api: Api, alice: User, path: str) -> None:
    assert_error(api(alice).get(f"{path}?after=x"), 400, "VALIDATION_ERROR", field="after")
