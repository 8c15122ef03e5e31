"""GET /api/trading/indicators"""

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.core.api.resources import examples_of
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.patterns import PATTERNS
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/trading/indicators"
LONGER = ["3m", "5m", "10m", "15m", "30m", "1h", "75m", "2h", "4h", "1d", "1w"]


def test_the_document_shows_rows_of_the_list(api: Api, alice: User) -> None:
    rows = {row["type"]: row for row in all_indicators(api(alice))}
    shown = examples_of("algorithms")["CataloguePage"]["Example"]
    assert [rows[row["type"]] for row in shown["data"]] == shown["data"]
    patterns = api(alice).get(PATH).json()["candlePatterns"]
    assert [row for row in shown["candlePatterns"] if row not in patterns] == []


def test_an_indicator_lists_its_parameters_and_their_ranges(api: Api, alice: User) -> None:
    rows = {row["type"]: row for row in all_indicators(api(alice))}
    assert rows["EMA"] == {
        "type": "EMA",
        "description": "Exponential moving average",
        "parameters": [
            {"name": "period", "type": "integer", "default": 20, "minimum": 2, "maximum": 1000}
        ],
        "outputs": [
            {
                "name": "value",
                "mirror": "same",
                "opposite": "value",
                "minimum": None,
                "maximum": None,
            }
        ],
        "sources": ["close", "open", "high", "low", "volume", "hl2", "hlc3", "ohlc4"],
        "offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": 500},
        "opposite": "EMA",
        "timeframes": LONGER,
    }
    assert [parameter["name"] for parameter in rows["MACD"]["parameters"]] == [
        "fastPeriod",
        "slowPeriod",
        "signalPeriod",
    ]
    assert [output["name"] for output in rows["MACD"]["outputs"]] == ["macd", "signal", "histogram"]
    assert rows["SUPERTREND"]["parameters"][1]["type"] == "number"
    assert rows["MA"]["parameters"][1]["allowedValues"][:2] == ["SMA", "EMA"]
    (rsi,), (atr,) = rows["RSI"]["outputs"], rows["ATR"]["outputs"]
    assert (rsi["minimum"], rsi["maximum"]) == (0, 100)
    assert (atr["minimum"], atr["maximum"]) == (0, None)
    assert (rows["ATR"]["sources"], rows["MAX"]["opposite"]) == ([], "MIN")


def all_indicators(client: APIClient) -> list[dict[str, Any]]:
    pages = [client.get(PATH, {"limit": 100, "page": page}).json() for page in (1, 2)]
    return [row for page in pages for row in page["data"]]


def test_the_whole_catalogue_is_listed_in_pages(api: Api, alice: User) -> None:
    client = api(alice)
    assert [row["type"] for row in all_indicators(client)] == list(CATALOGUE)
    body = client.get(PATH, {"page": 3}).json()
    total = len(CATALOGUE)
    assert body["pagination"] == {
        "page": 3,
        "limit": 20,
        "total": total,
        "totalPages": -(-total // 20),
    }
    assert client.get(PATH, {"page": 99}).json()["data"] == []


def test_every_listed_indicator_can_be_used(api: Api, alice: User) -> None:
    client = api(alice)
    conditions = []
    for row in all_indicators(client):
        indicator = {"type": row["type"], "output": row["outputs"][-1]["name"]}
        indicator |= {item["name"]: item["default"] for item in row["parameters"]}
        conditions.append(
            {"type": "indicator_value", "indicator": indicator, "operator": "above", "value": 1}
        )
    for begin in range(0, len(conditions), 20):
        entry = {"positionType": "long", "conditions": conditions[begin : begin + 20]}
        answer = client.post("/api/trading/algorithms", make.steps(entryConditions=entry)).json()
        assert answer["status"] == "stopped", answer


def test_every_page_lists_the_candle_patterns_and_all_can_be_used(api: Api, alice: User) -> None:
    client = api(alice)
    rows = client.get(PATH).json()["candlePatterns"]
    assert client.get(PATH, {"page": 99}).json()["candlePatterns"] == rows
    assert [row["pattern"] for row in rows] == list(PATTERNS)
    assert rows[list(PATTERNS).index("CDLHAMMER")] == {
        "pattern": "CDLHAMMER",
        "description": "Hammer",
        "directions": ["bullish"],
        "opposite": "CDLSHOOTINGSTAR",
    }
    conditions = [
        {"type": "candle_pattern", "pattern": row["pattern"]} | direction_fields
        for row in rows
        for direction_fields in [{}, *({"direction": direction} for direction in row["directions"])]
    ]
    groups = [
        {"type": "group", "logicalOperator": "OR", "conditions": conditions[begin : begin + 20]}
        for begin in range(0, len(conditions), 20)
    ]
    entry = {"positionType": "long", "conditions": groups}
    answer = client.post("/api/trading/algorithms", make.steps(entryConditions=entry)).json()
    assert answer.get("status") == "stopped", answer


def test_the_list_queries_only_the_session(api: Api, alice: User) -> None:
    client = api(alice)
    with CaptureQueriesContext(connection) as queries:
        client.get(PATH)
    assert len(queries) == 1  # the session with its user


def test_a_query_outside_its_set_is_refused(api: Api, alice: User) -> None:
    assert_error(api(alice).get(f"{PATH}?limit=0"), 400, "VALIDATION_ERROR", field="limit")


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().get(PATH), 401, "UNAUTHORIZED")
