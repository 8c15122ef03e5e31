"""Backtests beyond the limit of age are deleted a week after a warning."""

from datetime import timedelta

import pytest
from django.core import mail
from procrastinate.contrib.django.models import ProcrastinateJob
from pytest_django import Settings

from apps.accounts.mails import ACCOUNT_MAIL_JOB
from apps.accounts.models import User
from apps.accounts.tasks import send_account_mail
from apps.backtests import retention, services
from apps.backtests.models import (
    Backtest,
    BacktestResult,
    BacktestStatus,
    Evidence,
    EvidenceStatus,
    StudyShard,
    TrialRecord,
)
from apps.core.database.ids import new_id
from apps.core.models import AuditRecord
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.market.bars import store_candles

DAY = timedelta(days=1)
WEEK = timedelta(days=7)


@pytest.fixture
def alice(alice: User) -> User:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    User.objects.filter(pk=alice.pk).update(email_verified=True)
    return alice


def ended(owner: User, *days_ago: int) -> list[Backtest]:
    """Return completed backtests that ended these numbers of days ago."""
    first = submit(owner)
    backtests = []
    for days in days_ago:
        backtest = Backtest.objects.get(pk=first.pk)
        backtest.pk, backtest.status = new_id(), BacktestStatus.CANCELLED
        backtest.completed_at = make.NOW - days * DAY
        backtest.save(force_insert=True)
        BacktestResult.objects.create(backtest=backtest, trades=0, curve=b"")
        backtests.append(backtest)
    first.delete()
    return backtests


def left() -> list[str]:
    return list(Backtest.objects.order_by("-completed_at").values_list("pk", flat=True))


def marked() -> set[str]:
    return set(Backtest.objects.exclude(expires_at=None).values_list("pk", flat=True))


def ids(*backtests: Backtest) -> set[str]:
    return {backtest.pk for backtest in backtests}


def test_without_a_limit_all_are_kept(alice: User) -> None:
    ended(alice, 0, 10_000)
    assert retention.purge(now=make.NOW) == 0
    assert (len(left()), marked()) == (2, set())


def test_old_backtests_are_deleted_at_their_age_and_a_week_after_the_warning(
    alice: User, settings: Settings
) -> None:
    settings.BACKTEST_KEEP_DAYS = 30
    young, due, old = ended(alice, 22, 24, 400)
    assert retention.purge(now=make.NOW) == 0
    assert marked() == ids(due, old)
    assert retention.purge(now=make.NOW + WEEK - DAY) == 0
    assert retention.purge(now=make.NOW + WEEK) == 4  # each with its result
    assert left() == [young.pk]


def test_kept_backtests_are_not_deleted(alice: User, settings: Settings) -> None:
    settings.BACKTEST_KEEP_DAYS = 30
    kept, deleted = ended(alice, 40, 41)
    services.update_backtest(owner=alice, backtest_id=kept.pk, is_kept=True, now=make.NOW)
    for days in (0, 7):
        retention.purge(now=make.NOW + days * DAY)
    assert left() == [kept.pk]
    assert deleted.pk not in left()


def test_a_longer_age_ends_the_expiry_of_younger_backtests(alice: User, settings: Settings) -> None:
    settings.BACKTEST_KEEP_DAYS = 30
    younger, older = ended(alice, 40, 400)
    retention.purge(now=make.NOW)
    assert marked() == ids(younger, older)
    settings.BACKTEST_KEEP_DAYS = 365
    retention.purge(now=make.NOW + WEEK)
    assert (left(), marked()) == ([younger.pk], set())


def test_a_limit_that_is_removed_deletes_nothing(alice: User, settings: Settings) -> None:
    settings.BACKTEST_KEEP_DAYS = 30
    ended(alice, 40, 50)
    retention.purge(now=make.NOW)
    settings.BACKTEST_KEEP_DAYS = 0
    retention.purge(now=make.NOW + WEEK)
    assert (len(left()), marked()) == (2, set())


def test_retention_ignores_waiting_and_running_backtests(alice: User, settings: Settings) -> None:
    settings.BACKTEST_KEEP_DAYS = 1
    submit(alice, now=make.NOW - 100 * DAY)
    retention.purge(now=make.NOW)
    assert (len(left()), marked()) == (1, set())


def test_the_owner_is_warned_once_by_mail_and_in_answers(
    api: Api, alice: User, settings: Settings
) -> None:
    settings.BACKTEST_KEEP_DAYS = 30
    newest, *older = ended(alice, 1, 40, 50)
    for days in range(3):
        retention.purge(now=make.NOW + days * DAY)
    job = ProcrastinateJob.objects.get(task_name=ACCOUNT_MAIL_JOB)
    send_account_mail(**job.args)
    assert "your 2 oldest" in mail.outbox[0].body
    assert "9 November 2026, 09:30 IST" in mail.outbox[0].body
    assert "If this was not you" not in mail.outbox[0].body
    body = api(alice).get(f"/api/backtests/{older[0].pk}").json()
    assert (body["kept"], body["expiresAt"]) == (False, "2026-11-09T04:00:00.000Z")
    assert [warning["field"] for warning in body["warnings"]] == ["expiresAt"]
    assert api(alice).get(f"/api/backtests/{newest.pk}").json()["expiresAt"] is None


def test_keeping_a_backtest_ends_its_expiry_at_once(
    api: Api, alice: User, settings: Settings
) -> None:
    settings.BACKTEST_KEEP_DAYS = 30
    [oldest] = ended(alice, 40)
    retention.purge(now=make.NOW)
    path = f"/api/backtests/{oldest.pk}"
    body = api(alice).patch(path, {"kept": True}).json()
    assert (body["kept"], body["expiresAt"], body["warnings"]) == (True, None, [])
    assert api(alice).patch(path, {"kept": False}).json()["kept"] is False
    assert AuditRecord.objects.latest("id").details == {"kept": [True, False]}


def test_deletions_are_on_record_and_their_trials_stay_counted(
    alice: User, settings: Settings
) -> None:
    settings.BACKTEST_KEEP_DAYS = 1
    backtest = submit(alice)
    run_queued()
    Evidence.objects.create(backtest=backtest, status=EvidenceStatus.QUEUED, requested_at=make.NOW)
    Backtest.objects.update(completed_at=make.NOW - 2 * DAY)
    for days in (0, 7):
        retention.purge(now=make.NOW + days * DAY)
    assert not Backtest.objects.exists()
    assert not Evidence.objects.exists()
    assert not StudyShard.objects.exists()
    assert TrialRecord.objects.count() == 1
    record = AuditRecord.objects.get(action="backtest_deleted")
    assert (record.actor_kind, record.object_id) == ("system", backtest.pk)
    assert record.details["reason"] == "retention"
