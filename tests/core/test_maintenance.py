"""MAINTENANCE=1 closes the interface and nothing else."""

import pytest
from pytest_django import Settings

from apps.accounts.models import User
from tests.conftest import Api
from tests.envelope import assert_error


@pytest.fixture(autouse=True)
def maintenance(settings: Settings) -> None:
    settings.MAINTENANCE = True


@pytest.mark.parametrize("method", ["get", "post", "delete"])
@pytest.mark.parametrize("path", ["/api", "/api/auth/profile", "/api/backtests", "/api/nothing"])
def test_everything_under_api_says_when_to_come_back(
    api: Api, alice: User, method: str, path: str
) -> None:
    answer = getattr(api(alice), method)(path)
    error = assert_error(answer, 503, "SERVICE_UNAVAILABLE", retryAfter=60)
    assert error["retryAfter"] == 60
    assert answer["Retry-After"] == "60"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/admin/login/"])
def test_what_operators_need_goes_on(api: Api, path: str) -> None:
    assert api().get(path).status_code == 200


def test_a_browser_of_an_allowed_origin_can_read_the_refusal(api: Api) -> None:
    answer = api().get("/api/backtests", headers={"origin": "http://localhost:3000"})
    assert answer.status_code == 503
    assert answer["Access-Control-Allow-Origin"] == "http://localhost:3000"
