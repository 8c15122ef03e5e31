"""The quotas of a user."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.login import services as accounts
from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.core.limits.quotas import QuotaExceeded
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles
from tests.trading.algorithm_states import algorithm_in

ALGORITHMS = "/api/trading/algorithms"


@pytest.fixture(autouse=True)
def small(settings: Settings) -> None:
    settings.QUOTAS = dict.fromkeys(settings.QUOTAS, 2)


def used(api: Api, user: User) -> dict[str, int]:
    limits = api(user).get("/api/auth/limits").json()["limits"]
    assert {usage["limit"] for usage in limits} == {2}
    return {usage["resource"]: usage["used"] for usage in limits}


def test_the_response_gives_the_usage(api: Api, alice: User, bob: User) -> None:
    assert set(used(api, alice).values()) == {0}
    make.algorithm(alice)
    make.algorithm(bob)
    api(alice).post("/api/auth/keys", {"name": "A key", "scopes": ["read"]})
    known = used(api, alice)
    assert (known["algorithms"], known["keys"], known["webhooks"]) == (1, 1, 0)


def test_one_algorithm_more_than_the_limit_is_refused(api: Api, alice: User) -> None:
    client = api(alice)
    first, _ = (client.post(ALGORITHMS, {}).json()["id"] for _ in range(2))
    for refused in (client.post(ALGORITHMS, {}), client.post(f"{ALGORITHMS}/{first}/clone")):
        assert_error(refused, 422, "UNPROCESSABLE_ENTITY", resource="algorithms", limit=2, used=2)
    assert client.delete(f"{ALGORITHMS}/{first}").status_code == 204
    assert client.post(ALGORITHMS, {}).status_code == 201


def test_deleted_webhooks_and_hooks_and_revoked_keys_take_no_room(api: Api, alice: User) -> None:
    client = api(alice)
    for number in range(3):
        webhook = {"url": f"https://hooks.example.com/{number}", "events": ["algorithm.error"]}
        made = client.post("/api/webhooks", webhook).json()["id"]
        assert client.delete(f"/api/webhooks/{made}").status_code == 204
        hook = {"name": "Breakouts", "format": "json"}
        made = client.post("/api/trading/alert-hooks", hook).json()["id"]
        assert client.delete(f"/api/trading/alert-hooks/{made}").status_code == 204
        key = client.post("/api/auth/keys", {"name": "A key", "scopes": ["read"]}).json()["id"]
        assert client.delete(f"/api/auth/keys/{key}").status_code == 204
    assert set(used(api, alice).values()) == {0}


def test_versions_of_an_algorithm_are_limited(
    api: Api, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithms, "MOST_VERSIONS", 2)
    client, algorithm = api(alice), make.algorithm(alice, **make.steps())
    path = f"{ALGORITHMS}/{algorithm.pk}"
    risk = make.steps()["riskParameters"]
    statuses = [
        client.patch(path, {"riskParameters": {**risk, "maxOpenPositions": most}}).status_code
        for most in (4, 5)
    ]
    assert statuses == [200, 422]
    algorithm.refresh_from_db()
    assert (algorithm.version, algorithm.risk_parameters["maxOpenPositions"]) == (2, 4)
    assert client.patch(path, {"name": "Another name"}).status_code == 200


def test_active_algorithms_are_limited(api: Api, alice: User, settings: Settings) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "algorithms": 9, "activeAlgorithms": 1}
    algorithm_in(alice, "active")
    stopped = algorithm_in(alice, "stopped")
    refused = api(alice).post(f"{ALGORITHMS}/{stopped.pk}/start")
    assert_error(refused, 422, "UNPROCESSABLE_ENTITY", resource="activeAlgorithms")


@pytest.mark.parametrize("resource", ["backtests", "backtestBytes"])
def test_backtests_are_limited_by_number_and_size(
    api: Api, alice: User, settings: Settings, resource: str
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    algorithm = make.algorithm(alice, **make.steps())
    submit(alice, algorithm.pk)
    settings.QUOTAS = {**settings.QUOTAS, resource: used(api, alice)[resource]}
    with pytest.raises(QuotaExceeded):
        submit(alice, algorithm.pk)


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_keys_one_is_stored(settings: Settings) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "keys": 1}
    user, ready = make.user("racer"), Barrier(2)

    def create(_: int) -> bool:
        ready.wait()
        try:
            accounts.create_key(user=user, name="A key", scopes=["read"], now=timezone.now())
        except QuotaExceeded:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(create, range(2))) == [False, True]
    assert not Algorithm.objects.exists()
