"""Calls from pages of other origins: which are allowed, and what they may send and read."""

import pytest

from tests.conftest import Api

PATH = "/api/trading/algorithms"
ORIGINS = ["http://localhost:3000", "http://localhost:5173", "http://testserver"]
STRANGERS = [
    "https://evil.example",
    "null",
    "http://localhost:3000.evil.example",
    "https://testserver",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_allowed_origins_and_the_services_own_may_call(api: Api, origin: str) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    response = api().options(PATH, headers=asked)
    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == origin
    assert response["Access-Control-Allow-Credentials"] == "true"
    assert response["Access-Control-Allow-Methods"] == "GET, POST, PUT, PATCH, DELETE, OPTIONS"
    assert response["Access-Control-Allow-Headers"] == "content-type, authorization, x-request-id"
    refused = api().get(PATH, headers={"Origin": origin})
    assert (refused.status_code, refused["Access-Control-Allow-Origin"]) == (401, origin)
    assert refused["Access-Control-Expose-Headers"] == (
        "X-Request-ID, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, "
        "Idempotent-Replayed, X-Total-Count, Link"
    )


@pytest.mark.parametrize("origin", STRANGERS)
def test_unknown_origins_may_read_no_response(api: Api, origin: str) -> None:
    response = api().get(PATH, headers={"Origin": origin})
    assert not [name for name in response.headers if name.startswith("access-control-")]
