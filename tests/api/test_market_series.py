"""GET /api/market/series"""

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.market.feeds import services as feeds
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import NOW, at, flat_candles, rising_minutes, store_candles

PATH = "/api/market/series"


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    days = [at(f"2024-01-{day} 00:00") for day in (18, 23)]
    store_candles("NSE:SBIN", "1d", flat_candles(days))
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 375))
    store_candles("MCX:GOLD", "1w", flat_candles([at("2024-01-01 00:00")]), synthetic=True)
    return api(alice)


def keys(client: APIClient, **query: str) -> list[tuple[str, str]]:
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.content
    return [(row["symbol"], row["timeframe"]) for row in answer.json()["data"]]


def test_each_symbol_and_timeframe_lists_its_gaps(client: APIClient) -> None:
    answer = client.get(PATH).json()
    assert answer["pagination"]["total"] == 3
    gold, days, bars = answer["data"]
    assert gold == {
        "symbol": "MCX:GOLD",
        "timeframe": "1w",
        "bars": 1,
        "synthetic": True,
        "generatedUntil": "2023-12-31T18:30:00.000Z",
        "first": "2023-12-31T18:30:00.000Z",
        "last": "2023-12-31T18:30:00.000Z",
    }
    assert (days["bars"], days["days"], days["missingSessions"]) == (2, 2, 2)
    assert (bars["timeframe"], bars["bars"], bars["uncheckedYears"]) == ("1m", 375, [])
    assert "gaps" not in days


def test_a_part_of_the_symbol_an_exchange_and_a_timeframe_choose(client: APIClient) -> None:
    assert keys(client, query="sbi") == [("NSE:SBIN", "1d"), ("NSE:SBIN", "1m")]
    assert keys(client, exchange="MCX") == [("MCX:GOLD", "1w")]
    assert keys(client, query="SBIN", timeframe="1m") == [("NSE:SBIN", "1m")]
    assert keys(client, query="%") == []
    assert keys(client, page="2", limit="2") == [("NSE:SBIN", "1m")]


def test_candles_of_today_are_counted(client: APIClient) -> None:
    start = at("2026-10-30 09:15")
    bars = [(start + 60 * minute, 100.0, 100.0, 100.0, 100.0, 1.0) for minute in range(5)]
    feeds.receive(timeframe="1m", series={"NSE:SBIN": bars}, now=NOW)
    [row] = client.get(PATH, {"timeframe": "1m"}).json()["data"]
    assert (row["bars"], row["days"], row["last"]) == (380, 2, "2026-10-30T03:49:00.000Z")


def test_a_page_takes_the_same_statements_for_any_number(
    client: APIClient, django_assert_max_num_queries: object
) -> None:
    client.get(PATH)
    with django_assert_max_num_queries(9):  # type: ignore[operator]
        client.get(PATH, {"limit": "2"})
    with django_assert_max_num_queries(9):  # type: ignore[operator]
        client.get(PATH, {"limit": "100"})


@pytest.mark.parametrize(
    "query", [{"exchange": "NYSE"}, {"timeframe": "3m"}, {"query": ""}, {"page": "0"}]
)
def test_a_wrong_query_is_refused(client: APIClient, query: dict[str, str]) -> None:
    assert_error(client.get(PATH, query), 400, "VALIDATION_ERROR")
