"""POST /api/trading/algorithms/<id>/start"""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core import audit, database
from apps.market.services import FeedKind, FeedPlan, begin_feed
from apps.symbols.models import Type
from apps.trading import services
from apps.trading.models import Account, KillSwitch, Run
from apps.webhooks.models import Event
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.symbols.instruments import equity
from tests.trading.algorithm_states import algorithm_in, hold, lose, start, stop, stopped_algorithm

PATH = "/api/trading/algorithms"
OLGA = audit.Actor(audit.ActorKind.OPERATOR, "0" * 24)


def post(api: Api, owner: User, algorithm: Algorithm | str, body: object = None) -> Any:
    algorithm_id = algorithm if isinstance(algorithm, str) else algorithm.pk
    return api(owner).post(f"{PATH}/{algorithm_id}/start", body)


@pytest.mark.parametrize("status", ["stopped", "error"])
def test_a_started_algorithm_is_active(api: Api, alice: User, status: str) -> None:
    algorithm, client = algorithm_in(alice, status), api(alice)
    response = client.post(f"{PATH}/{algorithm.pk}/start")
    assert response.status_code == 200
    answer = response.json()
    assert (answer["id"], answer["status"], answer["active"]) == (algorithm.pk, "active", True)
    shown = client.get(f"{PATH}/{algorithm.pk}")
    assert shown.json().items() <= answer.items()
    assert response["ETag"] == shown["ETag"]
    [listed] = client.get(PATH, {"status": "active"}).json()["data"]
    assert (listed["id"], listed["active"]) == (algorithm.pk, True)


def test_a_start_creates_a_run_with_the_current_steps(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice, initialCapital=250_000.5)
    post(api, alice, algorithm)
    run = Run.objects.get()
    assert (run.algorithm, run.algorithm_version, run.mode) == (algorithm, 1, "paper")
    assert run.configuration == algorithm.configuration
    assert (run.capital, run.ended_at, run.released_at) == (Decimal("250000.50"), None, None)
    assert abs(run.started_at - timezone.now()) < timedelta(minutes=1)


def test_a_start_reserves_the_initial_capital(api: Api, alice: User) -> None:
    post(api, alice, stopped_algorithm(alice))
    post(api, alice, stopped_algorithm(alice, initialCapital=0.5))
    account = Account.objects.get(owner=alice)
    assert (account.balance, account.reserved) == (Decimal(10_000_000), Decimal("1000000.50"))


def test_a_start_is_in_the_history_and_emits_an_event(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice)
    post(api, alice, algorithm)
    change = algorithm.status_changes.latest("id")
    assert (change.before, change.after, change.actor) == ("stopped", "active", alice.pk)
    event = Event.objects.get()
    assert (event.type, event.owner, event.sequence) == ("algorithm.started", alice, 1)
    assert event.data == {
        "algorithmId": algorithm.pk,
        "algorithmName": algorithm.name,
        "runId": Run.objects.get().pk,
        "status": "active",
        "previousStatus": "stopped",
        "reason": "started",
    }


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""]
)
def test_an_empty_body_may_be_of_any_type(api: Api, alice: User, content_type: str) -> None:
    algorithm = stopped_algorithm(alice)
    response = api(alice).generic(
        "POST", f"{PATH}/{algorithm.pk}/start", "", content_type=content_type
    )
    assert response.status_code == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"mode": "live"}'])
def test_a_body_with_fields_is_refused(api: Api, alice: User, body: bytes) -> None:
    algorithm = stopped_algorithm(alice)
    response = api(alice).generic(
        "POST",
        f"{PATH}/{algorithm.pk}/start",
        body,  # type: ignore[arg-type]  # bytes are taken too
        content_type="application/json",
    )
    assert_error(response, 400, "VALIDATION_ERROR")
    assert not Run.objects.exists()


# Refusals


@pytest.mark.parametrize("algorithm_id", ["x", "0" * 24, "theirs", "archived"])
def test_a_missing_algorithm_is_not_found(
    api: Api, alice: User, bob: User, algorithm_id: str
) -> None:
    ids = {"theirs": stopped_algorithm(bob).pk, "archived": algorithm_in(alice, "archived").pk}
    wanted = ids.get(algorithm_id, algorithm_id)
    response = post(api, alice, wanted)
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=wanted)
    assert not Account.objects.exists()


def test_an_active_algorithm_cannot_be_started_again(api: Api, alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    response = post(api, alice, algorithm)
    assert_error(response, 422, "ALGORITHM_ALREADY_ACTIVE", algorithmId=algorithm.pk)
    assert Run.objects.count() == 1


def test_starting_a_draft_lists_its_missing_fields(api: Api, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps(entryConditions={}, riskParameters={}))
    response = post(api, alice, algorithm)
    assert_error(
        response,
        422,
        "UNPROCESSABLE_ENTITY",
        currentStatus="draft",
        requiredStatus="stopped",
        missingFields=["entryConditions", "riskParameters"],
    )


def test_a_paused_algorithm_must_be_resumed(api: Api, alice: User) -> None:
    response = post(api, alice, algorithm_in(alice, "paused"))
    assert_error(
        response,
        422,
        "UNPROCESSABLE_ENTITY",
        currentStatus="paused",
        requiredStatus="stopped",
        missingFields=[],
    )


@pytest.mark.parametrize(
    ("column", "value", "missing"),
    [
        ("risk_parameters", {"maxPositionSize": -1}, ["riskParameters"]),
        (
            "execution_settings",
            {"mode": "paper", "exchange": "LSE", "orderType": "market"},
            ["executionSettings"],
        ),
        (
            "basic_info",
            {"strategyType": "momentum", "timeframe": "15m", "symbols": []},
            ["basicInfo"],
        ),
    ],
)
def test_steps_that_are_no_longer_valid_are_refused(
    api: Api, alice: User, column: str, value: object, missing: list[str]
) -> None:
    algorithm = stopped_algorithm(alice)
    Algorithm.objects.filter(pk=algorithm.pk).update(**{column: value})
    response = post(api, alice, algorithm)
    assert_error(response, 422, "ALGORITHM_INCOMPLETE", missingFields=missing)


def test_a_symbol_that_cannot_be_traded_is_named(api: Api, alice: User) -> None:
    equity("NSE:TCS", enabled=False, sample=True)
    steps = make.steps()
    steps["basicInfo"]["symbols"] = ["NSE:NIFTY", "NSE:TCS"]
    response = post(api, alice, make.algorithm(alice, **steps))
    error = assert_error(response, 400, "INVALID_SYMBOL", symbol="NSE:TCS")
    assert "switched off" in error["message"]


def test_on_paper_an_index_is_started_with_a_warning(api: Api, alice: User) -> None:
    equity("NSE:NIFTY", type=Type.INDEX)
    [warning, _] = post(api, alice, stopped_algorithm(alice)).json()["warnings"]
    assert warning["field"] == "basicInfo.symbols[0]"
    assert "NSE:NIFTY is an index" in warning["message"]


def test_a_start_warns_if_no_feed_brings_prices(api: Api, alice: User) -> None:
    [warning] = post(api, alice, stopped_algorithm(alice)).json()["warnings"]
    assert warning["field"] == "basicInfo.symbols"
    assert warning["message"].startswith("No feed brings prices now.")


def test_an_algorithm_without_an_index_has_no_warning(api: Api, alice: User) -> None:
    begin_feed(
        FeedPlan(kind=FeedKind.LIVE, symbols=["NSE:NIFTY"], timeframe="1m"), now=database.now()
    )
    assert post(api, alice, stopped_algorithm(alice)).json()["warnings"] == []


def test_an_index_cannot_be_traded_live(api: Api, alice: User) -> None:
    equity("NSE:NIFTY", type=Type.INDEX)
    response = post(api, alice, stopped_algorithm(alice, mode="live"))
    assert_error(response, 400, "INVALID_SYMBOL", symbol="NSE:NIFTY")


@pytest.mark.parametrize(("loss", "status"), [(9_999, 200), (10_000, 403), (10_001, 403)])
def test_a_loss_of_today_that_has_reached_the_limit_refuses(
    api: Api, alice: User, loss: int, status: int
) -> None:
    algorithm = stopped_algorithm(alice)
    lose(algorithm, loss, now=timezone.now())
    response = post(api, alice, algorithm)
    assert response.status_code == status
    if status == 403:
        assert_error(response, 403, "DAILY_LOSS_LIMIT", dailyLoss=loss, limit=10_000)


def test_a_breach_holds_even_if_the_limit_is_raised_afterwards(api: Api, alice: User) -> None:
    risk = {**make.steps()["riskParameters"], "maxDailyLoss": 50_000}
    algorithm = make.algorithm(alice, **make.steps(riskParameters=risk))
    lose(algorithm, 12_000, now=timezone.now(), breached=True)
    response = post(api, alice, algorithm)
    assert_error(response, 403, "DAILY_LOSS_LIMIT", dailyLoss=12_000, limit=10_000)


def test_a_loss_of_another_day_does_not_count(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice)
    lose(algorithm, 50_000, now=timezone.now() - timedelta(days=1), breached=True)
    lose(algorithm_in(alice, "stopped"), 50_000, now=timezone.now(), breached=True)
    assert post(api, alice, algorithm).status_code == 200


@pytest.mark.parametrize(
    ("left", "code", "details"),
    [
        (1, "UNPROCESSABLE_ENTITY", {"openPositions": 1, "reason": "positions_open"}),
        (3, "POSITION_LIMIT_REACHED", {"openPositions": 3, "maxOpenPositions": 3}),
    ],
)
def test_positions_that_an_earlier_run_has_left_refuse(
    api: Api, alice: User, left: int, code: str, details: dict[str, object]
) -> None:
    algorithm = stopped_algorithm(alice)
    run = start(algorithm)
    for n in range(left):
        hold(run, f"NSE:A{n}")
    stop(algorithm, close_positions=False)
    assert_error(post(api, alice, algorithm), 422, code, **details)


def test_more_capital_than_is_available_is_refused(api: Api, alice: User) -> None:
    start(stopped_algorithm(alice, initialCapital=6_000_000))
    response = post(api, alice, stopped_algorithm(alice, initialCapital=4_000_000.01))
    assert_error(
        response, 422, "INSUFFICIENT_BALANCE", required=4_000_000.01, available=4_000_000.0
    )
    assert post(api, alice, stopped_algorithm(alice, initialCapital=4_000_000)).status_code == 200


def test_live_mode_needs_a_broker(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice, mode="live", broker="zerodha")
    response = post(api, alice, algorithm)
    assert_error(response, 503, "BROKER_CONNECTION_FAILED", broker="zerodha")
    assert int(response["Retry-After"]) > 0
    assert not Run.objects.exists()
    assert not Account.objects.exists()


def test_errors_follow_the_order_of_the_checks(api: Api, alice: User) -> None:
    """Everything is wrong at once; each reported error is corrected before the next attempt."""
    algorithm = stopped_algorithm(alice, mode="live", initialCapital=20_000_000)
    run = start_on_paper(algorithm)
    hold(run)
    stop(algorithm, close_positions=False)
    row = equity("NSE:NIFTY", enabled=False)
    lost = lose(algorithm, 10_000, now=timezone.now())
    services.engage_kill_switch(owner=alice, reason="", close_positions=False, now=make.NOW)
    services.engage_global_switch(operator=OLGA, reason="", now=make.NOW)
    risk = algorithm.risk_parameters
    rows = Algorithm.objects.filter(pk=algorithm.pk)
    rows.update(status="draft", risk_parameters={})

    def refused(status: int, code: str, **details: object) -> None:
        assert_error(post(api, alice, algorithm), status, code, **details)

    refused(422, "UNPROCESSABLE_ENTITY", currentStatus="draft", missingFields=["riskParameters"])
    rows.update(status="stopped")
    refused(422, "ALGORITHM_INCOMPLETE", missingFields=["riskParameters"])
    rows.update(risk_parameters=risk)
    refused(403, "FORBIDDEN", reason="kill_switch")
    services.release_kill_switch(owner=alice, now=make.NOW)
    refused(503, "SERVICE_UNAVAILABLE", reason="global_kill_switch")
    services.release_global_switch(operator=OLGA, reason="", now=make.NOW)
    refused(400, "INVALID_SYMBOL", symbol="NSE:NIFTY")
    row.enabled = True
    row.save()
    refused(403, "DAILY_LOSS_LIMIT", dailyLoss=10_000)
    lost.delete()
    refused(422, "UNPROCESSABLE_ENTITY", reason="positions_open")
    Run.objects.all().delete()
    Account.objects.update(reserved=0)
    refused(422, "INSUFFICIENT_BALANCE", required=20_000_000, available=10_000_000)
    rows.update(execution_settings={**algorithm.execution_settings, "initialCapital": 1})
    refused(503, "BROKER_CONNECTION_FAILED")
    rows.update(
        execution_settings={**algorithm.execution_settings, "initialCapital": 1, "mode": "paper"}
    )
    assert post(api, alice, algorithm).status_code == 200
    refused(422, "ALGORITHM_ALREADY_ACTIVE")


def start_on_paper(algorithm: Algorithm) -> Run:
    """Start an algorithm written for live trading, with paper mode at first."""
    written = algorithm.execution_settings
    rows = Algorithm.objects.filter(pk=algorithm.pk)
    rows.update(execution_settings={**written, "mode": "paper", "initialCapital": 1})
    run = start(algorithm)
    rows.update(execution_settings=written)
    return run


def test_a_refused_start_changes_nothing(api: Api, alice: User) -> None:
    algorithm = stopped_algorithm(alice, mode="live")
    before = Algorithm.objects.filter(pk=algorithm.pk).values().get()
    post(api, alice, algorithm)
    assert Algorithm.objects.filter(pk=algorithm.pk).values().get() == before
    assert not Event.objects.exists()
    assert not KillSwitch.objects.exists()
    assert algorithm.status_changes.count() == 1


# Idempotency-Key


def test_a_repeated_start_happens_once(api: Api, alice: User) -> None:
    algorithm, client = stopped_algorithm(alice), api(alice)
    headers = {"Idempotency-Key": "k"}
    first, again = (client.post(f"{PATH}/{algorithm.pk}/start", headers=headers) for _ in "12")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.content == again.content
    assert again["Idempotent-Replayed"] == "true"
    assert (Run.objects.count(), Event.objects.count()) == (1, 1)
    other = client.post(f"{PATH}/{algorithm.pk}/start", headers={"Idempotency-Key": "l"})
    assert_error(other, 422, "ALGORITHM_ALREADY_ACTIVE")


def test_a_stored_refusal_is_replayed_though_its_cause_is_gone(api: Api, alice: User) -> None:
    algorithm, client = stopped_algorithm(alice), api(alice)
    services.engage_kill_switch(owner=alice, reason="", close_positions=False, now=make.NOW)
    path, headers = f"{PATH}/{algorithm.pk}/start", {"Idempotency-Key": "k"}
    assert_error(client.post(path, headers=headers), 403, "FORBIDDEN")
    services.release_kill_switch(owner=alice, now=make.NOW)
    assert client.post(path, headers=headers)["Idempotent-Replayed"] == "true"
    assert client.post(path, headers={"Idempotency-Key": "l"}).status_code == 200


# Refusals by an active algorithm


@pytest.mark.parametrize("verb", ["put", "patch", "delete"])
def test_an_active_algorithm_cannot_be_changed(api: Api, alice: User, verb: str) -> None:
    algorithm = algorithm_in(alice, "active")
    response = getattr(api(alice), verb)(f"{PATH}/{algorithm.pk}", {})
    assert_error(response, 403, "FORBIDDEN", algorithmId=algorithm.pk, status="active")
