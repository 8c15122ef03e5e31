"""GET /api/backtests/<id>/evidence"""

import json
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.models import User
from apps.backtests import tasks
from apps.backtests.analysis.evidence import making, services
from apps.backtests.models import (
    EVIDENCE_TRANSITIONS,
    Backtest,
    BacktestKind,
    BacktestStatus,
    Evidence,
    EvidenceStatus,
    EvidenceTransition,
)
from apps.backtests.running import queue, results
from apps.core.limits import quotas
from apps.core.limits.quotas import Resource
from apps.core.requests.long_poll import get_long_poll
from apps.core.times import day_number
from apps.engine.evidence import SECTION_TITLES
from apps.engine.results.equity import day_ends
from apps.market.candles import SAMPLE_NOTICE
from apps.market.models import CandleChunk
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

OPTIMIZATION: dict[str, Any] = {
    "parameters": [
        {"path": "exitConditions.stopLoss.percentage", "from": 0.5, "to": 1.5, "step": 0.5}
    ],
    "objective": "netProfit",
}


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def backtest(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice, make.algorithm(alice, **make.steps()).pk)
    run_queued()
    return Backtest.objects.get(pk=backtest.pk)


def path_of(backtest: Backtest) -> str:
    return f"/api/backtests/{backtest.pk}/evidence"


def made(api: Api, user: User, backtest: Backtest, query: str = "") -> Any:
    """Request the evidence, do its job, and request it again."""
    api(user).get(path_of(backtest))
    tasks.run_evidence_job(backtest.pk)
    return api(user).get(path_of(backtest) + query).json()


def test_the_first_call_computes_the_evidence_once(
    api: Api, alice: User, backtest: Backtest
) -> None:
    for _ in range(2):
        body = api(alice).get(path_of(backtest)).json()
        assert (body["status"], body["verdict"], body["sections"]) == ("queued", None, {})
    lock = f"{queue.EVIDENCE_JOB} {backtest.pk}"
    assert ProcrastinateJob.objects.filter(queueing_lock=lock).count() == 1


def test_the_document_has_a_verdict_and_sections(api: Api, alice: User, backtest: Backtest) -> None:
    body = made(api, alice, backtest)
    assert (body["status"], body["error"]) == ("ready", None)
    sections = body["sections"]
    assert {"costs", "chargesAsOf", "significance", "multipleTesting"} <= set(sections)
    assert {"lookAhead", "regimes", "sensitivity"} <= set(sections)
    net = (backtest.performance or {})["netProfit"]
    assert sections["costs"]["figures"]["netProfit"] == net
    assert {check["name"] for check in body["checks"]} <= set(sections)
    failed = [check for check in body["checks"] if check["status"] == "fail"]
    assert all(
        SECTION_TITLES[check["name"]].lower() in body["verdict"]["sentence"] for check in failed
    )
    assert not (failed and body["verdict"]["passes"])
    assert len(json.dumps(body)) < 100_000
    assert all(section["sentence"] and section["notLookedAt"] for section in sections.values())


def test_the_certificate_joins_the_receipt(api: Api, alice: User, backtest: Backtest) -> None:
    body = made(api, alice, backtest)
    certificate = body["sections"]["lookAhead"]["figures"]["certificate"]
    receipt = api(alice).get(f"/api/backtests/{backtest.pk}/receipt").json()["receipt"]
    assert receipt["lookAhead"] == certificate
    assert {**receipt, "lookAhead": None} == {**(backtest.receipt or {}), "lookAhead": None}


def test_a_job_that_is_done_twice_changes_nothing(
    api: Api, alice: User, backtest: Backtest
) -> None:
    before = made(api, alice, backtest)
    assert made(api, alice, backtest) == before


def test_charges_use_the_rates_of_the_requested_date(
    api: Api, alice: User, backtest: Backtest
) -> None:
    section = made(api, alice, backtest, "?asOf=2010-01-04")["sections"]["chargesAsOf"]
    assert section["figures"]["date"] == "2010-01-04"
    today = made(api, alice, backtest)["sections"]["chargesAsOf"]["figures"]
    assert today["fills"] == section["figures"]["fills"] > 0
    assert today["date"] > "2024"


def test_an_invalid_date_is_an_error(api: Api, alice: User, backtest: Backtest) -> None:
    response = api(alice).get(path_of(backtest) + "?asOf=yesterday")
    assert_error(response, 400, "VALIDATION_ERROR")


def test_of_an_optimization_the_best_set_is_looked_at(api: Api, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    study = submit(
        alice,
        make.algorithm(alice, **make.steps()).pk,
        kind=BacktestKind.OPTIMIZATION,
        configs={"optimizationConfig": OPTIMIZATION},
    )
    run_queued()
    study.refresh_from_db()
    body = made(api, alice, study)
    assert body["status"] == "ready", body["error"]
    net = (study.performance or {})["netProfit"]
    assert body["sections"]["costs"]["figures"]["netProfit"] == net


def test_of_a_walk_forward_the_joined_tests_are_looked_at(api: Api, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    config = {**OPTIMIZATION, "windows": 3}
    study = submit(
        alice,
        make.algorithm(alice, **make.steps()).pk,
        kind=BacktestKind.WALK_FORWARD,
        configs={"walkForwardConfig": config},
    )
    run_queued()
    study.refresh_from_db()
    body = made(api, alice, study)
    assert body["status"] == "ready", body["error"]
    statuses = {check["name"]: check["status"] for check in body["checks"]}
    performance = study.performance or {}
    for name in ("costs", "fills", "sensitivity"):
        assert "simulated on its own" in body["sections"][name]["sentence"]
        assert statuses[name] in ("pass", "doubt")
    assert body["sections"]["costs"]["figures"]["netProfit"] == performance["netProfit"]
    charges = body["sections"]["chargesAsOf"]["figures"]
    assert charges["netProfit"] == performance["netProfit"]
    assert charges["fills"] == 2 * performance["totalTrades"]
    significance = body["sections"]["significance"]["figures"]
    _, curve = results.load_result(study)
    assert significance["days"] == len(day_ends(curve["time"]))
    assert body["sections"]["timing"]["figures"]["permutations"]["grossProfit"] > 0
    assert statuses["lookAhead"] == "pass"
    assert body["sections"]["multipleTesting"]["figures"]["trials"] >= 3


def test_regimes_separate_trades_on_expiries(api: Api, alice: User, backtest: Backtest) -> None:
    """NIFTY's monthly contracts expired on 29 February 2024."""
    expiries = making.evidence_input(backtest).expiries["NSE:NIFTY"]
    assert day_number(date(2024, 2, 29)) in expiries
    regimes = made(api, alice, backtest)["sections"]["regimes"]["figures"]["expiry"]
    assert {group["regime"] for group in regimes} <= {"expiry", "none"}


def test_a_backtest_without_a_result_has_no_evidence(api: Api, alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    queued = submit(alice, make.algorithm(alice, **make.steps()).pk)
    error = assert_error(api(alice).get(path_of(queued)), 422, "UNPROCESSABLE_ENTITY")
    assert error["details"]["currentStatus"] == BacktestStatus.QUEUED
    assert not Evidence.objects.filter(pk=queued.pk).exists()


def test_a_history_that_has_changed_is_an_error_that_says_so(
    api: Api, alice: User, backtest: Backtest
) -> None:
    steps = make.steps()
    steps["exitConditions"]["stopLoss"] = {"type": "percentage", "percentage": 0.1}
    Backtest.objects.filter(pk=backtest.pk).update(
        configuration={**backtest.configuration, "exitConditions": steps["exitConditions"]}
    )
    body = made(api, alice, backtest)
    assert body["status"] == "failed"
    assert "have changed since this backtest ran" in body["error"]["message"]
    row = Evidence.objects.get(pk=backtest.pk)
    assert (
        services.fetch_evidence(
            owner=alice,
            backtest_id=backtest.pk,
            now=row.requested_at + services.RETRY_FAILED_AFTER + timedelta(seconds=1),
        ).status
        == EvidenceStatus.QUEUED
    )


def test_a_client_can_wait_for_the_evidence(api: Api, alice: User, backtest: Backtest) -> None:
    response = api(alice).get(path_of(backtest), headers={"Prefer": "wait=5"})
    poll = get_long_poll(response)
    assert poll is not None
    assert poll.headers == {"Preference-Applied": "wait=5"}
    assert not poll.is_over()
    tasks.run_evidence_job(backtest.pk)
    assert poll.is_over()
    assert json.loads(poll.render())["status"] == "ready"


def test_results_on_generated_candles_are_not_judged(
    api: Api, alice: User, backtest: Backtest
) -> None:
    CandleChunk.objects.filter(symbol="NSE:NIFTY").update(synthetic=True)
    body = made(api, alice, backtest)
    assert body["verdict"] == {"passes": False, "sentence": SAMPLE_NOTICE}
    assert {check["status"] for check in body["checks"]} == {"not_judged"}
    assert {check["name"] for check in body["checks"]} == set(body["sections"]) - {"chargesAsOf"}


def test_evidence_counts_in_the_quota_of_bytes(api: Api, alice: User, backtest: Backtest) -> None:
    def stored_bytes() -> int:
        (usage,) = (
            usage for usage in quotas.usages(alice.pk) if usage.resource == Resource.BACKTEST_BYTES
        )
        return usage.used

    before = stored_bytes()
    made(api, alice, backtest)
    row = Evidence.objects.get(pk=backtest.pk)
    assert stored_bytes() > before + len(row.fills or b"")


@pytest.mark.django_db
@pytest.mark.parametrize("status", EvidenceStatus)
@pytest.mark.parametrize("name", EvidenceTransition)
def test_a_status_changes_only_by_the_table_of_transitions(
    backtest: Backtest, status: EvidenceStatus, name: EvidenceTransition
) -> None:
    ready = {"document": {}, "fills": b""}
    Evidence.objects.create(
        backtest=backtest,
        status=status,
        requested_at=backtest.created_at,
        **(ready if status == EvidenceStatus.READY else {}),
    )
    sources, target = EVIDENCE_TRANSITIONS[name]
    changes = ready if target == EvidenceStatus.READY else {}
    changed = Evidence.objects.filter(pk=backtest.pk).transition(name, **changes)
    assert changed == (status in sources)
    assert Evidence.objects.get(pk=backtest.pk).status == (target if changed else status)


@pytest.mark.django_db
def test_finer_candles_that_are_stored_decide(backtest: Backtest) -> None:
    finer = making.evidence_input(backtest).finer
    assert finer("NSE:NIFTY", backtest.start, backtest.end) is None
    store_candles("NSE:NIFTY", "5m", wave_candles("2024-01-01", 45, step=300))
    candles = making.evidence_input(backtest).finer("NSE:NIFTY", backtest.start, backtest.end)
    assert candles is not None
    assert np.diff(candles.time).min() == 300
