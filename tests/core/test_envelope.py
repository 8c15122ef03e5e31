"""Every refusal of a request has one form."""

import pytest
from django.test import Client
from pytest_django import Settings

from apps.core.api.exceptions import REASON_OF_STATUS, STATUS, refusal_of_http
from apps.core.errors import Code, Fault, InvalidInput
from tests.error_responses import assert_error


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(
    "path", ["/nope", "/api", "/api/", "/api/nope", "/api/auth/login/", "/API/auth/login"]
)
def test_an_unknown_address_is_not_found_and_never_a_redirect(client: Client, path: str) -> None:
    assert_error(client.post(path), 404, "NOT_FOUND")
    assert_error(client.get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize("host", ["evil.example", "a b", "a_b"])
def test_a_foreign_host_header_is_refused_in_the_envelope(client: Client, host: str) -> None:
    response = client.get("/api/nope", headers={"host": host})
    assert_error(response, 400, "VALIDATION_ERROR", reason="bad_request")


def test_a_wrong_method_gets_the_allowed_methods(client: Client) -> None:
    response = client.delete("/api/auth/login")
    assert_error(response, 405, "VALIDATION_ERROR", reason="method_not_allowed")
    assert "POST" in response["Allow"]


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ("abc-1._Z", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("a b", False),
        ("\x1b[31m", False),
        ("", False),
    ],
)
def test_a_harmless_request_id_of_the_client_is_used(
    client: Client, sent: str, *, taken: bool
) -> None:
    response = client.get("/api/nope", headers={"x-request-id": sent})
    assert (response["X-Request-ID"] == sent) is taken
    assert response.json()["error"]["requestId"] == response["X-Request-ID"]


def test_answers_under_api_are_never_stored_or_sniffed(client: Client) -> None:
    response = client.get("/api/nope")
    assert response["Cache-Control"] == "no-store"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("path", "size"), [("/api/auth/login", 64 * 1024 + 1), ("/api/x", 1024 * 1024 + 1)]
)
def test_a_body_that_is_too_large_is_refused(client: Client, path: str, size: int) -> None:
    response = client.post(path, b"x" * size, content_type="application/json")
    assert_error(response, 413, "VALIDATION_ERROR", reason="payload_too_large")


def test_a_body_that_does_not_say_its_length_is_refused(client: Client) -> None:
    """A reader of Content-Length would take it for an empty body, and lose the content."""
    headers = {"transfer-encoding": "chunked"}
    response = client.generic("POST", "/api/trading/algorithms", headers=headers)
    assert_error(response, 411, "VALIDATION_ERROR", reason="length_required")


@pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("GZIP", 415), ("identity", 400)])
def test_a_compressed_body_is_refused(client: Client, coding: str, status: int) -> None:
    response = client.post(
        "/api/auth/login", {}, "application/json", headers={"content-encoding": coding}
    )
    assert_error(response, status, "VALIDATION_ERROR")


def test_a_query_of_too_many_parameters_is_refused(client: Client) -> None:
    response = client.get("/api/auth/profile?" + "a=&" * 1_001)
    assert_error(response, 400, "VALIDATION_ERROR", reason="bad_request")


def test_every_code_has_one_status() -> None:
    assert set(STATUS) == set(Code)


@pytest.mark.parametrize("status", sorted(REASON_OF_STATUS))
def test_refusals_of_http_keep_their_status(status: int) -> None:
    error = refusal_of_http(status)["error"]
    assert error["status"] == status
    assert error["details"] == {"reason": REASON_OF_STATUS[status][0]}


def test_the_first_fault_leads_and_all_are_listed() -> None:
    error = InvalidInput(Fault("a", "is required"), Fault("b[0].c", "is not allowed", 7, (1, 2)))
    assert str(error) == "a: is required"
    assert error.details == {
        "field": "a",
        "errors": [
            {"field": "a", "message": "is required"},
            {"field": "b[0].c", "message": "is not allowed", "value": 7, "allowedValues": [1, 2]},
        ],
    }


def test_a_fault_of_the_whole_body_names_no_field() -> None:
    error = InvalidInput(Fault("", "The body is not UTF-8."))
    assert str(error) == "The body is not UTF-8."
    assert error.details == {}


def test_the_process_reports_that_it_is_up(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_migrated_database_is_ready(client: Client, settings: Settings) -> None:
    settings.EMBEDDED_DATABASE = True  # the tests' role owns its tables
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["checks"] == {"database": "ok", "migrations": "ok", "queue": "ok"}


def test_each_request_is_logged_once_except_successful_health_checks(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "request")
    client.get("/api/nope")
    client.get("/healthz")
    lines = [record for record in caplog.records if record.name == "request"]
    assert [record.getMessage() for record in lines if record.levelname == "INFO"] == [
        "GET /api/nope 404"
    ]
