"""The first page of the admin, names and owners in its lists, and its door in the console."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.core import audit, database
from apps.core.audit import Action
from apps.core.jobs import job_queue
from apps.core.models import AuditRecord
from apps.market.models import FeedKind
from apps.market.services import FeedPlan, begin_feed
from apps.ops.processes import presence
from apps.trading import services
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.console.conftest import Browse, browse
from tests.trading.algorithm_states import add_order, algorithm_in, start, stopped_algorithm

__all__ = ["browse"]


def test_the_first_page_shows_the_state_of_the_service(
    operator: Client, olga: User, alice: User
) -> None:
    algorithm = algorithm_in(alice, "error")
    job_queue.enqueue("some.work", queue="small", arguments=[{"number": 7}])
    presence.report("runner", now=timezone.now())
    plan = FeedPlan(kind=FeedKind.LIVE, symbols=["NSE:SBIN"], timeframe="1m")
    begin_feed(plan, now=database.now())
    services.engage_global_switch(operator=audit.operator(olga), reason="an outage", now=make.NOW)
    page = operator.get("/admin/").text
    for text in (
        "1 runner",
        '<th scope="row">small</th><td>1</td>',
        algorithm.name,
        alice.email,
        "no bars for an hour",
        "Start a live feed or a replay",
        "A live feed of NSE:SBIN since",
        "On for everybody since 2026-11-02 09:30:00 IST: an outage",
    ):
        assert text in page, text


def test_lists_show_names_and_owners_at_a_constant_cost(operator: Client, alice: User) -> None:
    paths = ("order", "run", "signal", "position", "trade", "dailyloss")

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            pages = [operator.get(f"/admin/trading/{path}/").text for path in paths]
        assert alice.email in pages[0]
        assert "Algorithm #1" in pages[1]
        return len(queries)

    first = stopped_algorithm(alice, initialCapital=100_000)
    add_order(start(first))
    cost()
    few = cost()
    for _ in range(2):
        add_order(start(stopped_algorithm(alice, initialCapital=100_000)))
    assert cost() == few


def test_an_operator_opens_the_admin_by_proving_password_and_factor(
    browse: Browse, olga: User
) -> None:
    client = browse(olga)
    uri = client.post(
        "/app/settings/two-factor", {"action": "begin", "password": make.PASSWORD}
    ).context["uri"]
    confirmed = client.post(
        "/app/settings/two-factor", {"action": "confirm", "code": code_of(authenticator(uri))}
    )
    spare = confirmed.context["secrets"][0]
    page = "/app/settings/admin"
    assert client.get("/admin/").status_code == 302
    assert client.post(page, {"password": make.PASSWORD}).status_code == 400
    assert client.post(page, {"password": "wrong", "code": spare}).status_code == 400
    assert client.get("/admin/").status_code == 302
    answer = client.post(page, {"password": make.PASSWORD, "code": spare})
    assert answer["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200
    assert client.get("/app").status_code == 200
    assert AuditRecord.objects.filter(action=Action.ADMIN_LOGIN).get().actor == olga.pk
    client.post("/admin/logout/")
    assert client.get("/admin/").status_code == 302


@pytest.mark.django_db
def test_only_operators_see_the_way_to_the_admin(browse: Browse, alice: User, olga: User) -> None:
    trader = browse(alice)
    assert trader.get("/app/settings/admin").status_code == 403
    assert "/app/settings/admin" not in trader.get("/app/settings").text
    assert "/app/settings/admin" in browse(olga).get("/app").text
