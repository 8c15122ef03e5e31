"""A form is refused under /api before anything acts on it."""

from typing import Any

import pytest
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from rest_framework.test import APIClient

from apps.accounts.models import LoginSession, User
from apps.algorithms.models import Algorithm
from apps.core.models import IdempotencyKey
from tests import make
from tests.conftest import Api
from tests.contract.test_routes import routes
from tests.error_responses import assert_error

FORMS = {
    "multipart": (MULTIPART_CONTENT, encode_multipart(BOUNDARY, {"name": "x"})),
    "urlencoded": ("application/x-www-form-urlencoded", b"name=x"),
    "JSON that curl -d sends": ("Application/X-WWW-Form-URLencoded; charset=utf-8", b"{}"),
}
CHANGING = [
    (method, path)
    for method, path in routes()
    if method not in ("get", "head") and path.startswith("/api/")
]


def send(client: APIClient, method: str, path: str, form: str, **headers: str) -> Any:
    kind, body = FORMS[form]
    return client.generic(method.upper(), path, body, content_type=kind, **headers)  # type: ignore[arg-type]  # bytes are taken too; headers are extras of the environ


@pytest.mark.parametrize("form", FORMS)
def test_every_call_refuses_a_form(api: Api, alice: User, form: str) -> None:
    client = api(alice)
    for method, path in CHANGING:
        refused = send(client, method, path, form, HTTP_IDEMPOTENCY_KEY="k")
        assert_error(refused, 415, "VALIDATION_ERROR", reason="unsupported_media_type")
    assert not IdempotencyKey.objects.exists()
    assert LoginSession.objects.filter(ended_at=None).count() == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_form_without_a_token_is_unauthorized(api: Api, form: str) -> None:
    assert_error(send(api(), "POST", "/api/trading/algorithms", form), 401, "UNAUTHORIZED")
    assert_error(send(api(), "POST", "/api/unknown", form), 404, "NOT_FOUND")


@pytest.fixture
def browser(alice: User) -> APIClient:
    """Return a client with the cookies of a login, checked for CSRF."""
    client = APIClient(enforce_csrf_checks=True, raise_request_exception=False)
    body = {"email": alice.email, "password": make.PASSWORD, "sessionCookie": True}
    assert client.post("/api/auth/login", body, format="json").status_code == 200
    return client


@pytest.mark.parametrize("path", ["/api/auth/logout", "/api/auth/refresh-token"])
@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_another_site_neither_ends_nor_renews_a_session(
    browser: APIClient, path: str, form: str
) -> None:
    before = LoginSession.objects.values().get()
    refused = send(browser, "POST", path, form)
    assert_error(refused, 415, "VALIDATION_ERROR", reason="unsupported_media_type")
    assert not refused.cookies
    assert LoginSession.objects.values().get() == before


def test_a_csrf_token_in_a_form_is_ignored(browser: APIClient) -> None:
    body = f"csrfmiddlewaretoken={browser.cookies['csrftoken'].value}".encode()
    kind = "application/x-www-form-urlencoded"
    refused = browser.generic("POST", "/api/trading/algorithms", body, content_type=kind)  # type: ignore[arg-type]  # bytes are taken too
    assert_error(refused, 415, "VALIDATION_ERROR")
    assert not Algorithm.objects.exists()


@pytest.mark.parametrize("kind", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_a_call_without_fields_takes_an_empty_form(
    api: Api, alice: User, browser: APIClient, kind: str
) -> None:
    validate = f"/api/trading/algorithms/{make.algorithm(alice).pk}/validate"
    assert api(alice).generic("POST", validate, "", content_type=kind).status_code == 200
    token = browser.cookies["csrftoken"].value
    answer = browser.generic("POST", validate, "", content_type=kind, HTTP_X_CSRFTOKEN=token)
    assert answer.status_code == 200
    answer = browser.generic("POST", "/api/auth/refresh-token", "", content_type=kind)
    assert answer.status_code == 200
    answer = browser.generic("POST", "/api/auth/logout", "", content_type=kind)
    assert answer.status_code == 200
