"""A validation error shows the value that was sent, unless it is a secret."""

import pytest

from apps.accounts.models import User
from tests.conftest import Api
from tests.error_responses import assert_error

CANDLES = "/api/market/candles"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/webhooks", {"url": "https://example.com/hook", "events": []}, "events"),
        ("/api/auth/keys", {"name": "robot", "scopes": []}, "scopes"),
        (CANDLES, {"symbol": "NSE:SBIN", "timeframe": "1m", "candles": []}, "candles"),
        (CANDLES, {"timeframe": "1m", "series": []}, "series"),
    ],
)
def test_an_empty_list_is_shown(api: Api, alice: User, path: str, body: object, field: str) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    response = api(alice).post(path, body)
    assert_error(response, 400, "VALIDATION_ERROR", field=field, value=[])


@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        ("symbol=NSE:SBIN%00&timeframe=1d", "symbol", "NSE:SBIN\ufffd"),
        ("symbol=&timeframe=1d", "symbol", ""),
    ],
)
def test_a_query_value_is_shown(api: Api, alice: User, query: str, field: str, value: str) -> None:
    response = api(alice).get(f"{CANDLES}?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=field, value=value)


def test_a_missing_value_is_not_shown(api: Api, alice: User) -> None:
    error = assert_error(api(alice).get(CANDLES), 400, "VALIDATION_ERROR", field="symbol")
    assert "value" not in error["details"]
