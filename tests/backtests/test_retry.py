"""The actions of operators on the backtest of any user."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import (
    BACKTEST_TRANSITIONS,
    Backtest,
    BacktestNotFound,
    BacktestStatus,
    BacktestTransition,
)
from apps.core import audit
from apps.core.errors import Code
from apps.core.models import AuditRecord
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import count_slots, run_queued

pytestmark = pytest.mark.usefixtures("history")

OLGA = audit.Actor(audit.ActorKind.OPERATOR, "0" * 24)


def retry(backtest: Backtest) -> Backtest:
    return services.retry(backtest_id=backtest.pk, operator=OLGA, reason="fixed", now=make.NOW)


@pytest.fixture
def failed(history: None, alice: User) -> Backtest:
    backtest = submit(alice)
    error = {"code": Code.INTERNAL_SERVER_ERROR.value, "message": "It broke."}
    Backtest.objects.update(
        status=BacktestStatus.FAILED,
        error=error,
        losses=5,
        attempt=5,
        progress=40,
        completed_at=make.NOW,
    )
    backtest.refresh_from_db()
    return backtest


def test_a_retry_queues_a_failed_backtest_and_forgets_its_lost_workers(failed: Backtest) -> None:
    retried = retry(failed)
    assert (retried.status, retried.progress, retried.losses) == (BacktestStatus.QUEUED, 0, 0)
    assert (retried.error, retried.started_at, retried.completed_at) == (None, None, None)


def test_attempts_continue_counting_so_that_no_old_worker_writes(failed: Backtest) -> None:
    assert retry(failed).attempt == 5
    run_queued()
    failed.refresh_from_db()
    assert (failed.status, failed.attempt) == (BacktestStatus.COMPLETED, 6)


def test_a_retry_adds_a_slot(failed: Backtest) -> None:
    before = count_slots()
    retry(failed)
    assert count_slots() == before + 1


@pytest.mark.parametrize(
    "status",
    sorted(set(BacktestStatus) - set(BACKTEST_TRANSITIONS[BacktestTransition.RETRY].sources)),
)
def test_only_a_failed_backtest_can_be_retried(alice: User, status: BacktestStatus) -> None:
    backtest = submit(alice)
    performance: dict[str, Any] | None = {} if status is BacktestStatus.COMPLETED else None
    Backtest.objects.update(status=status, performance=performance, heartbeat_at=make.NOW)
    before = count_slots()
    with pytest.raises(services.BacktestNotFailed, match=f"The backtest is {status}"):
        retry(backtest)
    assert Backtest.objects.get().status == status
    assert count_slots() == before


def test_of_two_retries_one_counts(failed: Backtest) -> None:
    retry(failed)
    with pytest.raises(services.BacktestNotFailed):
        retry(failed)


def test_a_retry_is_audited_with_its_reason_and_the_error(failed: Backtest) -> None:
    retry(failed)
    record = AuditRecord.objects.get(action=audit.Action.BACKTEST_RETRIED)
    assert (record.actor_kind, record.actor) == ("operator", OLGA.user_id)
    assert record.object_id == failed.pk
    assert record.details["reason"] == "fixed"
    assert record.details["before"]["error"]["message"] == "It broke."


def test_an_operator_cancels_the_backtest_of_any_user(alice: User) -> None:
    backtest = submit(alice)
    order = {"backtest_id": backtest.pk, "operator": OLGA, "reason": "too large"}
    assert services.cancel_for_operator(**order, now=make.NOW).status == BacktestStatus.CANCELLED
    record = AuditRecord.objects.get(action=audit.Action.BACKTEST_CANCELLED)
    assert (record.actor_kind, record.details) == ("operator", {"reason": "too large"})
    with pytest.raises(services.BacktestAlreadyEnded):
        services.cancel_for_operator(**order, now=make.NOW)


def test_an_unknown_backtest_is_not_found() -> None:
    with pytest.raises(BacktestNotFound):
        services.retry(backtest_id="0" * 24, operator=OLGA, reason="", now=make.NOW)
