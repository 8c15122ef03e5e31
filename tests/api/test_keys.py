"""GET, POST and DELETE /api/auth/keys, and the calls that a key allows"""

import hashlib
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.login import services
from apps.accounts.models import ApiKey, User
from apps.core.limits.quotas import QuotaExceeded
from apps.core.times import wire_time
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/auth/keys"
GOOD = {"name": "Night runner", "scopes": ["read", "trade"]}
KeyClient = Callable[..., APIClient]


def new_key(
    user: User, scopes: Collection[KeyScope] = tuple(KeyScope), **more: Any
) -> tuple[ApiKey, str]:
    arguments = {"name": "A key", "expires_at": None, "now": timezone.now()} | more
    return services.create_key(user=user, scopes=list(scopes), **arguments)


@pytest.fixture
def with_key(api: Api) -> KeyClient:
    """Return a client that sends this text as its bearer token."""

    def client(text: str) -> APIClient:
        made = api()
        made.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
        return made

    return client


# Create.


def test_a_key_is_shown_once(api: Api, alice: User) -> None:
    client = api(alice)
    response = client.post(PATH, GOOD)
    assert response.status_code == 201
    body = response.json()
    text = body.pop("key")
    assert text.startswith("atk_")
    assert len(text) == 47
    assert body == {
        "id": body["id"],
        "name": "Night runner",
        "scopes": ["read", "trade"],
        "lastFour": text[-4:],
        "createdAt": body["createdAt"],
        "lastUsedAt": None,
        "lastAddress": None,
        "expiresAt": body["expiresAt"],
        "networks": [],
    }
    listed = client.get(PATH)
    assert listed.json()["data"] == [body]
    assert text not in listed.content.decode()


def test_only_its_hash_is_stored(alice: User) -> None:
    key, text = new_key(alice)
    assert key.digest == hashlib.sha256(text.encode()).hexdigest()
    for field in ApiKey._meta.concrete_fields:
        assert text not in str(getattr(key, field.attname))


def test_scopes_are_stored_in_their_order(api: Api, alice: User) -> None:
    body = api(alice).post(PATH, GOOD | {"scopes": ["backtest", "read"]}).json()
    assert body["scopes"] == ["read", "backtest"]


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        ("203.0.113.0/24", "203.0.113.0/24"),
        ("203.0.113.7", "203.0.113.7/32"),
        ("2001:DB8::/32", "2001:db8::/32"),
        ("::ffff:203.0.113.0/120", "203.0.113.0/24"),
    ],
)
def test_a_key_is_accepted_only_from_its_networks(
    api: Api, with_key: KeyClient, alice: User, sent: str, answered: str
) -> None:
    body = api(alice).post(PATH, GOOD | {"networks": [sent]}).json()
    assert body["networks"] == [answered]
    client = with_key(body["key"])
    home = "2001:db8::1" if ":" in answered else "203.0.113.7"
    assert client.get("/api/trading/algorithms", REMOTE_ADDR=home).status_code == 200
    for elsewhere in ("198.51.100.1", "2001:db9::1"):
        refused = client.get("/api/trading/algorithms", REMOTE_ADDR=elsewhere)
        assert_error(refused, 401, "UNAUTHORIZED")
    assert ApiKey.objects.get().last_address == home


@pytest.mark.parametrize("network", ["203.0.113.7/24", "fe80::1%eth0", "", "localhost", 5, None])
def test_an_invalid_network_is_refused_by_its_place(api: Api, alice: User, network: object) -> None:
    response = api(alice).post(PATH, GOOD | {"networks": ["127.0.0.1", network]})
    assert_error(response, 400, "VALIDATION_ERROR", field="networks[1]")


@pytest.mark.parametrize("zone", ["Z", "+00:00", "+05:30"])
def test_an_expiry_is_given_in_utc(api: Api, alice: User, zone: str) -> None:
    body = api(alice).post(PATH, GOOD | {"expiresAt": f"2999-12-31T18:30:00{zone}"}).json()
    hour = "13:00" if zone == "+05:30" else "18:30"
    assert body["expiresAt"] == f"2999-12-31T{hour}:00.000Z"


@pytest.mark.parametrize(
    "moment",
    [
        "",
        "tomorrow",
        "2999-12-31",
        "2999-12-31T00:00:00",
        32503680000,
        True,
        ["2999"],
        {},
        "2020-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
    ],
)
def test_an_expiry_lies_in_the_future(api: Api, alice: User, moment: object) -> None:
    response = api(alice).post(PATH, GOOD | {"expiresAt": moment})
    assert_error(response, 400, "VALIDATION_ERROR", field="expiresAt")
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("scopes", "field"),
    [
        (None, "scopes"),
        ("read", "scopes"),
        ({}, "scopes"),
        ([], "scopes"),
        (["read", "trade", "backtest", "read"], "scopes"),
        (["READ"], "scopes[0]"),
        (["read", "admin"], "scopes[1]"),
        (["read", "read"], "scopes[1]"),
        ([{}], "scopes[0]"),
        ([None], "scopes[0]"),
        ([["read"]], "scopes[0]"),
    ],
)
def test_bad_scopes_are_refused(api: Api, alice: User, scopes: object, field: str) -> None:
    response = api(alice).post(PATH, GOOD | {"scopes": scopes})
    assert_error(response, 400, "VALIDATION_ERROR", field=field)
    assert not ApiKey.objects.exists()


def test_the_refusal_lists_the_scopes(api: Api, alice: User) -> None:
    response = api(alice).post(PATH, GOOD | {"scopes": ["admin"]})
    allowed = ["read", "trade", "backtest"]
    assert_error(response, 400, "VALIDATION_ERROR", value="admin", allowedValues=allowed)


@pytest.mark.parametrize("name", [None, "", " ", "x" * 101, "a\nb", 5])
def test_a_bad_name_is_refused(api: Api, alice: User, name: object) -> None:
    assert_error(
        api(alice).post(PATH, GOOD | {"name": name}), 400, "VALIDATION_ERROR", field="name"
    )


def test_name_and_scopes_are_required(api: Api, alice: User) -> None:
    error = assert_error(api(alice).post(PATH, {}), 400, "VALIDATION_ERROR")
    assert [fault["field"] for fault in error["details"]["errors"]] == ["name", "scopes"]


def test_there_are_only_so_many(api: Api, alice: User, bob: User) -> None:
    for _ in range(20):
        last, _ = new_key(alice)
    assert_error(api(alice).post(PATH, GOOD), 422, "UNPROCESSABLE_ENTITY", limit=20)
    assert api(bob).post(PATH, GOOD).status_code == 201
    services.revoke_key(user=alice, key_id=last.pk, now=timezone.now())
    assert api(alice).post(PATH, GOOD).status_code == 201


def test_expired_keys_do_not_count(api: Api, alice: User) -> None:
    past = timezone.now() - timedelta(days=2)
    for _ in range(20):
        new_key(alice, now=past, expires_at=past + timedelta(days=1))
    assert api(alice).post(PATH, GOOD).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_keys_made_at_the_same_moment_count_each_other() -> None:
    user = make.user("racer")
    for _ in range(20 - 1):
        new_key(user)
    ready = Barrier(8)

    def create(number: int) -> bool:
        ready.wait()
        try:
            new_key(user)
        except QuotaExceeded:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1


def test_the_database_knows_the_scopes(alice: User) -> None:
    key, _ = new_key(alice)
    for scopes in ([], ["read", "admin"]):
        with (
            transaction.atomic(),
            pytest.raises(IntegrityError, match="a_key_has_known_scopes"),
        ):
            ApiKey.objects.filter(pk=key.pk).update(scopes=scopes)


# List, revoke.


def test_a_revoked_key_is_refused_at_once(api: Api, with_key: KeyClient, alice: User) -> None:
    key, text = new_key(alice)
    client = with_key(text)
    assert client.get("/api/trading/algorithms").status_code == 200
    response = api(alice).delete(f"{PATH}/{key.pk}")
    assert (response.status_code, response.content) == (204, b"")
    refused = client.get("/api/trading/algorithms")
    assert_error(refused, 401, "UNAUTHORIZED")
    assert refused["WWW-Authenticate"] == "Bearer"
    assert api(alice).get(PATH).json()["data"] == []


@pytest.mark.parametrize("key_id", ["0" * 24, "x", "%00"])
def test_an_unknown_key_is_not_found(api: Api, alice: User, key_id: str) -> None:
    assert_error(api(alice).delete(f"{PATH}/{key_id}"), 404, "NOT_FOUND")


def test_foreign_and_revoked_are_not_found(api: Api, alice: User, bob: User) -> None:
    client, (key, _), (key_of_bob, _) = api(alice), new_key(alice), new_key(bob)
    client.delete(f"{PATH}/{key.pk}")
    for row in (key, key_of_bob):
        assert_error(client.delete(f"{PATH}/{row.pk}"), 404, "NOT_FOUND")
    key_of_bob.refresh_from_db()
    assert key_of_bob.revoked_at is None


def test_the_list_is_paged_newest_first_and_has_only_the_users_keys(
    api: Api, alice: User, bob: User
) -> None:
    now = timezone.now()
    made = [new_key(alice, now=now - timedelta(days=age))[0].pk for age in (3, 2, 1)]
    new_key(bob)
    body = api(alice).get(PATH, {"limit": 2}).json()
    assert [row["id"] for row in body["data"]] == [made[2], made[1]]
    assert body["pagination"] == {"page": 1, "limit": 2, "total": 3, "totalPages": 2}


# The calls that a key allows.


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("get", "/api/trading/algorithms", "read"),
        ("get", "/api/backtests", "read"),
        ("get", "/api/symbols/search?query=T", "read"),
        ("post", "/api/symbols/validate", "read"),
        ("post", "/api/trading/algorithms/validate", "read"),
        ("post", "/api/trading/algorithms", "trade"),
        ("patch", f"/api/trading/algorithms/{'0' * 24}", "trade"),
        ("delete", f"/api/trading/algorithms/{'0' * 24}", "trade"),
        ("post", "/api/market/candles", "trade"),
        ("post", "/api/backtests", "backtest"),
        ("patch", f"/api/backtests/{'0' * 24}", "backtest"),
        ("delete", f"/api/backtests/{'0' * 24}", "backtest"),
        ("post", f"/api/backtests/{'0' * 24}/cancel", "backtest"),
    ],
)
def test_each_call_needs_one_scope(
    with_key: KeyClient, alice: User, method: str, path: str, scope: str
) -> None:
    call_command("seed_symbols", verbosity=0)
    User.objects.filter(pk=alice.pk).update(is_staff=True)  # whom bars are taken from
    _, good = new_key(alice, [KeyScope(scope)])
    _, other = new_key(alice, [other for other in KeyScope if other != scope])
    assert getattr(with_key(good), method)(path).status_code not in (401, 403)
    refused = getattr(with_key(other), method)(path)
    assert_error(refused, 403, "FORBIDDEN", requiredScope=scope)


def test_a_key_reads_only_the_data_of_its_owner(
    with_key: KeyClient, alice: User, bob: User
) -> None:
    algorithm, algorithm_of_bob = make.algorithm(alice), make.algorithm(bob)
    client = with_key(new_key(alice)[1])
    listed = [row["id"] for row in client.get("/api/trading/algorithms").json()["data"]]
    assert listed == [algorithm.pk]
    assert_error(
        client.get(f"/api/trading/algorithms/{algorithm_of_bob.pk}"), 404, "ALGORITHM_NOT_FOUND"
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/api/auth/profile"),
        ("patch", "/api/auth/profile"),
        ("post", "/api/auth/logout"),
        ("post", "/api/auth/password"),
        ("get", "/api/auth/sessions"),
        ("delete", "/api/auth/sessions"),
        ("get", PATH),
        ("post", PATH),
        ("delete", f"{PATH}/{'0' * 24}"),
    ],
)
def test_a_key_cannot_use_account_calls(
    with_key: KeyClient, alice: User, method: str, path: str
) -> None:
    response = getattr(with_key(new_key(alice)[1]), method)(path)
    assert_error(response, 401, "INVALID_TOKEN")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_key_past_its_expiry_is_expired(with_key: KeyClient, alice: User) -> None:
    past = timezone.now() - timedelta(days=2)
    _, text = new_key(alice, now=past, expires_at=past + timedelta(days=1))
    assert_error(with_key(text).get("/api/trading/algorithms"), 401, "TOKEN_EXPIRED")


def test_a_key_before_its_expiry_is_valid(api: Api, with_key: KeyClient, alice: User) -> None:
    soon = wire_time(timezone.now() + timedelta(minutes=1))
    text = api(alice).post(PATH, GOOD | {"expiresAt": soon}).json()["key"]
    assert with_key(text).get("/api/trading/algorithms").status_code == 200


def test_a_disabled_user_cannot_use_a_key(with_key: KeyClient, alice: User) -> None:
    _, text = new_key(alice)
    User.objects.update(is_active=False)
    assert_error(with_key(text).get("/api/trading/algorithms"), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "atk_",
        lambda t: t[:-1],
        lambda t: t + "x",
        lambda t: t.upper(),
        lambda t: "atk_" + "x" * 60_000,
        lambda t: "atk_\xff",
    ],
)
def test_a_malformed_key_is_invalid(
    with_key: KeyClient, alice: User, change: Callable[[str], str]
) -> None:
    text = change(new_key(alice)[1])
    assert_error(with_key(text).get("/api/trading/algorithms"), 401, "INVALID_TOKEN")


def test_one_query_finds_the_owner(
    alice: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    _, text = new_key(alice)
    now = timezone.now()
    services.authenticate(bearer=text, path="/api/backtests", now=now)
    with django_assert_num_queries(1):
        key = services.authenticate(bearer=text, path="/api/backtests", now=now)
        assert key.user == alice
    assert ApiKey.objects.get().last_used_at == now


def test_a_new_password_leaves_keys_valid(with_key: KeyClient, api: Api, alice: User) -> None:
    _, text = new_key(alice)
    body = {"currentPassword": make.PASSWORD, "newPassword": "another password"}
    api(alice).post("/api/auth/password", body)
    assert with_key(text).get("/api/trading/algorithms").status_code == 200
