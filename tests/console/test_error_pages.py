"""Errors outside of the console's pages, as a browser shows them."""

import pytest
from django.test import Client

from apps.core import limits
from apps.core.errors import Code
from apps.ops.api_document import docs
from config.content_policy import HEADER
from tests.error_responses import assert_error

BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/reports/nothing"])
def test_an_unknown_address_is_a_page_in_a_browser(client: Client, path: str) -> None:
    page = client.get(path, headers=BROWSER)
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert b"console.css" in page.content
    assert b"The address may be mistyped" in page.content
    assert b"The number of this error" not in page.content
    assert page["X-Request-ID"]
    assert "script-src 'self'" in page[HEADER]
    assert "Accept" in page["Vary"]


def test_other_clients_read_the_envelope(client: Client) -> None:
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        assert_error(client.get("/nothing", headers=headers), 404, "NOT_FOUND")
    assert_error(client.get("/api/nothing", headers=BROWSER), 404, "NOT_FOUND")


def test_a_crash_says_its_number(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "guide_contents", lambda: 1 / 0)
    page = client.get("/docs/webhooks", headers=BROWSER)
    assert page.status_code == 500
    assert page["X-Request-ID"] in page.content.decode()
    assert b"tell the operator" in page.content


def test_too_many_requests_say_how_long_to_wait(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = limits.TooManyRequests(retryAfter=41)
    assert refusal.code == Code.TOO_MANY_REQUESTS

    def refuse(usage: object) -> None:
        raise refusal

    monkeypatch.setattr(limits, "count_page", lambda path, address: object())
    monkeypatch.setattr(limits, "refuse_exceeded", refuse)
    page = client.get("/docs", headers=BROWSER)
    assert (page.status_code, page["Retry-After"]) == (429, "41")
    assert b"Try again in 41 seconds." in page.content
    assert HEADER in page
    part = client.get("/app", headers={"HX-Request": "true"})
    assert (part.status_code, part["HX-Retarget"]) == (429, "#notices")
    assert b"<html" not in part.content
