"""A closed API also refuses the console's writes, except those that make trading or
accounts safer.
"""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings

from apps.accounts.models import User
from apps.core.models import QuietStart
from tests import make
from tests.conftest import Api
from tests.console.conftest import Browse, browse
from tests.contract.test_routes import routes
from tests.error_responses import assert_error

__all__ = ["browse"]
ID = "0" * 24
OPEN_CALLS = {
    ("post", "/api/auth/logout"),
    ("delete", "/api/auth/sessions"),
    ("delete", f"/api/auth/sessions/{ID}"),
    ("post", "/api/trading/kill-switch"),
    ("post", f"/api/trading/algorithms/{ID}/pause"),
    ("post", f"/api/trading/algorithms/{ID}/stop"),
}
OPEN_FORMS = {
    "/app/sign-out",
    "/app/kill-switch",
    f"/app/settings/end-session/{ID}",
    f"/app/live/{ID}/do/pause",
    f"/app/live/{ID}/stop",
    f"/app/algorithms/{ID}/do/pause",
}
# The actions in the paths of these routes.
ACTIONS = {
    "settings": ("end-session", "revoke-key"),
    "live": ("pause", "resume", "cancel"),
    "algorithms": ("pause", "start", "resume", "clone", "delete", "rename"),
    "backtests": ("cancel", "delete"),
    "webhooks": ("rotate-secret", "delete"),
    "alerts": ("rotate-secret", "delete"),
}


def pages() -> list[str]:
    """Return every address of the console and of links in mails, with plausible values."""
    console = []
    for entry in get_resolver().url_patterns:
        prefix = str(entry.pattern)
        if isinstance(entry, URLResolver) and prefix == "app/":
            console += [prefix + str(page.pattern) for page in entry.url_patterns]
        elif isinstance(entry, URLPattern) and prefix.startswith(("app", "account/")):
            console.append(prefix)
    filled = []
    for route in console:
        kind = next((name for name in reversed(ACTIONS) if f"{name}/" in route), "")
        for action in ACTIONS[kind] if "<str:action>" in route else ("",):
            path = re.sub("<str:symbol>", "NSE:TCS", route.replace("<str:action>", action))
            filled.append("/" + re.sub(r"<[^>]+>", ID, path))
    return filled


@pytest.fixture
def maintenance(settings: Settings) -> None:
    settings.MAINTENANCE = True


@pytest.fixture
def full_disk(settings: Settings) -> None:
    settings.DISK_RESERVE = 2**60


CLOSED = pytest.mark.parametrize("closing", ["maintenance", "full_disk"])


@CLOSED
def test_maintenance_closes_every_write_except_safety_measures(
    api: Api, alice: User, closing: str, request: pytest.FixtureRequest
) -> None:
    client = api(alice)
    request.getfixturevalue(closing)
    writes = {route for route in routes() if route[0] not in ("get", "head")}
    refused = set()
    for method, path in sorted(writes):
        answer = getattr(client, method)(path)
        if answer.status_code == 503:
            refused.add((method, path))
            assert_error(answer, 503, "SERVICE_UNAVAILABLE")
        if (method, path) in OPEN_CALLS:
            client = api(alice)  # its session may have ended
    assert writes - refused == OPEN_CALLS


@CLOSED
def test_maintenance_closes_every_form_except_safety_measures(
    browse: Browse, alice: User, closing: str, request: pytest.FixtureRequest
) -> None:
    client = browse(alice)
    request.getfixturevalue(closing)
    passed = set()
    for path in pages():
        answer = client.post(path)
        if answer.status_code != 503:
            passed.add(path)
        else:
            assert answer["Content-Type"].startswith("application/json")
            page = client.post(path, headers={"Accept": "text/html"})
            assert (page.status_code, b"<html" in page.content) == (503, True)
    assert passed == OPEN_FORMS


@pytest.mark.usefixtures("maintenance")
def test_pages_are_read_under_maintenance(alice: User) -> None:
    assert Client().get("/app/sign-in").status_code == 200


def test_a_quiet_start_refuses_starts_by_calls_and_by_forms(
    api: Api, browse: Browse, alice: User
) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    client = browse(alice)
    QuietStart.objects.create(began_at=make.NOW, snapshot_at=make.NOW)
    refused = api(alice).post(f"/api/trading/algorithms/{algorithm.pk}/start")
    assert_error(refused, 503, "SERVICE_UNAVAILABLE")
    assert client.post(f"/app/algorithms/{algorithm.pk}/do/start").status_code == 503


@pytest.mark.usefixtures("maintenance")
@pytest.mark.parametrize("method", ["get", "post", "delete"])
@pytest.mark.parametrize("path", ["/api", "/api/auth/profile", "/api/backtests", "/api/nothing"])
def test_everything_under_api_says_when_to_come_back(
    api: Api, alice: User, method: str, path: str
) -> None:
    answer = getattr(api(alice), method)(path)
    error = assert_error(answer, 503, "SERVICE_UNAVAILABLE", retryAfter=60)
    assert error["retryAfter"] == 60
    assert answer["Retry-After"] == "60"


@pytest.mark.usefixtures("maintenance")
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/admin/login/"])
def test_calls_of_operators_stay_open(api: Api, path: str) -> None:
    assert api().get(path).status_code == 200


@pytest.mark.usefixtures("maintenance")
def test_a_browser_of_an_allowed_origin_can_read_the_refusal(api: Api) -> None:
    answer = api().get("/api/backtests", headers={"origin": "http://localhost:3000"})
    assert answer.status_code == 503
    assert answer["Access-Control-Allow-Origin"] == "http://localhost:3000"
