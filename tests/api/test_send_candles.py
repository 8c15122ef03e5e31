"""POST /api/market/candles"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.core.models import AuditRecord
from apps.market.feeds import clock
from apps.market.models import BufferedCandle, CandleChunk
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import NOW, at, flat_candles, rising_minutes, store_candles

PATH = "/api/market/candles"
BAR = ["2026-10-30T03:45:00Z", 100, 101.5, 99.95, 100.5, 1200]


@pytest.fixture
def operator(api: Api) -> APIClient:
    user = make.user("olga")
    User.objects.filter(pk=user.pk).update(is_staff=True)
    return api(user)


def sent(*candles: Any, **fields: Any) -> dict[str, Any]:
    return {"symbol": "NSE:SBIN", "timeframe": "1m", "candles": list(candles)} | fields


def test_bars_that_are_sent_are_read(operator: APIClient) -> None:
    later = ["2026-10-30T03:46:00Z", *BAR[1:]]
    answer = operator.post(PATH, sent(later, BAR, ["2199-01-01T03:45:00Z", *BAR[1:]])).json()
    assert (answer["received"], answer["added"], answer["outOfOrder"]) == (3, 2, 1)
    assert answer["refused"] == [
        {"index": 2, "time": "2199-01-01T03:45:00.000Z", "reason": "not_closed"}
    ]
    read = operator.get(PATH, {"symbol": "NSE:SBIN", "timeframe": "1m"}).json()
    assert [candle[1:] for candle in read["candles"]] == [BAR[1:], later[1:]]
    assert read["candles"][0][0] == "2026-10-30T03:45:00.000Z"


def test_a_bar_may_be_of_1990_01_01_and_of_no_earlier_day(operator: APIClient) -> None:
    days = {"symbol": "NSE:SBIN", "timeframe": "1d"}
    for day, status in (("1990-01-01", 200), ("1989-12-31", 400)):
        answer = operator.post(PATH, days | {"candles": [[day, 1, 1, 1, 1, 0]]})
        assert answer.status_code == status, answer.content
    span = {"from": "1990-01-01", "to": "1990-01-01"}
    assert len(operator.get(PATH, days | span).json()["candles"]) == 1


def day(date: str, price: float = 100) -> list[Any]:
    return [date, price, price, price, price, 5]


@pytest.mark.parametrize("many", [False, True])
def test_bars_in_the_range_of_a_sample_conflict_unless_replacement_is_allowed(
    operator: APIClient, *, many: bool
) -> None:
    generated = flat_candles([at(f"2026-06-{date} 00:00") for date in (29, 30)])
    store_candles("NSE:SBIN", "1d", generated, synthetic=True)
    store_candles("NSE:SBIN", "1m", rising_minutes("2026-06-30 09:15", 5), synthetic=True)

    def post(*candles: Any, **options: Any) -> Any:
        body: dict[str, Any] = {"symbol": "NSE:SBIN", "candles": list(candles)}
        body = {"series": [body]} if many else body
        response = operator.post(PATH, {**body, "timeframe": "1d", **options})
        answer = response.json()
        return response, answer["series"][0] if "series" in answer else answer

    def kept() -> list[Any]:
        rows = operator.get("/api/market/coverage", {"symbol": "NSE:SBIN"}).json()["timeframes"]
        return [(row["timeframe"], row["bars"], row.get("generatedUntil")) for row in rows]

    minutes = ("1m", 5, "2026-06-30T03:49:00.000Z")
    refused, _ = post(day("2026-06-30"), day("2026-07-01"))
    error = assert_error(refused, 409, "CONFLICT")
    assert error["details"]["samples"] == ["NSE:SBIN 1d (until 30 June 2026, 00:00 IST)"]
    assert kept() == [minutes, ("1d", 2, "2026-06-29T18:30:00.000Z")]
    _, answer = post(day("2026-07-01"))
    assert (answer["added"], answer["sampleDropped"]) == (1, 0)
    assert kept() == [minutes, ("1d", 3, "2026-06-29T18:30:00.000Z")]
    _, answer = post(day("2026-06-30"), replaceSample=True)
    assert (answer["added"], answer["sampleDropped"]) == (1, 2)
    assert kept() == [minutes, ("1d", 2, None)]


def test_only_operators_may_send_candles(api: Api, alice: User) -> None:
    assert_error(api(alice).post(PATH, sent(BAR)), 403, "FORBIDDEN")
    assert not BufferedCandle.objects.exists()


def test_invalid_candles_refuse_the_call_and_each_is_named(operator: APIClient) -> None:
    faults = {
        "candles[0]": BAR[:5],
        "candles[1]": "2026-10-30",
        "candles[2][1]": [BAR[0], 0, *BAR[2:]],
        "candles[3][4]": [*BAR[:4], True, 5],
        "candles[4][5]": [*BAR[:5], -1],
        "candles[5]": [BAR[0], 100, 100, 99, 101, 5],
        "candles[6][0]": ["2026-10-30T03:45:00", *BAR[1:]],
        "candles[7][0]": [1793353500, *BAR[1:]],
        "candles[8][0]": ["1989-12-29", *BAR[1:]],
        "candles[9][0]": ["9999-12-31T23:59:00-23:59", *BAR[1:]],
    }
    answer = operator.post(PATH, sent(*faults.values(), BAR))
    error = assert_error(answer, 400, "VALIDATION_ERROR")
    assert [fault["field"] for fault in error["details"]["errors"]] == list(faults)
    assert_error(operator.post(PATH, sent()), 400, "VALIDATION_ERROR", field="candles")
    assert_error(operator.post(PATH, sent(*[BAR] * 5001)), 400, "VALIDATION_ERROR")
    for field, value in {"symbol": "SBIN", "timeframe": "2m", "bars": []}.items():
        answer = operator.post(PATH, sent(BAR, **{field: value}))
        assert_error(answer, 400, "VALIDATION_ERROR", field=field)
    assert not BufferedCandle.objects.exists()


def test_five_thousand_at_once_are_taken(operator: APIClient) -> None:
    bars = [
        [f"20{y:02}-{m:02}-{d:02}", *BAR[1:]]
        for y in range(9, 25)
        for m in range(1, 13)
        for d in range(1, 28)
    ][:5000]
    answer = operator.post(PATH, sent(*bars, timeframe="1d")).json()
    assert (answer["received"], answer["added"]) == (5000, 5000)
    assert CandleChunk.objects.count() == 3


def test_one_call_takes_bars_of_many_symbols(operator: APIClient) -> None:
    symbols = [f"NSE:S{n}" for n in range(100)]
    series = [{"symbol": symbol, "candles": [BAR]} for symbol in symbols]
    of_one_symbol, many = (
        statements_of(operator, {"timeframe": "1m", "series": part})
        for part in (series[:1], series[1:])
    )
    assert of_one_symbol == many
    answer = operator.post(PATH, {"timeframe": "1m", "series": series}).json()
    assert [series["symbol"] for series in answer["series"]] == symbols
    assert {(series["received"], series["repeated"]) for series in answer["series"]} == {(1, 1)}
    assert BufferedCandle.objects.count() == 100
    record = AuditRecord.objects.filter(action="candles_received").order_by("pk")[1]
    assert (record.details["symbols"], record.details["added"]) == (symbols[1:], 99)


def statements_of(client: APIClient, body: dict[str, Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.post(PATH, body).status_code == 200
    return len(queries)


def test_either_all_symbols_are_stored_or_none(operator: APIClient) -> None:
    good = {"symbol": "NSE:SBIN", "candles": [BAR]}
    faults = {
        "series[1].symbol": {"candles": [BAR]},
        "series[2].candles[0][1]": {"symbol": "NSE:TCS", "candles": [[BAR[0], 0, *BAR[2:]]]},
        "series[3].symbol": good,
        "series[4].candles": {"symbol": "NSE:INFY", "candles": []},
        "series[5].symbol": {"symbol": "TCS", "candles": [BAR]},
        "series[6]": "NSE:TCS",
    }
    answer = operator.post(PATH, {"timeframe": "1m", "series": [good, *faults.values()]})
    error = assert_error(answer, 400, "VALIDATION_ERROR")
    assert [fault["field"] for fault in error["details"]["errors"]] == [*faults]
    for series in ([], [good] * 101, [{"symbol": "NSE:SBIN", "candles": [BAR] * 5001}]):
        answer = operator.post(PATH, {"timeframe": "1m", "series": series})
        assert_error(answer, 400, "VALIDATION_ERROR")
    assert not BufferedCandle.objects.exists()


def test_the_call_waits_while_history_is_replayed(operator: APIClient) -> None:
    clock.move(at("2026-10-30 09:15"), symbols=["NSE:SBIN"], timeframe="1m", now=NOW)
    error = assert_error(operator.post(PATH, sent(BAR)), 409, "CONFLICT")
    assert error["details"]["marketTime"] == "2026-10-30T03:45:00.000Z"
    assert clock.end_replay()
    assert operator.post(PATH, sent(BAR)).json()["added"] == 1
