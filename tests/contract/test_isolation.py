"""The rows of one user do not exist for another, operators included.

The tests are generated from the routes: a new route with an id is covered at once, and one with a
new kind of id fails until `owned` can create it.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.urls import URLPattern, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.login import services as accounts
from apps.accounts.login import tokens
from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.models import ReportLink
from apps.core.times import wire_time
from apps.webhooks import services as webhooks
from tests import make
from tests.alerts.hooks import alert_in, hook_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.conftest import Api
from tests.market.bars import store_candles
from tests.trading.algorithm_states import add_order, algorithm_in, start, step_over
from tests.trading.algorithm_states import hold as hold_position
from tests.webhooks.events import endpoint_of

RECENTLY = wire_time(timezone.now())
METHODS = ("get", "head", "post", "put", "patch", "delete", "propfind")
BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"name": "Mine now"},
    {"alerts": {}},
    {"since": RECENTLY},
    {"riskParameters": {"maxOpenPositions": 1}},
)
"""Among them is one that each method takes, so that it comes as far as looking for the id."""
WITH_A_BODY = {"post", "put", "patch"}
EXPLAINED_MOMENT = "2024-02-05T06:30:00Z"
QUESTIONS = {
    "explain": f"?symbol=NSE:NIFTY&at={EXPLAINED_MOMENT}",
    "chart": "?symbol=NSE:NIFTY",
}
"""What a route that asks for more than an id is asked."""
SYMBOL = "NSE:NIFTY"
"""Of what is private, where it is not told by an id of its own."""
NOT_PRIVATE = {"symbol": SYMBOL, "number": "1"}
"""Places that are no ids, and what stands there."""
ABSENT = "0123456789abcdef01234567"
MARK = "Belongs to Alice"


def session_of(user: User) -> str:
    issued = tokens.issue(user=user, now=timezone.now(), address="192.0.2.1", user_agent=MARK)
    return str(issued.session.pk)


def key_of(user: User) -> str:
    key, _ = accounts.create_key(
        user=user, name=MARK, scopes=list(KeyScope), expires_at=None, now=make.NOW
    )
    return str(key.pk)


def algorithm_of(user: User) -> str:
    """Return the id of a template: private ones are as private as other algorithms."""
    return str(make.algorithm(user, name=MARK, isTemplate=True, **make.steps()).pk)


def backtest_of(user: User) -> str:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return str(submit(user, algorithm_of(user)).pk)


def link_of(user: User) -> str:
    ends = timezone.now() + timedelta(hours=1)
    return str(ReportLink.objects.create(backtest_id=backtest_of(user), expires_at=ends).pk)


def webhook_of(user: User) -> str:
    return str(endpoint_of(user, url="https://hooks.example.com/belongs-to-alice").pk)


def delivery_of(user: User) -> str:
    return str(webhooks.test(owner=user, endpoint_id=webhook_of(user), now=make.NOW).pk)


def hook_with_alert_of(user: User) -> str:
    hook = hook_of(user, name=MARK)
    alert_in(hook, MARK)
    return str(hook.pk)


def order_of(user: User) -> str:
    return str(add_order(algorithm_in(user, "active").runs.get()).pk)


def export_of(user: User) -> str:
    """Return the id of a finished export, so that fetching it works."""
    now = timezone.now()
    expires_at = now + timedelta(hours=1)
    times = {"created_at": now, "ready_at": now, "expires_at": expires_at}
    export, is_new = user.exports.get_or_create(defaults={**times, "size": len(MARK)})
    if is_new:
        export.chunks.create(number=0, data=MARK.encode())
    return str(export.pk)


OWNED: dict[str, Callable[[User], str]] = {
    "session_id": session_of,
    "key_id": key_of,
    "export_id": export_of,
    "algorithm_id": algorithm_of,
    "backtest_id": backtest_of,
    "link_id": link_of,
    "webhook_id": webhook_of,
    "delivery_id": delivery_of,
    "order_id": order_of,
    "hook_id": hook_with_alert_of,
}


def owned(kind: str, user: User) -> str:
    """Return the id of a new resource of this user, by the name of its id in the routes."""
    assert kind in OWNED, f"say in OWNED how a user comes to a {kind}"
    return OWNED[kind](user)


def routes() -> Iterator[tuple[str, list[str], set[str]]]:
    """Return every route under /api: its pattern, its ids, and its methods."""
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith("api/"):
            text = "/" + str(pattern.pattern)
            kinds = [name for name in re.findall(r"<\w+:(\w+)>", text) if name not in NOT_PRIVATE]
            yield text, kinds, set(pattern.callback.actions)  # type: ignore[attr-defined]  # set by DRF's as_view


WITH_ID = {text: (kinds, methods) for text, kinds, methods in routes() if kinds}
WITHOUT_ID = sorted(
    text for text, kinds, methods in routes() if not kinds and "<" not in text and "get" in methods
)


def prepared(text: str, ids: dict[str, str]) -> dict[str, str]:
    """Return the same ids with the resources that the route needs, such as a position."""
    if "<str:link_id>" in text:
        ReportLink.objects.filter(pk=ids["link_id"]).update(backtest_id=ids["backtest_id"])
    if "<str:symbol>" in text:
        hold_position(start(Algorithm.objects.get(pk=ids["algorithm_id"])), SYMBOL)
    if text.endswith("<str:algorithm_id>/explain"):
        step_over(start(Algorithm.objects.get(pk=ids["algorithm_id"])), EXPLAINED_MOMENT)
    return ids


def filled(text: str, ids: dict[str, str]) -> str:
    path = re.sub(r"<\w+:(\w+)>", lambda match: {**NOT_PRIVATE, **ids}[match[1]], text)
    return path + QUESTIONS.get(text.rpartition("/")[2], "")


def stored() -> dict[str, str]:
    """Return a digest of every row of each of our tables."""
    models = (model for model in apps.get_models() if model.__module__.startswith("apps."))
    digests = (
        f"SELECT '{model.__name__}', md5(string_agg(one::text, ' ' ORDER BY one::text))"
        f" FROM {model._meta.db_table} AS one"
        for model in models
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(digests))
        return dict(cursor.fetchall())


def answer(
    client: APIClient, method: str, path: str, body: object, ids: set[str]
) -> tuple[Any, ...]:
    """Return the parts that distinguish two answers to a caller, without the ids that the caller
    sent.
    """
    response = client.generic(method.upper(), path, json.dumps(body), "application/json")
    headers = dict(response.headers)
    content = response.getvalue().decode().replace(headers.pop("X-Request-ID"), "request")
    for known in ids:
        content = content.replace(known, "id")
    return response.status_code, headers, content


def bodies_of(method: str, known: set[str]) -> tuple[dict[str, Any], ...]:
    return BODIES if method in WITH_A_BODY & known else BODIES[:1]


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def intruders(kept: None) -> list[User]:
    """Return another user, and an operator, who is an ordinary user outside of the admin."""
    carol = make.user("carol")
    carol.is_staff = True
    carol.save()
    return [make.user("bob"), carol]


@pytest.fixture(scope="module")
def ids(alice: User) -> dict[str, str]:
    """Return an id of each kind that belongs to her."""
    return {kind: owned(kind, alice) for _, kinds, _ in routes() for kind in kinds}


@pytest.mark.parametrize("text", sorted(WITH_ID))
def test_objects_of_others_do_not_exist(
    api: Api, ids: dict[str, str], intruders: list[User], text: str
) -> None:
    kinds, known = WITH_ID[text]
    own_ids = prepared(text, {kind: ids[kind] for kind in kinds})
    absent_ids = dict.fromkeys(kinds, ABSENT)
    names = {*own_ids.values(), ABSENT}
    user, operator = (api(user) for user in intruders)
    before = stored()
    for client, methods in ((user, METHODS), (operator, sorted(known))):
        for method in methods:
            met = []
            for body in bodies_of(method, known):
                foreign = answer(client, method, filled(text, own_ids), body, names)
                assert foreign == answer(client, method, filled(text, absent_ids), body, names)
                assert MARK not in foreign[2]
                met.append(foreign[0])
            assert {status // 100 for status in met} == {4}, (method, met)
            assert (404 in met) is (method in known or (method == "head" and "get" in known))
    assert stored() == before


@pytest.mark.parametrize("text", sorted(WITH_ID))
def test_the_owner_finds_every_object(
    api: Api, alice: User, ids: dict[str, str], text: str
) -> None:
    """Otherwise the test above would pass because nothing exists."""
    kinds, known = WITH_ID[text]
    client = api(alice)
    own_ids = prepared(text, {kind: ids[kind] for kind in kinds})
    for method in sorted(known):
        with transaction.atomic():
            for body in bodies_of(method, known):
                assert answer(client, method, filled(text, own_ids), body, set())[0] != 404
            transaction.set_rollback(True)


@pytest.mark.parametrize("path", WITHOUT_ID)
def test_a_list_shows_nothing_of_others(
    api: Api, alice: User, ids: dict[str, str], intruders: list[User], path: str
) -> None:
    for user in intruders:
        response = api(user).get(path, {"query": MARK, "symbol": "NSE:NIFTY", "timeframe": "15m"})
        text = response.content.decode()
        assert MARK not in text
        assert not [known for known in (*ids.values(), alice.pk, alice.email) if known in text]


def test_an_id_in_a_body_or_a_query_opens_nothing(
    api: Api, ids: dict[str, str], intruders: list[User]
) -> None:
    names = {ids["algorithm_id"], ABSENT}
    span = {"startDate": "2024-02-01", "endDate": "2024-02-29"}
    before = stored()
    for client in [api(user) for user in intruders]:
        calls = [
            answer(client, "post", "/api/backtests", {"algorithmId": name, **span}, names)
            for name in names
        ]
        assert calls[0] == calls[1]
        assert calls[0][0] == 404
        lists = [
            answer(client, "get", f"/api/backtests?algorithmId={name}", {}, names) for name in names
        ]
        assert lists[0] == lists[1]
        assert json.loads(lists[0][2])["data"] == []
    assert {name: rows for name, rows in stored().items() if name != "LoginSession"} == {
        name: rows for name, rows in before.items() if name != "LoginSession"
    }
