"""Retries, idempotent writes, waits and the stream of events, with a scripted service."""

import datetime as dt
import json
from typing import Any

import httpx
import pytest

from apps.client.algotrade_client import Client, errors
from tests.client.wire import URL, scripted

LOST = httpx.ReadError("broken off")
REFUSED = httpx.ConnectError("refused")
ALGORITHM_PATH = "/api/trading/algorithms"


def good(body: object = None) -> httpx.Response:
    return httpx.Response(200, json=body if body is not None else {"balance": 1})


def refusal(status: int, code: str, retry_after: str | None = None) -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    body = {"error": {"code": code, "message": "Not now.", "status": status}}
    return httpx.Response(status, json=body, headers=headers)


def keys_of(requests: list[httpx.Request]) -> list[str | None]:
    return [request.headers.get("Idempotency-Key") for request in requests]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "TOO_MANY_REQUESTS"),
        (503, "SERVICE_UNAVAILABLE"),
        # The first request with the key is still running.
        (409, "CONFLICT"),
    ],
)
def test_a_busy_service_is_asked_again_after_its_time_with_the_same_key(
    status: int, code: str
) -> None:
    client, wire, time = scripted(refusal(status, code, "7"), refusal(status, code, "3"), good())
    client.call("POST", ALGORITHM_PATH, {"name": "A"})
    assert time.pauses == [7, 3]
    [key] = set(keys_of(wire.requests))
    assert key
    assert len({request.read() for request in wire.requests}) == 1


def test_each_write_has_a_key_of_its_own() -> None:
    client, wire, _ = scripted(good(), good())
    client.call("POST", ALGORITHM_PATH, {})
    client.call("POST", ALGORITHM_PATH, {})
    assert len(set(keys_of(wire.requests))) == 2


def test_a_caller_may_give_its_own_key() -> None:
    client, wire, _ = scripted(good())
    client.call("POST", ALGORITHM_PATH, {}, idempotency_key="mine")
    assert keys_of(wire.requests) == ["mine"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_lost_answer_is_asked_for_again(method: str) -> None:
    client, wire, time = scripted(LOST, httpx.ReadTimeout("slow"), good())
    assert client.call(method, ALGORITHM_PATH) == {"balance": 1}
    assert len(set(keys_of(wire.requests))) == 1
    assert 0 < time.pauses[0] < time.pauses[1] + 0.25


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", ALGORITHM_PATH),
        ("DELETE", ALGORITHM_PATH),
        # Without a key: a login makes a session.
        ("POST", "/api/auth/login"),
    ],
)
def test_a_write_without_a_key_is_not_repeated_when_its_answer_is_lost(
    method: str, path: str
) -> None:
    client, wire, _ = scripted(good(), LOST)
    client.call("GET", ALGORITHM_PATH)
    with pytest.raises(errors.ServiceUnreachable, match="No answer from http://testserver"):
        client.call(method, path, {})
    assert keys_of(wire.requests) == [None, None]


def test_a_request_that_was_never_sent_is_repeated() -> None:
    client, _, _ = scripted(good(), REFUSED, good())
    client.call("GET", ALGORITHM_PATH)
    assert client.call("DELETE", ALGORITHM_PATH) == {"balance": 1}


def test_patience_has_an_end() -> None:
    client, wire, time = scripted(*[refusal(503, "SERVICE_UNAVAILABLE", "5")] * 100, patience=23)
    with pytest.raises(errors.ServiceUnavailable):
        client.call("GET", ALGORITHM_PATH)
    assert sum(time.pauses) == 20
    assert len(wire.requests) == 5


def test_a_long_wait_is_refused_at_once() -> None:
    client, _, time = scripted(refusal(429, "TOO_MANY_REQUESTS", "900"))
    with pytest.raises(errors.TooManyRequests):
        client.call("POST", "/api/auth/login", {})
    assert time.pauses == []


def test_silence_ends_after_patience_and_at_a_wrong_address_at_once() -> None:
    client, _, time = scripted(good(), *[LOST] * 1000, patience=60)
    client.call("GET", ALGORITHM_PATH)
    with pytest.raises(errors.ServiceUnreachable):
        client.call("GET", ALGORITHM_PATH)
    assert 45 < sum(time.pauses) <= 60
    client, _, time = scripted(*[REFUSED] * 1000, patience=60)
    with pytest.raises(errors.ServiceUnreachable):
        client.call("GET", ALGORITHM_PATH)
    assert sum(time.pauses) <= 3


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", ""])
def test_an_address_without_a_scheme_is_refused(url: str) -> None:
    with pytest.raises(errors.ServiceUnreachable, match="must begin with http"):
        Client(url, "atk_key")


@pytest.mark.parametrize("status", [400, 404, 422, 500, 502])
def test_other_refusals_are_raised_at_once(status: int) -> None:
    client, _, time = scripted(httpx.Response(status, text="<html>"))
    with pytest.raises(errors.ApiError, match=f"answered {status}"):
        client.call("GET", ALGORITHM_PATH)
    assert time.pauses == []


def test_an_error_has_field_message_and_all_wrong_values() -> None:
    details = {
        "field": "name",
        "value": 1,
        "errors": [{"field": "name", "message": "a"}, {"field": "basicInfo", "message": "b"}],
    }
    body = {"error": {"code": "VALIDATION_ERROR", "message": "name: a", "details": details}}
    client, _, _ = scripted(httpx.Response(400, json=body))
    with pytest.raises(errors.ValidationError, match="name: a") as raised:
        client.call("POST", ALGORITHM_PATH, {})
    assert raised.value.field == "name"
    assert [error["field"] for error in raised.value.errors] == ["name", "basicInfo"]


def test_the_key_is_sent_and_never_shown() -> None:
    client, wire, _ = scripted(good())
    client.call("GET", ALGORITHM_PATH)
    assert wire.requests[0].headers["Authorization"] == "Bearer atk_key"
    assert "atk_key" not in repr(client)


# Waits.


def backtest(status: str, progress: int) -> httpx.Response:
    return good({**BACKTEST, "status": status, "progress": progress})


def waits(requests: list[httpx.Request]) -> list[str | None]:
    return [request.headers.get("Prefer") for request in requests]


BACKTEST: dict[str, Any] = {
    "id": "6a0ec3f1b2d4e5f60718293a",
    "algorithmId": "6a0ec3f1b2d4e5f60718293b",
    "algorithmVersion": 1,
    "name": "",
    "kind": "backtest",
    "estimatedSeconds": 1.5,
    "startDate": "2026-04-08",
    "endDate": "2026-06-30",
    "symbols": ["NSE:RELIANCE"],
    "timeframe": "5m",
    "initialCapital": 1_000_000,
    "config": None,
    "performance": None,
    "results": None,
    "error": {"code": "INSUFFICIENT_DATA", "message": "Too few bars."},
    "createdAt": "2026-11-20T04:15:00.000Z",
    "startedAt": None,
    "completedAt": None,
    "kept": False,
    "expiresAt": None,
    "receipt": None,
    "warnings": [],
    "breakdowns": None,
    "fieldOfANewerService": 1,
}


def test_waiting_lets_the_service_hold_its_answer_and_reports_progress() -> None:
    answers = [backtest("queued", 0), backtest("running", 40), backtest("completed", 100)]
    client, wire, time = scripted(*answers)
    seen: list[int] = []
    ended = client.backtests.wait(BACKTEST["id"], progress=lambda now: seen.append(now.progress))
    assert (ended.status, seen) == ("completed", [0, 40, 100])
    assert waits(wire.requests) == ["wait=2"] * 3
    # The script answers at once, as a service does where too many wait.
    assert time.pauses == [1, 1]


def test_waiting_without_progress_asks_twice_a_minute() -> None:
    client, wire, _ = scripted(backtest("running", 0), backtest("completed", 100))
    client.backtests.wait(BACKTEST["id"])
    assert waits(wire.requests) == ["wait=30"] * 2


@pytest.mark.parametrize(("status", "words"), [("failed", "Too few bars"), ("cancelled", "")])
def test_a_backtest_without_a_result_is_an_error(status: str, words: str) -> None:
    client, _, _ = scripted(backtest(status, 10))
    with pytest.raises(errors.BacktestNotCompleted, match=f"{status}.*{words}"):
        client.backtests.wait(BACKTEST["id"])


def test_waiting_ends_after_its_seconds() -> None:
    client, _, time = scripted(*[backtest("running", 0)] * 20)
    with pytest.raises(errors.BacktestNotCompleted, match="running"):
        client.backtests.wait(BACKTEST["id"], seconds=5)
    assert sum(time.pauses) == 5


# Events.


def stream(*messages: str) -> httpx.Response:
    return httpx.Response(200, content="".join(f"{message}\n\n" for message in messages).encode())


def message(position: int, **data: str) -> str:
    return f"id: {position}\nevent: trade.executed\ndata: {json.dumps(data, ensure_ascii=False)}"


def test_a_lost_stream_continues_after_its_last_event() -> None:
    """A line separator inside of the data is no end of a line."""
    text = "a\u2028b\x85c"
    first = stream("retry: 2000\nid: 41", ":", message(42, name=text), "event: account\ndata: {}")
    client, wire, time = scripted(first, LOST, stream(message(43, name="later")))
    events = client.events(symbols=["NSE:TCS", "NSE:INFY"])
    assert [(event.position, event.type) for event in (next(events), next(events))] == [
        (42, "trade.executed"),
        (None, "account"),
    ]
    assert next(events).data == {"name": "later"}
    assert [request.headers.get("Last-Event-ID") for request in wire.requests] == [None, "42", "42"]
    assert wire.requests[0].url.params["symbols"] == "NSE:TCS,NSE:INFY"
    assert time.pauses[0] == 1


def test_an_event_has_its_text_unchanged() -> None:
    text = "a\u2028b\x85c"
    client, _, _ = scripted(stream(message(1, name=text)))
    assert next(client.events()).data == {"name": text}


def test_a_stream_with_a_wrong_key_is_refused() -> None:
    client, _, _ = scripted(refusal(401, "UNAUTHORIZED"))
    with pytest.raises(errors.Unauthorized):
        next(client.events())


def test_a_stream_begins_after_a_position() -> None:
    client, wire, _ = scripted(stream(message(8)))
    next(client.events(last=7))
    assert wire.requests[0].headers["Last-Event-ID"] == "7"


# Requests.


def test_moments_are_sent_in_utc_and_need_a_zone() -> None:
    india = dt.timezone(dt.timedelta(hours=5, minutes=30))
    client, wire, _ = scripted(httpx.Response(200, content=b"time\n"))
    at = dt.datetime(2026, 4, 9, 10, 30, tzinfo=india)
    client.market.candles_csv("NSE:TCS", "5m", start=at, end=dt.date(2026, 4, 10))
    query = dict(wire.requests[0].url.params)
    assert (query["from"], query["to"], query["whole"]) == (
        "2026-04-09T05:00:00Z",
        "2026-04-10",
        "true",
    )
    with pytest.raises(ValueError, match="no time zone"):
        client.market.candles_csv("NSE:TCS", "5m", start=at.replace(tzinfo=None))


def test_a_client_may_be_closed_by_a_block() -> None:
    client, _, _ = scripted(good())
    with client as opened:
        assert opened.call("GET", "/api/trading/account") == {"balance": 1}
    with pytest.raises(RuntimeError, match="closed"):
        client.call("GET", "/api/trading/account")
    assert URL in repr(client)
