"""GET /api/market/candles"""

from collections.abc import Callable
from datetime import date

import numpy as np
import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.market.candles import corporate_actions
from apps.market.candles.corporate_actions import ActionRow
from tests.api.whole_tables import whole_arrow, whole_csv
from tests.error_responses import assert_error
from tests.market.bars import NOW, at, flat_candles, rising_minutes, store_candles

PATH = "/api/market/candles"
SBIN = {"symbol": "NSE:SBIN", "timeframe": "1m"}
Api = Callable[..., APIClient]


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def times(answer: dict[str, list[list[object]]]) -> list[str]:
    return [str(candle[0])[11:16] for candle in answer["candles"]]


def test_a_candle_is_time_open_high_low_close_volume(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", flat_candles([at("2024-01-31 09:15")], [21727.75]))
    response = client.get(PATH, SBIN)
    assert response.status_code == 200
    assert response.json() == {
        "symbol": "NSE:SBIN",
        "timeframe": "1m",
        "candles": [["2024-01-31T03:45:00.000Z", 21727.75, 21727.75, 21727.75, 21727.75, 10]],
    }
    assert b"21727.75,21727.75,21727.75,21727.75,10]" in response.content


@pytest.mark.parametrize("synthetic", [True, False])
@pytest.mark.parametrize("timeframe", ["1m", "1d"])
def test_all_candles_come_in_one_table(client: APIClient, timeframe: str, synthetic: bool) -> None:
    """They are of several stored periods."""
    for month in ("2024-01", "2024-02", "2024-03"):
        store_candles("NSE:SBIN", "1m", rising_minutes(f"{month}-15 09:15", 9), synthetic=synthetic)
    asked = f"{PATH}?symbol=NSE:SBIN&timeframe={timeframe}"
    listed = client.get(asked).json()
    names = ["time", "open", "high", "low", "close", "volume"]
    rows = [dict(zip(names, candle, strict=True)) for candle in listed["candles"]]
    arrow = whole_arrow(client, asked + "&whole=true")
    assert len(arrow) > 1
    assert [{name: row[name] for name in names} for row in arrow] == rows
    assert {row["synthetic"] for row in arrow} == {synthetic}
    if timeframe == "1d":
        assert [row["date"] for row in arrow] == listed["dates"]
    assert [row["close"] for row in whole_csv(client, asked + "&whole=true&from=2024-02-01")] == [
        str(row["close"]) for row in rows if row["time"] > "2024-02"
    ]
    assert len(whole_csv(client, asked + "&limit=2")) == 2


def test_generated_candles_say_so(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 2), synthetic=True)
    assert client.get(PATH, SBIN).json()["synthetic"] is True


def test_timestamps_take_bars_from_the_first_up_to_the_second(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 30))
    span = {"from": "2024-01-31T03:50:00Z", "to": "2024-01-31T09:23:00+05:30"}
    assert times(client.get(PATH, SBIN | span).json()) == ["03:50", "03:51", "03:52"]


def test_dates_are_days_in_india_the_last_included(client: APIClient) -> None:
    for day in (29, 30, 31):
        store_candles("NSE:SBIN", "1m", rising_minutes(f"2024-01-{day} 09:15", 2))
    span = {"from": "2024-01-30", "to": "2024-01-31"}
    candles = client.get(PATH, SBIN | span).json()["candles"]
    assert [candle[0][:10] for candle in candles] == ["2024-01-30"] * 2 + ["2024-01-31"] * 2


def test_candles_begin_at_from_or_else_end_with_the_newest(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 30))
    few = SBIN | {"limit": "2"}
    assert times(client.get(PATH, few | {"from": "2024-01-31"}).json()) == ["03:45", "03:46"]
    assert times(client.get(PATH, few).json()) == ["04:13", "04:14"]
    until = few | {"to": "2024-01-31T03:50:00Z"}
    assert times(client.get(PATH, until).json()) == ["03:48", "03:49"]


def test_a_page_has_five_hundred_candles_by_default(client: APIClient) -> None:
    for day in (29, 30, 31):
        store_candles("NSE:SBIN", "1m", rising_minutes(f"2024-01-{day} 09:15", 375))
    assert len(client.get(PATH, SBIN).json()["candles"]) == 500
    assert len(client.get(PATH, SBIN | {"limit": "5000"}).json()["candles"]) == 1125


def test_a_longer_timeframe_is_made_from_stored_bars(client: APIClient) -> None:
    store_candles("NSE:SBIN", "1m", rising_minutes("2024-01-31 09:15", 30))
    answer = client.get(PATH, SBIN | {"timeframe": "15m"}).json()
    assert [candle[1:] for candle in answer["candles"]] == [
        [100.0, 100.7, 100.0, 100.7, 150],
        [100.75, 101.45, 100.75, 101.45, 150],
    ]


def test_prices_are_adjusted_for_a_split_by_default(client: APIClient) -> None:
    store_candles(
        "NSE:SBIN",
        "1d",
        flat_candles([at("2014-11-19 00:00"), at("2014-11-20 00:00")], [2900.0, 293.0]),
    )
    row = ActionRow("NSE:SBIN", date(2014, 11, 20), "split", 1, 10, "NSE circular")
    corporate_actions.store_actions(rows=[row], now=NOW)
    days = SBIN | {"timeframe": "1d"}
    answer = client.get(PATH, days).json()
    assert [candle[4:] for candle in answer["candles"]] == [[290, 100], [293, 10]]
    assert answer["adjustedFor"] == [
        {"exDate": "2014-11-20", "kind": "split", "ratio": "10:1", "source": "NSE circular"}
    ]
    raw = client.get(PATH, days | {"adjusted": "false"}).json()
    assert [candle[4:] for candle in raw["candles"]] == [[2900, 10], [293, 10]]
    assert "adjustedFor" not in raw
    assert "adjustedFor" not in client.get(PATH, days | {"from": "2014-11-20"}).json()


def test_prices_and_volumes_have_four_decimals(client: APIClient) -> None:
    """2792.2 / 10 is 279.21999999999997 in binary, and 293.12 as a single is 293.1199951171875."""
    single = float(np.float32(293.12))
    days = [at("2014-11-19 00:00"), at("2014-11-20 00:00")]
    store_candles("NSE:SBIN", "1d", flat_candles(days, [2792.2, single]))
    asked = SBIN | {"timeframe": "1d"}
    assert client.get(PATH, asked).json()["candles"][1][1:] == [293.12] * 4 + [10]
    row = ActionRow("NSE:SBIN", date(2014, 11, 20), "split", 1, 10, "NSE circular")
    corporate_actions.store_actions(rows=[row], now=NOW)
    assert client.get(PATH, asked).json()["candles"][0][1:] == [279.22] * 4 + [100]
    consolidated = ActionRow("NSE:SBIN", date(2014, 11, 20), "split", 3, 1, "NSE circular")
    corporate_actions.store_actions(rows=[consolidated], now=NOW)
    assert client.get(PATH, asked).json()["candles"][0][5] == 3.3333


@pytest.mark.parametrize("timeframe", ["1d", "1w"])
def test_days_and_weeks_come_with_their_dates_in_india(client: APIClient, timeframe: str) -> None:
    """A daily bar starts at midnight in India: its time in UTC is on the day before."""
    mondays = [at("2024-01-22 00:00"), at("2024-01-29 00:00")]
    store_candles("NSE:SBIN", timeframe, flat_candles(mondays, [100.0, 101.0]))
    answer = client.get(PATH, SBIN | {"timeframe": timeframe}).json()
    assert [candle[0][:10] for candle in answer["candles"]] == ["2024-01-21", "2024-01-28"]
    assert answer["dates"] == ["2024-01-22", "2024-01-29"]
    empty = client.get(PATH, SBIN | {"timeframe": timeframe, "from": "2025-01-01"}).json()
    assert empty["dates"] == []
    assert "dates" not in client.get(PATH, SBIN | {"timeframe": "4h"}).json()


def test_a_symbol_without_bars_gives_an_empty_list(client: APIClient) -> None:
    assert client.get(PATH, SBIN).json()["candles"] == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"symbol": ""}, "symbol"),
        ({"symbol": "SBIN"}, "symbol"),
        ({"symbol": "NSE:sbin"}, "symbol"),
        ({"timeframe": ""}, "timeframe"),
        ({"timeframe": "3m"}, "timeframe"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2024-02-30"}, "from"),
        ({"from": "2024-01-31T09:15:00"}, "from"),
        ({"to": "9999-12-31"}, "to"),
        ({"to": "9999-12-31T23:59:59Z"}, "to"),
        ({"to": ""}, "to"),
        ({"from": "2024-02-01", "to": "2024-01-01"}, "to"),
        ({"limit": "0"}, "limit"),
        ({"limit": "5001"}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"adjusted": "yes"}, "adjusted"),
    ],
)
def test_a_bad_parameter_is_named(client: APIClient, change: dict[str, str], field: str) -> None:
    assert_error(client.get(PATH, SBIN | change), 400, "VALIDATION_ERROR", field=field)


@pytest.mark.parametrize("missing", ["symbol", "timeframe"])
def test_symbol_and_timeframe_are_required(client: APIClient, missing: str) -> None:
    given = {name: value for name, value in SBIN.items() if name != missing}
    assert_error(client.get(PATH, given), 400, "VALIDATION_ERROR", field=missing)


def test_an_unknown_timeframe_lists_the_known_timeframes(client: APIClient) -> None:
    allowed = ["1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w"]
    response = client.get(PATH, SBIN | {"timeframe": "2h"})
    assert_error(response, 400, "VALIDATION_ERROR", value="2h", allowedValues=allowed)


def test_a_token_is_needed(api: Api) -> None:
    assert_error(api().get(PATH, SBIN), 401, "UNAUTHORIZED")


def test_candles_cannot_be_changed_here(client: APIClient) -> None:
    assert_error(client.delete(PATH), 405, "VALIDATION_ERROR", reason="method_not_allowed")
