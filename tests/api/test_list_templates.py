"""GET /api/trading/templates"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/templates"


def template(owner: User, name: str, *, public: bool = True, minute: int = 0) -> Algorithm:
    made = make.algorithm(owner, name=name, isTemplate=True, isPublic=public, **make.steps())
    moment = make.NOW + timedelta(minutes=minute)
    Algorithm.objects.filter(pk=made.pk).update(created_at=moment)
    return made


def names(api: Api, user: User, **query: Any) -> list[str]:
    body: dict[str, Any] = api(user).get(PATH, query).json()
    return [item["name"] for item in body["data"]]


def test_a_template_shows_its_settings_and_only_the_public_name_of_its_owner(
    api: Api, alice: User, bob: User
) -> None:
    api(alice).patch("/api/auth/profile", {"displayName": "Trader A"})
    made = make.algorithm(
        alice, name="Cross", description="text", isTemplate=True, isPublic=True, **make.steps()
    )
    response = api(bob).get(PATH)
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
                "owner": "Trader A",
                "isPublic": True,
                **make.steps(),
            }
        ],
        "pagination": {"page": 1, "limit": 20, "total": 1, "totalPages": 1},
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
    assert body["pagination"] == {"page": 2, "limit": 2, "total": 5, "totalPages": 3}


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
