"""GET /api/market/coverage"""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from tests.envelope import assert_error
from tests.market.bars import hold, minutes

PATH = "/api/market/coverage"
Api = Callable[..., APIClient]


def test_what_is_held_by_timeframe(api: Api, alice: User) -> None:
    hold("NSE:SBIN", "1m", minutes("2024-01-31 09:15", 375))
    response = api(alice).get(PATH, {"symbol": "NSE:SBIN"})
    assert response.status_code == 200
    assert response.json() == {
        "symbol": "NSE:SBIN",
        "timeframes": [
            {
                "timeframe": "1m",
                "first": "2024-01-31T03:45:00.000Z",
                "last": "2024-01-31T09:59:00.000Z",
                "bars": 375,
            }
        ],
    }


def test_a_generated_sample_says_so(api: Api, alice: User) -> None:
    hold("NSE:SBIN", "1m", minutes("2024-01-31 09:15", 2), synthetic=True)
    answer = api(alice).get(PATH, {"symbol": "NSE:SBIN"}).json()
    assert answer["timeframes"][0]["synthetic"] is True


def test_nothing_held_is_an_empty_list(api: Api, alice: User) -> None:
    answer = api(alice).get(PATH, {"symbol": "NSE:SBIN"}).json()
    assert answer == {"symbol": "NSE:SBIN", "timeframes": []}


@pytest.mark.parametrize("query", [{}, {"symbol": ""}, {"symbol": "NSE"}, {"symbol": "NSE:M&M"}])
def test_a_bad_symbol_is_named(api: Api, alice: User, query: dict[str, str]) -> None:
    assert_error(api(alice).get(PATH, query), 400, "VALIDATION_ERROR", field="symbol")


def test_a_token_is_needed(api: Api) -> None:
    assert_error(api().get(PATH, {"symbol": "NSE:SBIN"}), 401, "UNAUTHORIZED")
