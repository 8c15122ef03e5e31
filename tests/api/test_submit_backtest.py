"""POST /api/backtests"""

import json
from datetime import date, datetime
from typing import Any

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.serializers import AlgorithmBodySerializer
from apps.backtests import services
from apps.backtests.models import Backtest
from apps.backtests.running import estimates, queue
from apps.backtests.running.submissions import ends_in_future, read_date_range
from apps.core.requests import long_poll
from apps.engine.candles import Candles
from apps.engine.kernel.reasons import CHARGE_KINDS
from apps.engine.results.table import METRICS
from apps.symbols.services import seed_sample
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles
from tests.symbols.instruments import future

PATH = "/api/backtests"
RANGE = {"startDate": "2024-02-01", "endDate": "2024-02-29"}


@pytest.fixture
def history(db: None) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))


@pytest.fixture
def body(alice: User) -> dict[str, Any]:
    return {"algorithmId": make.algorithm(alice, **make.steps()).pk, **RANGE}


def test_a_backtest_fails_in_a_year_without_known_holidays_if_positions_end_with_the_day(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    store_candles("MCX:GOLD", "15m", wave_candles("2019-01-01", 45))
    client = api(alice)
    body = {**body, "symbols": ["MCX:GOLD"], "startDate": "2019-02-01", "endDate": "2019-02-28"}
    id = client.post(PATH, body).json()["id"]
    assert run_queued() == 1
    assert client.get(f"{PATH}/{id}").json()["error"] == {
        "code": "UNPROCESSABLE_ENTITY",
        "message": "The hours of MCX:GOLD on 2019-02-01 are not known, and this strategy squares"
        " off positions at the end of the session.",
    }


@pytest.mark.usefixtures("history")
def test_charges_come_from_the_rulebook_unless_switched_off(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    """NSE:NIFTY is charged as a share bought and sold within the day."""
    client = api(alice)
    ids = [client.post(PATH, {**body, "charges": c}).json()["id"] for c in ("standard", "none")]
    assert run_queued() == 2
    standard, none = (client.get(f"{PATH}/{id}").json() for id in ids)
    paid = standard["performance"]["chargesByKind"]
    assert sum(paid.values()) == pytest.approx(standard["performance"]["charges"], abs=1e-6)
    turnover = paid["sebiFee"] / 1e-6
    assert turnover > 100_000
    assert paid["transactionTax"] == pytest.approx(turnover / 2 * 0.00025, rel=0.05)
    assert none["performance"]["charges"] == 0
    assert set(none["performance"]["chargesByKind"].values()) == {0}
    assert [note["code"] for note in none["receipt"]["notes"]] == ["no_charges"]


@pytest.mark.usefixtures("history")
def test_an_index_is_simulated_without_charges_and_a_note_names_a_future_to_trade(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    seed_sample()
    future("NSE:NIFTY24MARFUT", expiry=date(2024, 3, 28), underlying="NIFTY")
    client = api(alice)
    id = client.post(PATH, body).json()["id"]
    assert run_queued() == 1
    done = client.get(f"{PATH}/{id}").json()
    assert done["performance"]["totalTrades"] > 3
    assert done["performance"]["charges"] == 0
    notes = {note["code"]: note["message"] for note in done["receipt"]["notes"]}
    assert list(notes) == ["index_traded", "no_charges"]
    assert "which cannot be traded" in notes["index_traded"]
    assert "such as NSE:NIFTY24MARFUT" in notes["index_traded"]


def test_each_later_sale_of_shares_pays_the_brokers_depository_charge(
    api: Api, alice: User
) -> None:
    store_candles("NSE:SBIN", "15m", wave_candles("2024-01-01", 45))
    settings = make.steps()["executionSettings"] | {"productType": "delivery", "broker": "zerodha"}
    entries = make.steps()["entryConditions"] | {"positionType": "long"}
    algorithm = make.algorithm(
        alice, **make.steps(executionSettings=settings, entryConditions=entries)
    )
    client = api(alice)
    body = {"algorithmId": algorithm.pk, **RANGE, "symbols": ["NSE:SBIN"]}
    id = client.post(PATH, body).json()["id"]
    assert run_queued() == 1
    paid = client.get(f"{PATH}/{id}").json()["performance"]["chargesByKind"]
    trades = client.get(f"{PATH}/{id}/trades?limit=100").json()["data"]
    overnight = [trade for trade in trades if trade["entryTime"][:10] < trade["exitTime"][:10]]
    assert len(trades) > len(overnight) > 1
    assert paid["depositoryCharge"] == pytest.approx(13.5 * len(overnight))
    assert sum(paid.values()) == pytest.approx(sum(trade["charges"] for trade in trades))


@pytest.mark.usefixtures("history")
def test_a_range_may_start_on_1990_01_01_and_no_earlier(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    answer = api(alice).post(PATH, {**body, "startDate": "1990-01-01"})
    assert answer.status_code == 201, answer.content
    answer = api(alice).post(PATH, {**body, "startDate": "1989-12-31"})
    assert_error(answer, 400, "VALIDATION_ERROR", field="startDate", value="1989-12-31")


@pytest.mark.usefixtures("history")
def test_an_end_in_the_future_is_a_warning(
    api: Api, alice: User, body: dict[str, Any], settings: Any
) -> None:
    settings.BACKTEST_MIN_COVERAGE = 0  # the range has ever more sessions that are not held
    client = api(alice)
    created = client.post(PATH, body | {"endDate": "2098-12-31"}).json()
    (warning,) = created["warnings"]
    assert warning["field"] == "endDate"
    assert "2098-12-31 was in the future" in warning["message"]
    assert client.get(f"{PATH}/{created['id']}").json()["warnings"] == [warning]


@pytest.mark.parametrize(
    ("end", "asked_at", "expected"),
    [
        ("2026-11-24", "2026-11-23T19:00Z", False),  # 00:30 of the 24th in India
        ("2026-11-24", "2026-11-23T18:00Z", True),
        ("2026-11-25", "2026-11-23T19:00Z", True),
        ("2026-11-24T18:30:00Z", "2026-11-23T19:00Z", False),
        ("2026-11-24T18:31:00Z", "2026-11-23T19:00Z", True),
    ],
)
def test_the_future_begins_after_today_in_india(end: str, asked_at: str, expected: bool) -> None:
    now = datetime.fromisoformat(asked_at)
    span = read_date_range("2024-01-01", end, now=now)
    assert ends_in_future(span.end, submitted_at=now) == expected


@pytest.mark.usefixtures("history")
def test_a_backtest_is_queued_run_and_read(api: Api, alice: User, body: dict[str, Any]) -> None:
    client = api(alice)
    created = client.post(PATH, body)
    assert created.status_code == 201
    queued = created.json()
    assert set(queued) == set(
        """
        id algorithmId algorithmVersion name kind status progress startDate estimatedSeconds endDate
        symbols timeframe initialCapital config performance results error createdAt startedAt
        completedAt kept expiresAt receipt warnings breakdowns
    """.split()
    )
    assert queued["warnings"] == []
    assert (queued["status"], queued["progress"], queued["performance"]) == ("queued", 0, None)
    assert queued["breakdowns"] is None
    assert (queued["algorithmVersion"], queued["kind"]) == (1, "backtest")
    assert (queued["symbols"], queued["timeframe"]) == (["NSE:NIFTY"], "15m")
    assert queued["initialCapital"] == 1_000_000
    assert run_queued() == 1
    done = client.get(f"{PATH}/{queued['id']}").json()
    assert (done["status"], done["progress"], done["error"]) == ("completed", 100, None)
    assert done["startedAt"] <= done["completedAt"]
    assert done["performance"]["totalTrades"] > 3
    traded = done["performance"]["totalTrades"] + done["performance"]["breakevenTrades"]
    assert len(done["breakdowns"]) == 8
    for groups in done["breakdowns"].values():
        assert sum(group["trades"] for group in groups) == traded
    assert "breakdowns" not in client.get(PATH).json()["data"][0]
    assert list(done["performance"]) == [
        *METRICS,
        "chargesByKind",
        "rejectedSignals",
        "reducedEntries",
        "waitingExits",
    ]
    assert list(done["performance"]["chargesByKind"]) == list(CHARGE_KINDS)
    assert done["receipt"]["notes"] == []
    assert done["receipt"]["synthetic"] == []
    hashes = {"configuration", "candles", "rulebook", "result"}
    assert all(len(done["receipt"][name]) == 64 for name in hashes)


@pytest.mark.usefixtures("history")
def test_a_backtest_runs_the_steps_of_its_submission(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    client = api(alice)
    backtest = client.post(PATH, body).json()
    later = {"basicInfo": {"strategyType": "swing", "timeframe": "1d", "symbols": ["NSE:TCS"]}}
    changes = AlgorithmBodySerializer.read(later)
    algorithms.update(owner=alice, algorithm_id=body["algorithmId"], changes=changes, now=make.NOW)
    run_queued()
    done = client.get(f"{PATH}/{backtest['id']}").json()
    assert (done["status"], done["timeframe"], done["algorithmVersion"]) == ("completed", "15m", 1)


@pytest.mark.usefixtures("history")
def test_the_same_request_gives_the_same_result(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    client = api(alice)
    ids = [client.post(PATH, body).json()["id"] for _ in range(2)]
    run_queued()
    first, second = (Backtest.objects.get(pk=pk) for pk in ids)
    assert first.performance == second.performance
    assert first.receipt is not None
    assert second.receipt is not None
    assert first.receipt["result"] == second.receipt["result"]
    differing = {name for name in first.receipt if first.receipt[name] != second.receipt[name]}
    assert differing <= {"seed"}  # every other hash is the same
    assert bytes(first.result.blocks.get().data) == bytes(second.result.blocks.get().data)
    assert bytes(first.result.curve) == bytes(second.result.curve)


@pytest.mark.usefixtures("history")
def test_overrides_change_only_this_backtest(api: Api, alice: User, body: dict[str, Any]) -> None:
    store_candles("NSE:TCS", "15m", wave_candles("2024-01-01", 45))
    client = api(alice)
    changed = {"symbols": ["NSE:TCS"], "timeframe": "30m", "initialCapital": 5000, "slippage": 0.1}
    backtest = client.post(PATH, {**body, **changed}).json()
    assert (backtest["symbols"], backtest["timeframe"]) == (["NSE:TCS"], "30m")
    assert backtest["initialCapital"] == 5000
    run_queued()
    assert client.get(f"{PATH}/{backtest['id']}").json()["status"] == "completed"
    stored = client.get(f"/api/trading/algorithms/{body['algorithmId']}").json()
    assert stored["basicInfo"]["symbols"] == ["NSE:NIFTY"]


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("startDate", "2024-02-30"),
        ("endDate", "2024-01-31"),
        ("startDate", "2999-01-01"),
        ("startDate", 20240201),
        ("startDate", None),
        ("kind", "guess"),
        ("initialCapital", 0),
        ("initialCapital", "1000"),
        ("initialCapital", 1e13),
        ("slippage", 6),
        ("timeframe", "2h"),
        ("charges", "some"),
        ("symbols", "NSE:TCS"),
        ("name", "x" * 101),
        ("algorithmId", 7),
    ],
)
def test_a_bad_value_is_refused_by_its_name(
    api: Api, alice: User, body: dict[str, Any], field: str, value: object
) -> None:
    error = assert_error(api(alice).post(PATH, {**body, field: value}), 400, "VALIDATION_ERROR")
    assert error["details"]["field"].partition(".")[0] in (field, "")
    assert not Backtest.objects.exists()
    assert not ProcrastinateJob.objects.exists()


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("field", "value"),
    [("startDate", " 2024-02-01"), ("endDate", "2024-02-29 "), ("timeframe", " 15m")],
)
def test_spaces_around_a_value_are_refused(
    api: Api, alice: User, body: dict[str, Any], field: str, value: str
) -> None:
    response = api(alice).post(PATH, {**body, field: value})
    assert_error(response, 400, "VALIDATION_ERROR", field=field, value=value)


def test_an_id_with_spaces_is_another_id(api: Api, alice: User, body: dict[str, Any]) -> None:
    spaced = f" {body['algorithmId']} "
    response = api(alice).post(PATH, {**body, "algorithmId": spaced})
    assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=spaced)


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(("sent", "kept"), [(25000.050000000003, 25000.05), (100.0051, 100.01)])
def test_the_capital_is_stored_to_the_paisa(
    api: Api, alice: User, body: dict[str, Any], sent: float, kept: float
) -> None:
    client = api(alice)
    backtest = client.post(PATH, {**body, "initialCapital": sent}).json()
    assert backtest["initialCapital"] == kept
    assert client.get(f"{PATH}/{backtest['id']}").json() == backtest


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("value", "field"),
    [
        (["nse:tcs"], "symbols[0]"),
        (["NSE:TCS", "NSE:TCS"], "symbols"),
        ([1], "symbols[0]"),
        ([], "symbols"),
    ],
)
def test_a_bad_symbol_is_named_by_its_place(
    api: Api, alice: User, body: dict[str, Any], value: object, field: str
) -> None:
    response = api(alice).post(PATH, {**body, "symbols": value})
    assert_error(response, 400, "VALIDATION_ERROR", field=field)


def hourly() -> dict[str, Any]:
    """Return steps that compare with an average of hours."""
    entry: dict[str, Any] = make.steps()["entryConditions"]
    entry["conditions"][0]["indicator2"] = {"type": "SMA", "period": 2, "timeframe": "1h"}
    return entry


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("fields", [{}, {"initialCapital": 5000, "symbols": ["NSE:TCS"]}])
def test_a_timeframe_that_indicators_are_not_longer_than_is_the_requests_fault(
    api: Api, alice: User, fields: dict[str, Any]
) -> None:
    algorithm = make.algorithm(alice, **make.steps(entryConditions=hourly())).pk
    body = {"algorithmId": algorithm, **RANGE, **fields, "timeframe": "1d"}
    response = api(alice).post(PATH, body)
    error = assert_error(response, 400, "VALIDATION_ERROR", field="timeframe", value="1d")
    assert "must be longer than basicInfo.timeframe, which is 1d" in error["message"]
    assert "errors" not in error["details"]


@pytest.mark.usefixtures("history")
def test_an_indicator_that_was_not_longer_before_is_the_algorithms_fault(
    api: Api, alice: User
) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    algorithm.entry_conditions = hourly()
    algorithm.basic_info |= {"timeframe": "4h"}
    algorithm.save()
    body = {"algorithmId": algorithm.pk, **RANGE, "timeframe": "1d"}
    missing = {"missingFields": ["entryConditions"]}
    assert_error(api(alice).post(PATH, body), 422, "ALGORITHM_INCOMPLETE", **missing)


def test_a_mistyped_key_is_refused(api: Api, alice: User, body: dict[str, Any]) -> None:
    error = assert_error(api(alice).post(PATH, {**body, "slipage": 1}), 400, "VALIDATION_ERROR")
    assert "slippage" in error["message"]


def test_an_incomplete_algorithm_is_refused_with_its_missing_fields(api: Api, alice: User) -> None:
    draft = make.algorithm(alice, basicInfo=make.steps()["basicInfo"])
    response = api(alice).post(PATH, {"algorithmId": draft.pk, **RANGE})
    missing = [
        "positionSizing",
        "entryConditions",
        "exitConditions",
        "riskParameters",
        "executionSettings",
    ]
    error = assert_error(response, 422, "ALGORITHM_INCOMPLETE", missingFields=missing)
    assert error["message"].endswith("missing: " + ", ".join(missing) + ".")


@pytest.mark.parametrize("algorithm_id", ["", "x", "0" * 24, "G" * 24])
def test_an_unknown_algorithm_is_not_found(api: Api, alice: User, algorithm_id: str) -> None:
    response = api(alice).post(PATH, {"algorithmId": algorithm_id, **RANGE})
    assert response.status_code in (400, 404)
    if algorithm_id:
        assert_error(response, 404, "ALGORITHM_NOT_FOUND", algorithmId=algorithm_id)


def test_another_users_algorithm_is_not_found(api: Api, bob: User, body: dict[str, Any]) -> None:
    assert_error(api(bob).post(PATH, body), 404, "ALGORITHM_NOT_FOUND")


def test_no_history_is_too_little(api: Api, alice: User, body: dict[str, Any]) -> None:
    error = assert_error(api(alice).post(PATH, body), 422, "INSUFFICIENT_DATA", symbol="NSE:NIFTY")
    assert error["details"]["held"] == []
    assert not Backtest.objects.exists()


def test_bars_that_the_indicators_need_are_not_enough(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    store_candles(
        "NSE:NIFTY", "15m", wave_candles("2024-02-01", 1)
    )  # 25 bars; the EMA of 21 needs 21 of them
    body["endDate"] = "2024-02-02"
    assert api(alice).post(PATH, body).status_code == 201
    slow = make.steps()["entryConditions"]
    slow["conditions"][0]["indicator2"]["period"] = 25
    other = make.algorithm(alice, **make.steps(entryConditions=slow)).pk
    response = api(alice).post(PATH, {**body, "algorithmId": other})
    error = assert_error(response, 422, "INSUFFICIENT_DATA", timeframe="15m")
    assert error["details"]["held"][0]["bars"] == 25


def daily(period: int) -> dict[str, Any]:
    """Return steps that compare with an average of days."""
    entry: dict[str, Any] = make.steps()["entryConditions"]
    entry["conditions"][0]["indicator2"] = {"type": "SMA", "period": period, "timeframe": "1d"}
    return entry


def test_longer_timeframes_need_candles_of_their_own(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-02-01", 9))
    short, long = (
        make.algorithm(alice, **make.steps(entryConditions=daily(period))).pk for period in (8, 9)
    )
    response = api(alice).post(PATH, {**body, "algorithmId": long})
    error = assert_error(
        response, 422, "INSUFFICIENT_DATA", timeframe="1d", warmUpBars=8, barsInRange=0, needed=2
    )
    assert error["message"] == (
        "NSE:NIFTY has 0 bars in this range that are usable after a warm-up of 8 bars of 1d;"
        " 2 are needed."
    )
    assert api(alice).post(PATH, {**body, "algorithmId": short}).status_code == 201


@pytest.mark.usefixtures("history")
def test_longer_candles_that_are_stored_are_read_before_any_that_could_be_made(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    """The stored days are far above the prices: no close is ever above their average."""
    client = api(alice)
    entry = daily(2)
    entry["positionType"], entry["conditions"][0]["operator"] = "long", "above"
    algorithm = make.algorithm(alice, **make.steps(entryConditions=entry)).pk
    trades = []
    for _ in ("made of minutes", "stored"):
        backtest = client.post(PATH, {**body, "algorithmId": algorithm}).json()
        run_queued()
        trades.append(client.get(f"{PATH}/{backtest['id']}").json()["performance"]["totalTrades"])
        days = wave_candles("2024-01-01", 45, step=22_500)
        far = [1e5] * len(days)
        midnights = days.time - 33_300
        store_candles(
            "NSE:NIFTY",
            "1d",
            Candles.build(midnights, open=far, high=far, low=far, close=far, volume=days.volume),
        )
    assert trades[0] > 3
    assert trades[1] == 0


@pytest.mark.usefixtures("history")
def test_a_backtest_whose_history_was_deleted_fails_with_that_reason(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    from apps.market.models import CandleChunk

    client = api(alice)
    backtest = client.post(PATH, body).json()
    CandleChunk.objects.all().delete()
    run_queued()
    done = client.get(f"{PATH}/{backtest['id']}").json()
    assert (done["status"], done["error"]["code"]) == ("failed", "INSUFFICIENT_DATA")
    assert done["performance"] is None


@pytest.mark.usefixtures("history")
def test_a_user_has_at_most_twenty_waiting(
    api: Api, alice: User, bob: User, body: dict[str, Any]
) -> None:
    client = api(alice)
    for _ in range(20):
        assert client.post(PATH, body).status_code == 201
    response = client.post(PATH, body)
    error = assert_error(response, 429, "TOO_MANY_REQUESTS", limit=20, retryAfter=5)
    assert (error["retryAfter"], response["Retry-After"]) == (5, "5")
    assert Backtest.objects.count() == ProcrastinateJob.objects.count() == 20
    body_of_bob = {**body, "algorithmId": make.algorithm(bob, **make.steps()).pk}
    assert api(bob).post(PATH, body_of_bob).status_code == 201
    queue.begin_next(now=make.NOW)
    assert client.post(PATH, body).status_code == 201


@pytest.mark.usefixtures("history")
def test_a_full_queue_is_unavailable(
    api: Api, alice: User, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_QUEUED", 1)
    assert api(alice).post(PATH, body).status_code == 201
    response = api(alice).post(PATH, body)
    assert_error(response, 503, "SERVICE_UNAVAILABLE", retryAfter=5)
    assert response["Retry-After"] == "5"


@pytest.mark.usefixtures("history")
def test_a_client_can_wait_for_its_response(api: Api, alice: User, body: dict[str, Any]) -> None:
    """A server that can hold answers does (tests/ops/test_asgi.py); another answers at once."""
    client = api(alice)
    response = client.post(PATH, body, headers={"Prefer": "wait=10"})
    assert (response.status_code, response.json()["status"]) == (201, "queued")
    assert "Preference-Applied" not in response
    poll = long_poll.get_long_poll(response)
    assert poll is not None
    assert (poll.payload, poll.seconds) == (response.json()["id"], 10)
    run_queued()
    assert poll.is_over()
    assert json.loads(poll.render())["status"] == "completed"
    read = client.get(f"{PATH}/{response.json()['id']}", headers={"Prefer": "wait=3"})
    assert (read.status_code, read["Preference-Applied"]) == (200, "wait=3")
    assert long_poll.get_long_poll(client.post(PATH, body)) is None


def test_a_stored_refusal_is_returned_without_waiting(
    api: Api, alice: User, body: dict[str, Any]
) -> None:
    headers = {"Prefer": "wait=10", "Idempotency-Key": "k"}
    response = api(alice).post(PATH, {**body, "algorithmId": "0" * 24}, headers=headers)
    assert_error(response, 404, "ALGORITHM_NOT_FOUND")


@pytest.mark.usefixtures("history")
def test_more_history_than_a_worker_may_hold_is_refused_with_advice(
    api: Api, alice: User, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "BYTES_OF_A_BAR", 12_000_000)
    error = assert_error(api(alice).post(PATH, body), 422, "UNPROCESSABLE_ENTITY")
    details = error["details"]
    assert set(details) == {"bars", "megabytesNeeded", "megabytesAllowed", "fits"}
    assert details["megabytesAllowed"] == 1_200
    assert details["megabytesNeeded"] == 12 * details["bars"] + 1 > 1_200
    assert details["fits"] == 99
    assert "Shorten the range" in error["message"]
    assert not Backtest.objects.exists()


@pytest.mark.usefixtures("history")
def test_history_that_grows_before_a_worker_begins_fails_with_advice(
    api: Api, alice: User, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api(alice)
    backtest = client.post(PATH, body).json()
    monkeypatch.setattr(estimates, "BYTES_OF_A_BAR", 12_000_000)
    run_queued()
    error = client.get(f"{PATH}/{backtest['id']}").json()["error"]
    assert error["code"] == "UNPROCESSABLE_ENTITY"
    assert "more than 110 bars" in error["message"]


@pytest.mark.parametrize(
    ("symbol", "uncharged"),
    [("NSE:USDINR24MARFUT", "INSUFFICIENT_DATA"), ("MCX:CRUDEOIL24MAR6500CE", "INVALID_SYMBOL")],
)
def test_a_contract_that_the_rulebook_lacks_is_refused_with_the_reason(
    api: Api, alice: User, body: dict[str, Any], symbol: str, uncharged: str
) -> None:
    client, body = api(alice), {**body, "symbols": [symbol]}
    error = assert_error(client.post(PATH, body), 400, "INVALID_SYMBOL", symbol=symbol)
    assert error["details"]["reason"] in error["message"]
    uncharged_error = client.post(PATH, {**body, "charges": "none"}).json()["error"]
    assert uncharged_error["code"] == uncharged
