"""Idempotency-Key on every POST outside /api/auth"""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.login import services as accounts
from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest
from apps.core.api.resources import idempotency
from apps.core.models import IdempotencyKey
from tests import make, openapi
from tests.alerts.hooks import hook_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles
from tests.webhooks.events import endpoint_of

PATH = "/api/backtests"
Post = Callable[..., Any]


@pytest.fixture
def body(alice: User) -> dict[str, Any]:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    algorithm = make.algorithm(alice, **make.steps())
    return {"algorithmId": algorithm.pk, "startDate": "2024-02-01", "endDate": "2024-02-29"}


@pytest.fixture
def post(api: Api, alice: User) -> Post:
    client = api(alice)

    def send(path: str, body: object = None, *, key: str | None) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return client.post(path, body, headers=headers)

    return send


def test_a_repeated_request_is_executed_once_and_gets_the_same_answer(
    post: Post, body: dict[str, Any]
) -> None:
    first, again = post(PATH, body, key="k"), post(PATH, body, key="k")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert first["X-Request-ID"] != again["X-Request-ID"]
    assert Backtest.objects.count() == 1


def test_the_order_of_keys_in_the_body_does_not_matter(post: Post, body: dict[str, Any]) -> None:
    post(PATH, body, key="k")
    again = post(PATH, dict(reversed(body.items())), key="k")
    assert again["Idempotent-Replayed"] == "true"


def test_an_absent_body_equals_an_empty_one(post: Post, body: dict[str, Any]) -> None:
    backtest = post(PATH, body, key=None).json()["id"]
    first = post(f"{PATH}/{backtest}/cancel", key="k")
    again = post(f"{PATH}/{backtest}/cancel", {}, key="k")
    assert first.content == again.content
    assert again.status_code == 200


def test_without_a_key_every_request_counts(post: Post, body: dict[str, Any]) -> None:
    for key in (None, None, "a", "b"):
        assert post(PATH, body, key=key).status_code == 201
    assert Backtest.objects.count() == 4


def test_a_key_with_another_body_is_refused(post: Post, body: dict[str, Any]) -> None:
    post(PATH, body, key="k")
    other = post(PATH, {**body, "name": "Other"}, key="k")
    assert_error(other, 422, "UNPROCESSABLE_ENTITY")
    assert post(PATH, body, key="k")["Idempotent-Replayed"] == "true"


def test_a_key_belongs_to_a_user_and_a_path(
    api: Api, post: Post, bob: User, body: dict[str, Any]
) -> None:
    backtest = post(PATH, body, key="k").json()["id"]
    assert post(f"{PATH}/{backtest}/cancel", {}, key="k").json()["status"] == "cancelled"
    answer_to_bob = api(bob).post(PATH, body, headers={"Idempotency-Key": "k"})
    assert_error(answer_to_bob, 404, "ALGORITHM_NOT_FOUND")


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "a\tb"])
def test_a_bad_key_is_refused(post: Post, body: dict[str, Any], key: str) -> None:
    response = post(PATH, body, key=key)
    assert_error(response, 400, "VALIDATION_ERROR", field="Idempotency-Key")
    assert not Backtest.objects.exists()


def test_a_refusal_of_the_operation_is_stored_too(post: Post, body: dict[str, Any]) -> None:
    unknown = {**body, "algorithmId": "0" * 24}
    first, again = post(PATH, unknown, key="k"), post(PATH, unknown, key="k")
    error = assert_error(first, 404, "ALGORITHM_NOT_FOUND")
    assert again.status_code == 404
    assert again["Idempotent-Replayed"] == "true"
    assert again.json()["error"] == error  # the request id inside stays the first one's


@pytest.mark.parametrize("status", [400, 429, 503, 500])
def test_a_request_that_did_not_begin_is_not_stored(
    post: Post, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    refusals = {429: services.TooManyQueued(limit=1), 503: services.QueueFull(), 500: ValueError()}

    def refuse(**arguments: object) -> None:
        raise refusals[status]

    with monkeypatch.context() as patched:
        if status != 400:
            patched.setattr(services, "submit", refuse)
        bad = {**body, "slippage": 99} if status == 400 else body
        assert post(PATH, bad, key="k").status_code == status
    assert not IdempotencyKey.objects.exists()
    assert post(PATH, body, key="k").status_code == 201


def test_after_a_day_a_key_is_free_again(post: Post, body: dict[str, Any]) -> None:
    first = post(PATH, body, key="k")
    IdempotencyKey.objects.update(expires_at=timezone.now() + timedelta(seconds=1))
    assert post(PATH, body, key="k")["Idempotent-Replayed"] == "true"
    IdempotencyKey.objects.update(expires_at=timezone.now())
    later = post(PATH, {**body, "name": "Other"}, key="k")
    assert (later.status_code, "Idempotent-Replayed" in later) == (201, False)
    assert later.json()["id"] != first.json()["id"]
    assert IdempotencyKey.objects.get().expires_at > timezone.now() + timedelta(hours=23)


@pytest.mark.django_db(transaction=True)
def test_of_many_concurrent_requests_with_one_key_one_is_executed(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    clients = [api(alice) for _ in range(10)]

    def send(n: int) -> tuple[int, bytes, bool]:
        try:
            answer = clients[n].post(PATH, body, headers={"Idempotency-Key": "k"})
            return answer.status_code, answer.content, "Idempotent-Replayed" in answer
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(send, range(10)))
    assert {(status, content) for status, content, _ in answers} == {(201, answers[0][1])}
    assert sum(not replayed for *_, replayed in answers) == 1
    assert Backtest.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_request_that_waits_too_long_for_the_first_gets_retry_after(
    api: Api, alice: User, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "WAIT", "50ms")
    submit, seen = services.submit, []
    second = api(alice)

    def slow(**arguments: Any) -> Backtest:
        def ask() -> HttpResponse:
            try:
                return second.post(PATH, body, headers={"Idempotency-Key": "k"})
            finally:
                connection.close()

        with ThreadPoolExecutor(1) as pool:
            seen.append(pool.submit(ask).result())
        return submit(**arguments)

    monkeypatch.setattr(services, "submit", slow)
    assert api(alice).post(PATH, body, headers={"Idempotency-Key": "k"}).status_code == 201
    assert_error(seen[0], 409, "CONFLICT", retryAfter=1)
    assert seen[0]["Retry-After"] == "1"


# Answers that hold a secret.

WEBHOOK = {"url": "https://hooks.example.com/", "events": ["algorithm.error"]}
BODIES: dict[str, dict[str, Any]] = {
    "/api/webhooks": WEBHOOK,
    "/api/trading/alert-hooks": {"name": "Breakouts", "format": "json"},
}
SECRETS = [
    "/api/webhooks",
    "/api/webhooks/{webhook}/rotate-secret",
    "/api/backtests/{backtest}/report-link",
    "/api/trading/alert-hooks",
    "/api/trading/alert-hooks/{hook}/rotate-secret",
]
SHOWS_A_SECRET = re.compile(r"schemas/(WebhookWithSecret|ReportLink|AlertHookWithAddress)\b")


@pytest.fixture
def secret_call(alice: User, body: dict[str, Any], request: Any) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of a call that answers with a secret."""
    webhook = endpoint_of(alice).pk
    backtest = submit(alice)
    Backtest.objects.filter(pk=backtest.pk).update(status="completed", performance={})
    path: str = request.param.format(webhook=webhook, backtest=backtest.pk, hook=hook_of(alice).pk)
    return path, BODIES.get(path, {})


def key_of(user: User) -> APIClient:
    client = APIClient()
    _, text = accounts.create_key(
        user=user,
        name="robot",
        scopes=[KeyScope.TRADE, KeyScope.BACKTEST],
        expires_at=None,
        now=timezone.now(),
    )
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


@pytest.mark.parametrize("secret_call", SECRETS, indirect=True)
def test_a_secret_is_repeated_only_to_its_credential(
    api: Api, alice: User, secret_call: tuple[str, dict[str, Any]]
) -> None:
    path, sent = secret_call
    answers = []
    for client in (api(alice), api(alice), key_of(alice), key_of(alice)):
        first, again = (
            client.post(path, sent, format="json", headers={"Idempotency-Key": "k"})
            for _ in range(2)
        )
        assert first.status_code in (200, 201), first.content
        assert "Idempotent-Replayed" not in first
        assert again["Idempotent-Replayed"] == "true"
        assert again.content == first.content
        answers.append(first.content)
    assert len(set(answers)) == len(answers)


def test_all_tokens_and_the_cookie_of_a_session_are_one_credential(alice: User) -> None:
    client = APIClient()
    login = {"email": alice.email, "password": make.PASSWORD, "sessionCookie": True}
    first = client.post("/api/auth/login", login, format="json").json()["accessToken"]
    renewed = client.post("/api/auth/refresh-token").json()["accessToken"]
    headers = {"Idempotency-Key": "k"}
    by_cookie = client.post("/api/webhooks", WEBHOOK, format="json", headers=headers)
    for token in (first, renewed):
        by_token = APIClient().post(
            "/api/webhooks",
            WEBHOOK,
            format="json",
            headers={**headers, "Authorization": f"Bearer {token}"},
        )
        assert by_token.content == by_cookie.content
        assert by_token["Idempotent-Replayed"] == "true"


def test_an_answer_without_a_secret_is_repeated_to_all_credentials_of_the_user(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    for number, client in enumerate((api(alice), api(alice), key_of(alice))):
        answer = client.post(PATH, body, format="json", headers={"Idempotency-Key": "k"})
        assert answer.status_code == 201
        assert ("Idempotent-Replayed" in answer) == (number > 0)


def test_every_call_with_a_secret_response_is_tested_here() -> None:
    document = openapi.document()
    with_secret = {
        path
        for path, methods in document["paths"].items()
        for operation in [methods.get("post", {})]
        if any(
            parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", [])
        )
        and SHOWS_A_SECRET.search(json.dumps(operation["responses"]))
    }
    assert {re.sub(r"{\w+}", "{}", path) for path in with_secret} == {
        re.sub(r"{\w+}", "{}", path) for path in SECRETS
    }
