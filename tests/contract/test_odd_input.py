"""Odd but good requests: accepted as they are, or with the odd part ignored."""

import importlib
import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import resolve
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from tests import make
from tests.conftest import Api
from tests.contract.rows.row import (
    ALGORITHMS,
    BACKTESTS,
    JSON,
    SEARCH,
    SIGN_UP,
    VALIDATE,
    complete,
    with_at,
)
from tests.error_responses import assert_error
from tests.symbols.instruments import equity

Send = Callable[..., Any]
ODD_NAMES = (
    "<script>alert(1)</script>",  # C13
    "Robert'); DROP TABLE x;--",  # C14
    "%s%n{0}${jndi:ldap://x}",  # C15
    "\U0001f600" * 100,  # C16: characters are counted, not bytes
)
ELSEWHERE = {
    "D01 to D37 a malformed symbol to be checked": (
        "api.test_validate_symbol.test_a_malformed_symbol_is_invalid_with_a_reason"
    ),
    "E21 an object of another user": "contract.test_isolation.test_objects_of_others_do_not_exist",
    "G45 a key with another body": "api.test_idempotency.test_a_key_with_another_body_is_refused",
    "G46 a key while the first call runs": (
        "api.test_idempotency.test_a_request_that_waits_too_long_for_the_first_gets_retry_after"
    ),
    "G47 a key of another user or path": (
        "api.test_idempotency.test_a_key_belongs_to_a_user_and_a_path"
    ),
    "H01 to H06 no bearer token": "api.test_profile.test_no_bearer_token_is_unauthorized",
    "H07, H09 to H15 a malformed token": "api.test_profile.test_a_malformed_token_is_invalid",
    "H08 the scheme in lower case": "api.test_profile.test_the_case_of_the_scheme_does_not_count",
    "H16 to H29 odd headers of a token": (
        "api.test_profile.test_a_token_with_another_header_is_invalid"
    ),
    "H30, H31, H33 a changed token": (
        "api.test_profile.test_a_token_with_any_changed_character_is_invalid"
    ),
    "H32 another key's token": "api.test_profile.test_a_token_of_another_key_is_invalid",
    "H34 past its time": "api.test_profile.test_a_token_past_its_time_is_expired",
    "H35 a claim that is missing": "api.test_profile.test_a_claim_that_is_missing_is_refused",
    "H36 to H41, H48 odd claims, well signed": (
        "api.test_profile.test_odd_claims_are_refused_however_well_signed"
    ),
    "H42 a refresh token for access": "api.test_profile.test_a_refresh_token_gives_no_access",
    "H43 an access token to refresh": "api.test_refresh.test_an_access_token_cannot_refresh",
    "H44, H45 a user who is gone or off": (
        "api.test_profile.test_a_user_who_is_switched_off_or_gone_is_unauthorized"
    ),
    "H46 a session that was logged out": (
        "api.test_log_out.test_after_a_logout_both_tokens_are_refused"
    ),
    "H47 a session ended by reuse": (
        "accounts.test_rotation.test_a_refresh_token_older_than_the_previous_one_ends_the_session"
    ),
    "H49 a token elsewhere": "api.test_profile.test_a_token_counts_nowhere_else",
    "R01 to R04 no good cookie": "api.test_refresh.test_a_refresh_without_a_good_cookie_is_refused",
    "R05 two cookies": "api.test_refresh.test_two_cookies_of_the_name_are_refused",
    "R06 an expired cookie": "api.test_refresh.test_after_seven_days_the_session_is_over",
    "R07 a cookie that was logged out": (
        "api.test_refresh.test_the_cookie_of_an_ended_session_is_refused"
    ),
    "R08 a tampered cookie": "api.test_refresh.test_a_tampered_cookie_is_refused",
    "R09 a stale header beside the cookie": (
        "api.test_refresh.test_the_authorization_header_is_ignored"
    ),
    "R10 another site": "api.test_refresh.test_another_site_cannot_refresh",
    "R11 a body": "api.test_refresh.test_the_body_is_ignored",
    "L01 both credentials of one session": (
        "api.test_log_out.test_both_credentials_of_one_session_end_it"
    ),
    "L02 the access token alone": "api.test_log_out.test_the_access_token_alone",
    "L03 of two sessions": "api.test_log_out.test_credentials_of_two_sessions_end_both",
    "L04 an expired token and a good cookie": (
        "api.test_log_out.test_an_expired_access_token_with_a_good_cookie"
    ),
    "L05, L06 the cookie alone, or with a malformed token": (
        "api.test_log_out.test_the_cookie_alone"
    ),
    "L07 logging out twice": "api.test_log_out.test_logging_out_twice_succeeds",
    "L08 an expired token alone": "api.test_log_out.test_an_expired_access_token_alone",
    "L09 a malformed token alone": "api.test_log_out.test_a_damaged_access_token_does_not_log_out",
    "L10 no credentials": "api.test_log_out.test_logging_out_without_credentials_succeeds",
    "I21 twenty at once": (
        "api.test_sign_up.test_of_twenty_concurrent_sign_ups_one_gets_the_address"
    ),
    "I30 blanks around a password": "api.test_sign_up.test_blanks_around_a_password_belong_to_it",
    "I34 unknown, wrong, switched off": (
        "api.test_log_in.test_unknown_wrong_and_disabled_get_the_same_response"
    ),
    "J01 start of a draft": (
        "api.test_start_algorithm.test_starting_a_draft_lists_its_missing_fields"
    ),
    "J02 start of an active algorithm": (
        "api.test_start_algorithm.test_an_active_algorithm_cannot_be_started_again"
    ),
    "J03 to J05 start without a step, symbols or conditions": (
        "api.test_start_algorithm.test_steps_that_are_no_longer_valid_are_refused"
    ),
    "J07 start of a failed algorithm succeeds": (
        "api.test_start_algorithm.test_a_started_algorithm_is_active"
    ),
    "J08 start of an archived algorithm": (
        "api.test_start_algorithm.test_a_missing_algorithm_is_not_found"
    ),
    "J09 start after the day's loss": (
        "api.test_start_algorithm.test_a_loss_of_today_that_has_reached_the_limit_refuses"
    ),
    "J10 start under the kill switch": (
        "api.test_kill_switch.test_while_the_switch_is_on_nothing_starts_or_resumes"
    ),
    "J12 start in live mode": "api.test_start_algorithm.test_live_mode_needs_a_broker",
    "J13 stop of an algorithm that does not run": (
        "api.test_stop_algorithm.test_an_algorithm_that_does_not_run_cannot_be_stopped"
    ),
    "J14 pause of an algorithm that is not active": (
        "api.test_pause_algorithm.test_only_an_active_algorithm_can_be_paused"
    ),
    "J11 maintenance": "core.test_maintenance.test_everything_under_api_says_when_to_come_back",
    "J33 PATCH or DELETE of a running algorithm": (
        "api.test_manage_backtest.test_a_waiting_or_running_backtest_is_neither_renamed_nor_deleted"
    ),
    "J36 a copy of a private algorithm": (
        "contract.test_isolation.test_objects_of_others_do_not_exist"
    ),
}
"""Wrong requests with their own tests."""


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_listed_tests_exist(name: str) -> None:
    module, _, function = ELSEWHERE[name].rpartition(".")
    assert callable(getattr(importlib.import_module(f"tests.{module}"), function))


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


# The body.


def test_a01_an_absent_body_is_an_empty_object_and_that_a_draft(client: APIClient) -> None:
    response = client.generic("POST", ALGORITHMS, "", JSON)
    assert (response.status_code, response.json()["status"]) == (201, "draft")


def test_a24_more_than_256_kib_are_taken(client: APIClient) -> None:
    body = json.dumps(complete()).encode() + b" " * (256 * 1024)
    assert client.generic("POST", ALGORITHMS, body, JSON).status_code == 201  # type: ignore[arg-type]  # bytes are taken too


@pytest.mark.parametrize("name", ODD_NAMES)
def test_c13_to_c16_a_name_is_stored_unchanged(client: APIClient, name: str) -> None:
    response = client.post(ALGORITHMS, {"name": name})
    assert (response.status_code, response.json()["name"]) == (201, name)
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == (JSON, "nosniff")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_c17_a_name_is_composed(client: APIClient, form: Any) -> None:
    response = client.post(ALGORITHMS, {"name": unicodedata.normalize(form, "\xe9")})
    assert (response.status_code, response.json()["name"]) == (201, "\xe9")


@pytest.mark.parametrize(
    "path",
    ["entryConditions.conditions[0].type", "entryConditions.conditions[1].value"],
)
def test_j24_j26_a_field_that_is_missing_is_never_refused(client: APIClient, path: str) -> None:
    body = with_at(path, None)
    del body["entryConditions"]["conditions"][int(path[27])][path.rpartition(".")[2]]
    response = client.post(ALGORITHMS, body)
    assert (response.status_code, response.json()["status"]) == (201, "draft")
    review = client.post(f"{ALGORITHMS}/{response.json()['id']}/validate").json()
    assert review["missingFields"] == ["entryConditions"]
    assert path in [error["field"] for error in review["errors"]]


def test_j12_live_mode_can_be_described(client: APIClient) -> None:
    response = client.post(ALGORITHMS, with_at("executionSettings.mode", "live"))
    assert (response.status_code, response.json()["status"]) == (201, "stopped")


def test_j16_j17_fields_owned_by_the_service_are_ignored(client: APIClient, bob: User) -> None:
    """A `version` is ignored too: If-Match is the way to require a state."""
    made = client.post(ALGORITHMS, complete()).json()
    owned = {
        "status": "active",
        "active": True,
        "version": 99,
        "userId": bob.pk,
        "id": "0" * 24,
        "performance": {"totalTrades": 9},
        "createdAt": "2001-01-01T00:00:00Z",
        "clonedFrom": "1" * 24,
        "lastExecution": {},
    }
    response = client.patch(f"{ALGORITHMS}/{made['id']}", owned)
    assert response.status_code == 200
    assert response.json() | {"updatedAt": ""} == made | {"updatedAt": ""}


def test_i33_a_body_gives_no_powers(api: Api) -> None:
    powers = {"role": "admin", "emailVerified": True, "id": "x", "isStaff": True, "is_staff": True}
    body = {"email": "new@example.com", "password": make.PASSWORD, "name": "New", **powers}
    user = api().post(SIGN_UP, body).json()["user"]
    assert (user["emailVerified"], len(user["id"])) == (False, 24)
    assert User.objects.get(pk=user["id"]).role == "user"


@pytest.mark.parametrize("password", ["new@example.com", "password", "12345678"])
def test_i31_no_password_is_refused_for_being_common(api: Api, password: str) -> None:
    body = {"email": "new@example.com", "password": password, "name": "New"}
    assert api().post(SIGN_UP, body).status_code == 201


def test_i18_an_address_in_another_case_is_taken(api: Api, alice: User) -> None:
    body = {"email": alice.email.upper(), "password": make.PASSWORD, "name": "Alice"}
    assert_error(api().post(SIGN_UP, body), 409, "CONFLICT")


# Symbols.


def test_d38_an_unknown_symbol_is_valid_and_can_be_saved(client: APIClient) -> None:
    """The symbol cannot be traded if a loaded list of instruments lacks it."""
    equity("NSE:TCS")
    check = client.post(VALIDATE, {"symbol": "NSE:ZZZZZZ"}).json()
    assert (check["valid"], check["tradable"]) == (True, False)
    assert client.post(ALGORITHMS, with_at("basicInfo.symbols", ["NSE:ZZZZZZ"])).status_code == 201


# Queries.


def test_f17_a_page_past_the_end_is_empty(client: APIClient) -> None:
    answer = client.get(ALGORITHMS + "?page=9999").json()
    assert (answer["data"], answer["pagination"]["page"]) == ([], 9999)


@pytest.mark.parametrize(
    "query",
    [
        "_connector=OR",
        "_negated=1",
        "userId={bob}",
        "user__email__startswith=b",
        "owner={bob}",
        "owner__email=bob@example.com",
        "format=xml",
        "format=api",
        "name=%00",
    ],
)
def test_f38_g20_an_unknown_parameter_is_ignored(
    client: APIClient, alice: User, bob: User, query: str
) -> None:
    make.algorithm(alice)
    make.algorithm(bob)
    plain, odd = client.get(ALGORITHMS), client.get(f"{ALGORITHMS}?{query.format(bob=bob.pk)}")
    assert (odd.status_code, odd.content) == (200, plain.content)


@pytest.mark.parametrize("query", ["%25", "_", "%ff", "%ED%A0%80", "%5C"])
def test_f40_f42_a_wildcard_of_the_database_is_a_character(client: APIClient, query: str) -> None:
    equity("NSE:TCS")
    response = client.get(f"{SEARCH}?query={query}")
    assert (response.status_code, response.json()) == (200, {"results": []})


# Methods and headers.


def test_e28_a_method_is_not_overridden(client: APIClient, alice: User) -> None:
    kept = make.algorithm(alice, name="Kept")
    header = {"X-HTTP-Method-Override": "DELETE", "X-Method-Override": "DELETE"}
    path = f"{ALGORITHMS}/{kept.pk}/validate"
    assert client.post(path, headers=header).status_code == 200
    assert_error(client.post(path, {"_method": "DELETE"}), 400, "VALIDATION_ERROR", field="_method")
    assert Algorithm.objects.get(pk=kept.pk).status == kept.status


@pytest.mark.parametrize("path", [ALGORITHMS, BACKTESTS, "/api/auth/profile"])
def test_e29_head_answers_as_get_without_a_body(client: APIClient, path: str) -> None:
    response = client.head(path)
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("path", [ALGORITHMS, ALGORITHMS + "/x", "/api/auth/login"])
def test_e30_options_gives_only_the_methods(api: Api, path: str) -> None:
    response = api().options(path)
    assert (response.status_code, response.content) == (204, b"")
    assert "OPTIONS" in response["Allow"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/reports/x"])
def test_pages_that_are_read_take_no_other_method(path: str) -> None:
    browser = APIClient(enforce_csrf_checks=True)
    response = browser.post(path, {})
    assert_error(response, 405, "VALIDATION_ERROR", reason="method_not_allowed")
    assert response["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("method", "accept", "status"), [("POST", "*/*", 405), ("GET", "image/png", 406)]
)
def test_errors_of_the_document_page_use_the_envelope(
    api: Api, method: str, accept: str, status: int
) -> None:
    assert_error(api().generic(method, "/docs", HTTP_ACCEPT=accept), status, "VALIDATION_ERROR")


def test_e30_options_names_head_before_the_address_was_ever_called(api: Api) -> None:
    resolve(ALGORITHMS).func.actions.pop("head", None)  # type: ignore[attr-defined]
    assert api().options(ALGORITHMS)["Allow"] == "GET, HEAD, OPTIONS, POST"


def test_e30_options_of_an_unknown_address_is_not_found(api: Api) -> None:
    assert_error(api().options("/api/nope"), 404, "NOT_FOUND")


@pytest.mark.parametrize("offered", ["x" * 129, "\x1b[31m", "a b", ""])
def test_g34_to_g36_an_id_that_might_do_harm_is_replaced(client: APIClient, offered: str) -> None:
    response = client.get(ALGORITHMS, headers={"X-Request-ID": offered})
    assert response.status_code == 200
    assert response["X-Request-ID"] not in (offered, "")
    kept = client.get(ALGORITHMS, headers={"X-Request-ID": "x" * 128})
    assert kept["X-Request-ID"] == "x" * 128


def test_g25_a_forwarded_host_is_ignored(client: APIClient) -> None:
    response = client.get(ALGORITHMS, headers={"X-Forwarded-Host": "evil.example"})
    assert response.status_code == 200


def test_g44_two_keys_arrive_joined_and_count_as_one(client: APIClient) -> None:
    for replayed in (False, True):
        response = client.post(ALGORITHMS, {}, headers={"Idempotency-Key": "one,two"})
        assert response.status_code == 201
        assert ("Idempotent-Replayed" in response) is replayed


def test_g48_a_key_counts_on_post_alone(client: APIClient, alice: User) -> None:
    path = f"{ALGORITHMS}/{make.algorithm(alice).pk}"
    for name in ("One", "Two"):
        response = client.patch(path, {"name": name}, headers={"Idempotency-Key": "k"})
        assert (response.status_code, response.json()["name"]) == (200, name)


# Its state.


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_j15_an_active_algorithm_stays_unchanged(
    client: APIClient, alice: User, method: str
) -> None:
    held = make.algorithm(alice, **make.steps())
    Algorithm.objects.filter(pk=held.pk).update(status="active", active=True)
    response = getattr(client, method)(f"{ALGORITHMS}/{held.pk}", {"name": "New"})
    assert_error(response, 403, "FORBIDDEN", algorithmId=held.pk, status="active")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_j18_a_stale_if_match(client: APIClient, alice: User, method: str) -> None:
    path = f"{ALGORITHMS}/{make.algorithm(alice).pk}"
    client.patch(path, {"name": "Later"})
    response = getattr(client, method)(path, {"name": "New"}, headers={"If-Match": '"1"'})
    assert_error(response, 412, "CONFLICT")


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_j08_j29_a_deleted_object_is_gone(client: APIClient, alice: User, method: str) -> None:
    path = f"{ALGORITHMS}/{make.algorithm(alice).pk}"
    assert client.delete(path).status_code == 204
    assert_error(getattr(client, method)(path), 404, "ALGORITHM_NOT_FOUND")


def test_j30_a_backtest_of_anothers_algorithm(client: APIClient, bob: User) -> None:
    algorithm_of_bob = make.algorithm(bob, **make.steps()).pk
    body = {"algorithmId": algorithm_of_bob, "startDate": "2024-02-01", "endDate": "2024-02-29"}
    assert_error(
        client.post(BACKTESTS, body), 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm_of_bob
    )


def test_j34_the_eleventh_backtest_in_a_window(client: APIClient, settings: Any) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "backtests": "10/d"}  # none ends meanwhile
    answers = [client.post(BACKTESTS, {}).status_code for _ in range(11)]
    assert answers == [400] * 10 + [429]


def test_i36_the_sixth_login_in_a_quarter_of_an_hour(api: Api, settings: Any) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "auth": "5/15m"}
    assert [api().post("/api/auth/login", {}).status_code for _ in range(5)] == [400] * 5
    response = api().post("/api/auth/login", {})
    seconds = int(response["Retry-After"])
    error = assert_error(response, 429, "TOO_MANY_REQUESTS", retryAfter=seconds)
    assert error["retryAfter"] == seconds
    assert {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} <= set(
        response.headers
    )
