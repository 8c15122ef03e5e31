"""GET /api/trading/templates"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.services import BUILT_IN_TEMPLATES
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/templates"


def template(owner: User, name: str, *, public: bool = True, minute: int = 0) -> Algorithm:
    made = make.algorithm(owner, name=name, isTemplate=True, isPublic=public, **make.steps())
    moment = make.NOW + timedelta(minutes=minute)
    Algorithm.objects.filter(pk=made.pk).update(created_at=moment)
    return made


BUILT_IN = [template.name for template in BUILT_IN_TEMPLATES]


def names(api: Api, user: User, **query: Any) -> list[str]:
    """Return the names of a list without the built-in templates at its end."""
    body: dict[str, Any] = api(user).get(PATH, {"limit": 100, **query}).json()
    listed = [item["name"] for item in body["data"]]
    users = listed[: len(listed) - len(BUILT_IN)]
    assert listed == users + BUILT_IN
    return users


def test_a_template_shows_its_settings_and_only_the_public_name_of_its_owner(
    api: Api, alice: User, bob: User
) -> None:
    api(alice).patch("/api/auth/profile", {"displayName": "Trader A"})
    made = make.algorithm(
        alice, name="Cross", description="text", isTemplate=True, isPublic=True, **make.steps()
    )
    response = api(bob).get(PATH, {"limit": 1})
    total = 1 + len(BUILT_IN)
    assert response.json() == {
        "data": [
            {
                "id": made.pk,
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
                "description": "text",
                "market": None,
                "owner": "Trader A",
                "isPublic": True,
                **make.steps(),
            }
        ],
        "pagination": {"page": 1, "limit": 1, "total": total, "totalPages": total},
    }
    for secret in (alice.email, alice.pk, alice.name):
        assert secret not in response.content.decode()


def test_every_user_sees_public_and_own_templates(api: Api, alice: User, bob: User) -> None:
    template(alice, "alice's public", minute=1)
    template(alice, "alice's own", public=False, minute=2)
    template(bob, "bob's public", minute=3)
    template(bob, "bob's own", public=False, minute=4)
    make.algorithm(alice, name="no template")
    assert names(api, alice) == ["bob's public", "alice's own", "alice's public"]
    assert names(api, bob) == ["bob's own", "bob's public", "alice's public"]


def test_archived_or_withdrawn_templates_are_gone(api: Api, alice: User, bob: User) -> None:
    archived, taken_back = template(alice, "archived"), template(alice, "taken back")
    services.archive(owner=alice, algorithm_id=archived.pk, now=make.NOW)
    changes: services.Changes = {"is_public": False}
    services.update(owner=alice, algorithm_id=taken_back.pk, changes=changes, now=make.NOW)
    assert (names(api, bob), names(api, alice)) == ([], ["taken back"])


def test_pages(api: Api, alice: User) -> None:
    for n in range(5):
        template(alice, f"n{n}", minute=n)
    body = api(alice).get(PATH, {"limit": 2, "page": 2}).json()
    assert [item["name"] for item in body["data"]] == ["n2", "n1"]
    total = 5 + len(BUILT_IN)
    pages = -(-total // 2)
    assert body["pagination"] == {"page": 2, "limit": 2, "total": total, "totalPages": pages}


def test_built_in_templates_follow_those_of_users(api: Api, alice: User, bob: User) -> None:
    for n in range(3):
        template(alice, f"n{n}", minute=n)
    whole = api(bob).get(PATH, {"limit": 100}).json()["data"]
    assert [item["name"] for item in whole] == ["n2", "n1", "n0", *BUILT_IN]
    for limit in (4, 7):
        pages = range(1, len(whole) // limit + 3)
        parts = [api(bob).get(PATH, {"limit": limit, "page": page}).json() for page in pages]
        assert [item for part in parts for item in part["data"]] == whole
        assert {part["pagination"]["total"] for part in parts} == {len(whole)}
        listed, last = list(parts[0]["data"]), parts[0]["data"][-1]["id"]
        while part := api(bob).get(PATH, {"limit": limit, "after": last}).json()["data"]:
            listed += part
            last = part[-1]["id"]
        assert listed == whole


def test_a_built_in_template_belongs_to_nobody(api: Api, alice: User) -> None:
    shown = api(alice).get(PATH).json()["data"][0]
    first = BUILT_IN_TEMPLATES[0]
    assert shown == {
        "id": first.id,
        "name": first.name,
        "status": "stopped",
        "active": False,
        "strategyType": "momentum",
        "timeframe": "5m",
        "symbols": ["NSE:HDFCBANK"],
        "performance": {"totalTrades": 0, "winRate": 0, "totalProfit": 0, "profitFactor": 0},
        "createdAt": "2026-11-28T00:00:00.000Z",
        "updatedAt": "2026-11-28T00:00:00.000Z",
        "description": first.description,
        "market": "Liquid shares of NSE, intraday",
        "owner": "",
        "isPublic": True,
        **first.steps,
    }
    assert api(alice).get("/api/trading/algorithms").json()["pagination"]["total"] == 0
    path = f"/api/trading/algorithms/{first.id}"
    for answer in (api(alice).get(path), api(alice).patch(path, {"name": "mine"})):
        assert_error(answer, 404, "ALGORITHM_NOT_FOUND")
    assert not Algorithm.objects.exists()


def test_a_copy_of_a_built_in_template_is_the_callers(api: Api, alice: User, bob: User) -> None:
    client, first = api(alice), BUILT_IN_TEMPLATES[0]
    copied = client.post(f"/api/trading/algorithms/{first.id}/clone", {}).json()
    assert (copied["name"], copied["clonedFrom"]) == (f"{first.name} (copy)", first.id)
    assert (copied["status"], copied["isPublic"]) == ("stopped", False)
    assert {step: copied[step] for step in first.steps} == first.steps
    assert copied["description"] == first.description
    again = client.post(f"/api/trading/algorithms/{copied['id']}/clone", {"name": "mine"}).json()
    assert again["clonedFrom"] == copied["id"]
    unnamed = client.post("/api/trading/algorithms", make.steps()).json()
    assert unnamed["name"] == "Algorithm #1"
    history = client.get(f"/api/trading/algorithms/{copied['id']}/history").json()["data"]
    assert history[0]["reason"] == f"cloned from {first.id}"
    assert names(api, bob) == []


@pytest.mark.parametrize("query", ["page=0", "page=x", "limit=101", "limit=2&limit=3"])
def test_a_query_outside_its_set_is_refused(api: Api, alice: User, query: str) -> None:
    response = api(alice).get(f"{PATH}?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=query.partition("=")[0])


def test_a_list_takes_as_many_queries_however_long(api: Api, alice: User, bob: User) -> None:
    for n in range(3):
        template(alice, f"n{n}")
    client = api(bob)
    with CaptureQueriesContext(connection) as queries:
        client.get(PATH)
    assert len(queries) == 2  # the session with its user, a page that is not full with the owners
    with CaptureQueriesContext(connection) as queries:
        client.get(PATH, {"page": 2})
    assert len(queries) == 3  # and the number of rows, where a page has none


def test_a_page_is_read_off_an_index(alice: User) -> None:
    rows = services.templates(viewer=alice)
    with connection.cursor() as cursor:
        for scan in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            cursor.execute(f"SET LOCAL {scan} = off")
    plan = rows[:20].explain()
    assert "templates_newest_first" in plan
    assert "Sort" not in plan


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().get(PATH), 401, "UNAUTHORIZED")
