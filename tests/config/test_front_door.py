"""`/` leads people to the console, and programs to the document of the API."""

import pytest
from django.test import Client

from tests.error_responses import assert_error

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("accept", "address"),
    [
        (BROWSER, "/app"),
        ("text/html", "/app"),
        ("*/*", "/openapi.json"),
        (None, "/openapi.json"),
        ("application/json", "/openapi.json"),
        ("application/json, text/html;q=0.5", "/openapi.json"),
        ("text/plain", "/openapi.json"),
        ("nonsense", "/openapi.json"),
    ],
)
@pytest.mark.django_db
def test_the_root_leads_on(method: str, accept: str | None, address: str) -> None:
    headers = {} if accept is None else {"Accept": accept}
    answer = Client().generic(method, "/", headers=headers)
    assert (answer.status_code, answer["Location"]) == (302, address)
    assert "Accept" in answer["Vary"]
    if method == "GET":
        assert answer.json() == {"openapi": "/openapi.json", "docs": "/docs"}
    onward = Client().generic(method, address)
    assert (onward.status_code, onward.get("Location")) in [(200, None), (302, "/app/sign-in")]


@pytest.mark.django_db
def test_the_root_is_only_read() -> None:
    assert_error(Client().post("/"), 405, "VALIDATION_ERROR", reason="method_not_allowed")
