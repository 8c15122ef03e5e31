"""GET /api/market/coverage"""

from collections.abc import Callable
from datetime import date

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.market.candles import corporate_actions, coverage
from apps.market.candles.corporate_actions import ActionRow
from tests.error_responses import assert_error
from tests.market.bars import NOW, at, flat_candles, rising_minutes, store_candles

PATH = "/api/market/coverage"
SBIN = {"symbol": "NSE:SBIN"}
Api = Callable[..., APIClient]


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def hold_days(*stamps: str) -> None:
    store_candles("NSE:SBIN", "1d", flat_candles([at(f"{stamp} 00:00") for stamp in stamps]))


def test_coverage_lists_the_stored_timeframes(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 375))
    response = client.get(PATH, SBIN)
    assert response.status_code == 200
    assert response.json() == {
        "symbol": "NSE:SBIN",
        "timeframes": [
            {
                "timeframe": "1m",
                "first": "2024-01-31T03:45:00.000Z",
                "last": "2024-01-31T09:59:00.000Z",
                "bars": 375,
                "days": 1,
                "missingSessions": 0,
                "gaps": [],
                "uncheckedYears": [],
            }
        ],
    }


def test_missing_sessions_are_listed(client: APIClient) -> None:
    hold_days("2024-01-18", "2024-01-23", "2024-01-25", "2024-01-29")
    [row] = client.get(PATH, SBIN).json()["timeframes"]
    assert (row["days"], row["missingSessions"]) == (4, 3)
    assert row["gaps"] == [
        {"from": "2024-01-19", "to": "2024-01-20", "sessions": 2},
        {"from": "2024-01-24", "to": "2024-01-24", "sessions": 1},
    ]


def test_the_newest_gaps_are_listed_and_all_are_counted(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "MOST_GAPS", 1)
    hold_days("2024-01-18", "2024-01-23", "2024-01-25")
    [row] = client.get(PATH, SBIN).json()["timeframes"]
    assert (row["missingSessions"], [gap["from"] for gap in row["gaps"]]) == (3, ["2024-01-24"])


def test_years_without_a_calendar_are_named_and_weeks_have_no_sessions(client: APIClient) -> None:
    hold_days("2008-12-30", "2009-01-01")
    store_candles("NSE:SBIN", "1w", flat_candles([at("2024-01-01 00:00")]))
    day, week = client.get(PATH, SBIN).json()["timeframes"]
    assert (day["uncheckedYears"], day["missingSessions"]) == ([2008], 0)
    assert "gaps" not in week


def test_the_quality_of_a_timeframe(client: APIClient) -> None:
    hold_days("2024-01-13", "2024-01-15", "2024-01-17")
    store_candles("NSE:SBIN", "1d", flat_candles([at("2024-01-18 00:00")], [10.0]))
    quality = client.get(PATH, SBIN | {"timeframe": "1d"}).json()["quality"]
    none_of_them = {"count": 0, "first": []}
    assert quality == {
        "timeframe": "1d",
        "bars": 4,
        "days": 4,
        "barsWithoutVolume": 0,
        "barsOutsideHours": 0,
        "missingSessions": {"count": 1, "first": ["2024-01-16"]},
        "shortDays": none_of_them,
        "daysWithoutSession": {"count": 1, "first": ["2024-01-13"]},
        "jumps": {"count": 1, "first": ["2024-01-17T18:30:00.000Z"]},
        "spikes": none_of_them,
        "runsWithoutVolume": none_of_them,
    }
    row = ActionRow("NSE:SBIN", date(2024, 1, 18), "split", 1, 10, "a test")
    corporate_actions.store_actions(rows=[row], now=NOW)
    answer = client.get(PATH, SBIN | {"timeframe": "1d"}).json()
    assert answer["quality"]["jumps"] == none_of_them  # explained by the split
    assert "quality" not in client.get(PATH, SBIN | {"timeframe": "1m"}).json()


def test_a_generated_sample_says_so(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 2), synthetic=True)
    assert client.get(PATH, SBIN).json()["timeframes"][0]["synthetic"] is True


def test_a_symbol_without_bars_gives_an_empty_list(client: APIClient) -> None:
    assert client.get(PATH, SBIN).json() == {"symbol": "NSE:SBIN", "timeframes": []}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "symbol"),
        ({"symbol": ""}, "symbol"),
        ({"symbol": "NSE"}, "symbol"),
        ({"symbol": "NSE:M&M"}, "symbol"),
        (SBIN | {"timeframe": "3m"}, "timeframe"),
    ],
)
def test_a_bad_parameter_is_named(client: APIClient, query: dict[str, str], field: str) -> None:
    assert_error(client.get(PATH, query), 400, "VALIDATION_ERROR", field=field)


def test_a_token_is_needed(api: Api) -> None:
    assert_error(api().get(PATH, SBIN), 401, "UNAUTHORIZED")
