"""A restored copy does not trade or send until an operator ends the quiet start."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts import tasks as accounts
from apps.accounts.models import User
from apps.core.audit import Action
from apps.core.models import AuditRecord, QuietStart
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, Run, Trade
from apps.webhooks import tasks as webhooks
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import DeliveryQueue
from apps.webhooks.models import Delivery, EmailNotices
from apps.webhooks.sending import delivery
from tests.admin.conftest import act, an_operator, browser_of
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.trading.algorithm_states import stopped_algorithm
from tests.trading.live.market_day import (
    backtested,
    crossing_steps,
    random_candles,
    replay,
    session_starts,
    started,
    store_bars,
)
from tests.trading.live.test_runner import expected_of, trades_of
from tests.webhooks.events import attempt, emit, endpoint_of

pytestmark = pytest.mark.django_db

SYMBOL, LENGTH = "NSE:RELIANCE", 900


def begin() -> QuietStart:
    now = timezone.now()
    return QuietStart.objects.create(began_at=now, snapshot_at=now - timedelta(hours=1))


def end(reason: str = "the old machine is gone") -> str:
    said = StringIO()
    call_command("end_quiet_start", "--reason", reason, stdout=said)
    return said.getvalue()


def test_an_open_run_waits_for_the_end_of_the_quiet_start_and_continues_unchanged(
    alice: User,
) -> None:
    starts = session_starts(2, LENGTH)
    series = {SYMBOL: random_candles(3, starts, wild=0.01)}
    store_bars(series, "15m")
    run = started(alice, crossing_steps([SYMBOL], "15m"))
    begin()
    runner = Runner()
    replay(series, "15m", LENGTH, runner)
    assert not BarRow.objects.exists()
    assert not Trade.objects.exists()
    end()
    replay(series, "15m", LENGTH, runner, since=starts[-1])
    result = backtested(run, start=starts[0], end=starts[-1] + 1)
    assert len(expected_of(result)) > 2
    assert trades_of(Run.objects.get(pk=run.pk)) == expected_of(result)


def test_algorithms_neither_start_nor_resume(api: Api, alice: User) -> None:
    path = f"/api/trading/algorithms/{stopped_algorithm(alice).pk}/start"
    begin()
    assert_error(api(alice).post(path), 503, "SERVICE_UNAVAILABLE", reason="quiet_start")
    assert "continue" in end()
    assert api(alice).post(path).status_code == 200


def test_due_deliveries_wait(alice: User) -> None:
    endpoint_of(alice)
    emit(alice)
    ProcrastinateJob.objects.all().delete()
    begin()
    assert attempt(204) == 0
    delivery.reap(now=timezone.now())
    assert not ProcrastinateJob.objects.exists()  # no job that would find nothing to send
    end()
    delivery.reap(now=timezone.now())
    assert ProcrastinateJob.objects.filter(queue_name="webhooks").count() == 1
    assert attempt(204) == 1
    assert Delivery.objects.get().status == "delivered"
    assert not [c for q in DeliveryQueue for c in delivery.claim(q, most=9, now=timezone.now())]


def test_mails_wait(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email_verified=True)
    EmailNotices.objects.create(owner=alice, events=[EventType.ALGORITHM_STARTED])
    event = emit(alice)
    facts = {"name": "Alice", "at": "today", "address": "unknown"}
    ProcrastinateJob.objects.all().delete()
    begin()
    webhooks.mail(event.pk)
    accounts.send_account_mail("password_changed", alice.email, facts, None)
    assert mail.outbox == []
    jobs = ProcrastinateJob.objects.order_by("id")
    assert [job.task_name for job in jobs] == ["webhooks.mail", "accounts.mail"]
    assert all(job.scheduled_at and job.scheduled_at > timezone.now() for job in jobs)
    end()
    notice, password = jobs
    webhooks.mail(**notice.args)
    accounts.send_account_mail(**password.args)
    assert [sent.to for sent in mail.outbox] == [[alice.email], [alice.email]]


def test_its_end_is_on_record_and_comes_once(alice: User) -> None:
    begin()
    end("moved to another machine")
    record = AuditRecord.objects.get(action=Action.QUIET_START_ENDED)
    assert (record.actor_kind, record.details) == (
        "command",
        {"reason": "moved to another machine"},
    )
    with pytest.raises(CommandError, match="no quiet start"):
        end()


def test_an_operator_ends_the_quiet_start_with_a_reason() -> None:
    row, browser = begin(), browser_of(an_operator())
    act(browser, "end", row, "")
    assert QuietStart.objects.get().ended_at is None
    assert "Done. End the quiet start" in act(browser, "end", row, "gone")
    assert QuietStart.objects.get().ended_at is not None
    assert (
        AuditRecord.objects.filter(action=Action.QUIET_START_ENDED).get().actor_kind == "operator"
    )
